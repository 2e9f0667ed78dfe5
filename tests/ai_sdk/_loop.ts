/** A loop as the AI SDK runs one, without a model: what it would send is noted, and answered from a plan. */
import assert from "node:assert/strict";
import type { CompactSteps, LoopMessage, LoopStep } from "../../src/ai_sdk/mod.ts";
import { checkMessages, isLedger, readTranscript } from "../../src/transcripts.ts";
import { prose } from "../support/turns.ts";

/** A call, as a part. */
export function callPart(id: string, input: unknown = { path: `src/${id}.ts` }) {
  return { type: "tool-call", toolCallId: id, toolName: "read", input };
}

/** A result, as a part. */
export function resultPart(id: string, value: string) {
  return { type: "tool-result", toolCallId: id, toolName: "read", output: { type: "text", value } };
}

/** What a step adds: calls side by side and their results of `length` characters. */
export function round(n: number, { count = 1, length = 1_500 } = {}): LoopMessage[] {
  const ids = Array.from({ length: count }, (_, index) => `c${n}_${index}`);
  return [
    { role: "assistant", content: ids.map((id) => callPart(id)) },
    { role: "tool", content: ids.map((id, index) => resultPart(id, prose(length, (n * 5 + index) % 400))) },
  ];
}

/** A message of the user. */
export function said(content: unknown): LoopMessage {
  return { role: "user", content };
}

/** What the user begins with. */
export const TASK = said("The task: read all of it.");

/** 6,400 tokens for messages; compaction is due over 4,160. */
export const SMALL = { window: 8_000, fixed: 0, tokenFactor: 1 } as const;

/** What is wrong with messages: pairs, and who speaks first. */
export function faults(messages: readonly LoopMessage[]): readonly string[] {
  const reading = readTranscript(messages, { format: "ai-sdk", isSummary: isLedger });
  return checkMessages(reading).map(({ code, at }) => `${code} at ${at}`);
}

/** How a loop goes on from a step. */
export type Kind = "keeps what was returned" | "sends the whole history";

/** Both ways, for tables. */
export const KINDS: readonly { readonly kind: Kind }[] = [
  { kind: "keeps what was returned" },
  { kind: "sends the whole history" },
];

/** A loop that goes on step by step. */
export class FakeLoop {
  /** What was sent in each step. */
  readonly sent: (readonly LoopMessage[])[] = [];
  readonly #kind: Kind;
  readonly #prepareStep: CompactSteps;
  readonly #model: unknown;
  #messages: LoopMessage[];
  #steps: LoopStep[] = [];

  constructor(
    prepareStep: CompactSteps,
    { messages, kind, model }: {
      readonly messages: readonly LoopMessage[];
      readonly kind: Kind;
      readonly model?: unknown;
    },
  ) {
    this.#prepareStep = prepareStep;
    this.#messages = [...messages];
    this.#kind = kind;
    this.#model = model;
  }

  /** What the next step starts with. */
  get messages(): readonly LoopMessage[] {
    return this.#messages;
  }

  /** Takes a step that answers with these messages. */
  async step(answer: readonly LoopMessage[], usage?: LoopStep["usage"]): Promise<readonly LoopMessage[]> {
    const before = JSON.stringify(this.#messages);
    const step = await this.#prepareStep({
      messages: this.#messages,
      steps: this.#steps,
      stepNumber: this.#steps.length,
      model: this.#model,
    });
    assert.equal(JSON.stringify(this.#messages), before, "the caller's messages are never changed");
    const sent = step?.messages ?? this.#messages;
    assert.deepEqual(faults(sent), []);
    this.sent.push(structuredClone(sent));
    this.#messages = [...(this.#kind === "keeps what was returned" ? sent : this.#messages), ...answer];
    this.#steps = [...this.#steps, usage === undefined ? {} : { usage }];
    return sent;
  }

  /** The user goes on: another run of the loop, which knows no step of the one before. */
  say(content: unknown): void {
    this.#messages = [...this.#messages, said(content)];
    this.#steps = [];
  }

  /** Takes steps of one call each. */
  async rounds(
    count: number,
    options: { readonly count?: number; readonly length?: number } = {},
  ): Promise<void> {
    for (let n = 0; n < count; n++) await this.step(round(this.sent.length, options));
  }
}

/** The text of the summary, where there is one. */
export function summaryOf(messages: readonly LoopMessage[]): string | undefined {
  const found = messages.find(({ role, content }) => role === "user" && isLedger(String(content)));
  return found === undefined ? undefined : String(found.content);
}
