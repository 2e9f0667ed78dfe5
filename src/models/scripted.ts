/**
 * A model without a network: a function from the request to the reply. It is the default model and the tests'
 * model; everything around it (streaming, usage, the window, cancelling) behaves as with a real one.
 *
 * @module
 */
import type { AssistantMessage, ReasoningPart, TextPart, ToolCallPart } from "../core/message.ts";
import { SelvageError } from "../core/errors.ts";
import { aFunction, optionsOf, text } from "../core/options.ts";
import { Breath, DELTAS } from "../loop/breath.ts";
import type { Model, ModelEvent, ModelRequest, Usage } from "../ports.ts";
import { requireModelOptions, tokens } from "./_options.ts";

/** A call that a script wants to make. */
export interface ScriptedCall {
  /** Name. */
  readonly name: string;
  /** Arguments, as JSON. */
  readonly input: unknown;
}

/** What a script answers. */
export interface ScriptedReply {
  /** What it thought. */
  readonly reasoning?: string;
  /** The text. */
  readonly text?: string;
  /** Calls it makes. */
  readonly calls?: readonly ScriptedCall[];
}

/** Decides on the next reply from nothing but the request. */
export type Script = (request: ModelRequest) => ScriptedReply;

/** Settings of {@link scripted}. */
export interface ScriptedOptions {
  /** Decides on each reply. */
  readonly script: Script;
  /** Name in events and logs. Default `scripted`. */
  readonly id?: string;
  /** Tokens; default 128,000. */
  readonly window?: number;
  /** Tokens; default 4,096. */
  readonly maxOutput?: number;
  /** Awaited before each delta, to slow the model down. Default: no pause. */
  readonly pause?: (signal: AbortSignal) => Promise<void>;
}

const rules = optionsOf<ScriptedOptions>({
  script: aFunction,
  id: text,
  window: tokens,
  maxOutput: tokens,
  pause: aFunction,
}, ["script"]);

const encoder = new TextEncoder();

/** Tokens of a value at four UTF-8 bytes each: what this model "bills". */
export function scriptedTokens(value: unknown): number {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return Math.ceil(encoder.encode(text).length / 4);
}

/** Words with the space before them, as providers cut their deltas. */
function pieces(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/**
 * Makes a model out of a function.
 *
 * @param options The script, and the limits the model claims to have.
 * @throws {TypeError} When an option is unknown or of another kind.
 * @returns A model that needs no network and answers the same request in the same way.
 *
 * @example
 * ```ts
 * import { scripted } from "@selvage/selvage/models";
 *
 * const model = scripted({ script: ({ messages }) => ({ text: `Messages: ${messages.length}` }) });
 * console.log(model.id);
 * ```
 */
export function scripted(options: ScriptedOptions): Model {
  requireModelOptions(options, rules);
  const window = options.window ?? 128_000;
  const maxOutput = options.maxOutput ?? 4_096;
  let calls = 0;

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const inputTokens = scriptedTokens([request.system, request.tools, request.messages]);
    if (inputTokens + request.maxOutput > window) {
      throw new SelvageError(
        "context_length_exceeded",
        `Cannot answer: found a request of ${inputTokens} tokens and ${request.maxOutput} reserved for the ` +
          `answer, wanted at most ${window} together`,
        { fields: { window, retryable: false } },
      );
    }
    if (signal.aborted) throw signal.reason;
    const reply = options.script(request);
    const content: (TextPart | ReasoningPart | ToolCallPart)[] = [];
    let call = 0;
    const deltas: ModelEvent[] = [
      ...pieces(reply.reasoning ?? "").map((text): ModelEvent => ({ type: "reasoning.delta", text })),
      ...pieces(reply.text ?? "").map((text): ModelEvent => ({ type: "text.delta", text })),
      ...(reply.calls ?? []).map(({ name, input }): ModelEvent => {
        return { type: "tool.input.delta", call: call++, name, delta: JSON.stringify(input) };
      }),
    ];
    const breath = new Breath(DELTAS);
    for (const delta of deltas) {
      // Other work gets in between, a cancel too: a real model does not answer in one go.
      await options.pause?.(signal);
      if (breath.isDue()) await breath.pause();
      if (signal.aborted) throw signal.reason;
      yield delta;
    }
    if (reply.reasoning) content.push({ type: "reasoning", text: reply.reasoning });
    if (reply.text) content.push({ type: "text", text: reply.text });
    for (const { name, input } of reply.calls ?? []) {
      content.push({ type: "tool-call", toolCallId: `scripted_${++calls}`, toolName: name, input });
    }
    const message: AssistantMessage = { role: "assistant", content };
    const usage: Usage = { inputTokens, outputTokens: scriptedTokens(content) };
    if (signal.aborted) throw signal.reason;
    yield {
      type: "finish",
      reason: content.some((p) => p.type === "tool-call") ? "tool-calls" : "stop",
      message,
      usage,
    };
  }

  return { id: options.id ?? "scripted", window, maxOutput, dialect: "scripted", stream };
}
