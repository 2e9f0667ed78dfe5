/** Asking a model, and what tests of all adapters look for in its answer. */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import type { Model, ModelEvent, ModelRequest } from "../../src/ports.ts";

/** The shortest request. */
export const request: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  maxOutput: 4_000,
};

/** What came, and how it ended. */
export interface Outcome {
  readonly events: readonly ModelEvent[];
  readonly error: unknown;
}

/** The event that ends an answer. */
export type Finish = Extract<ModelEvent, { type: "finish" }>;

/** Whether an event tells where a part ends, which only some providers say. */
export function isEnd({ type }: ModelEvent): boolean {
  return type === "part.end" || type === "tool.input.end";
}

/** The events of an answer, without those that tell where a part ends. */
export async function collect(model: Model, asked: ModelRequest = request): Promise<ModelEvent[]> {
  const events = await Array.fromAsync(model.stream(asked, new AbortController().signal));
  return events.filter((event) => !isEnd(event));
}

/** Asks a model, whatever comes of it. */
export async function outcomeOf(
  model: Model,
  { asked = request, controller = new AbortController() }: {
    readonly asked?: ModelRequest;
    readonly controller?: AbortController;
  } = {},
): Promise<Outcome> {
  const events: ModelEvent[] = [];
  try {
    for await (const event of model.stream(asked, controller.signal)) if (!isEnd(event)) events.push(event);
    return { events, error: undefined };
  } catch (error) {
    return { events, error };
  }
}

/** The error of an answer that has failed, and that nobody was told was whole. */
export function failureOf({ error, events }: Outcome): SelvageError {
  assert.ok(error instanceof SelvageError, `found ${error}, wanted a SelvageError`);
  assert.ok(events.every(({ type }) => type !== "finish"));
  return error;
}

/** The code of an error, undefined where it is none of ours. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof SelvageError ? error.code : undefined;
}

/** The one event that ends an answer, which comes last. */
export function finishOf(events: readonly ModelEvent[]): Finish {
  const last = events.at(-1);
  assert.ok(last?.type === "finish", `found ${JSON.stringify(last)} at the end, wanted finish`);
  assert.equal(events.filter(({ type }) => type === "finish").length, 1);
  return last;
}

/** The text, or the reasoning, that has come. */
export function textOf(
  events: readonly ModelEvent[],
  type: "text.delta" | "reasoning.delta" = "text.delta",
): string {
  return events.map((event) => event.type === type ? event.text : "").join("");
}

/** An answer has this text and content wherever the network cuts its bytes, and where each of them comes alone. */
export async function assertHoweverSplit(
  wire: string,
  streamed: (reads: readonly Uint8Array<ArrayBuffer>[]) => Promise<readonly ModelEvent[]>,
  { content, text }: { readonly content: unknown; readonly text: string },
): Promise<void> {
  const bytes = new TextEncoder().encode(wire);
  const splits = [
    ...Array.from({ length: bytes.length + 1 }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]),
    Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
  ];
  for (const [at, reads] of splits.entries()) {
    const events = await streamed(reads.filter((read) => read.length > 0));
    assert.deepEqual(finishOf(events).message.content, content, `split ${at}`);
    assert.equal(textOf(events, "text.delta"), text, `split ${at}`);
  }
}
