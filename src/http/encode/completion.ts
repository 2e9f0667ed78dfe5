/**
 * Chat Completions: the events of a turn as chunks, or as one completion. What is told beside the answer is in the field
 * `selvage` of a chunk, which clients pass over.
 *
 * @module
 */
import type { JsonObject } from "../../formats/format.ts";
import { eventNumber, type TurnEvent } from "../../loop/events.ts";
import type { Usage } from "../../ports.ts";
import { openaiError } from "../openai_errors.ts";
import type { Problem } from "../problem.ts";
import { dataFrame, DONE_FRAME } from "../sse.ts";
import {
  type CompletionCall,
  type CompletionOptions,
  CompletionReader,
  type Ending,
  type Part,
} from "./completion_reader.ts";

/** The id of a response: that of its turn, with the place in it where the turn goes on. */
function idOf(first: TurnEvent, turn: string): string {
  const number = eventNumber(first);
  return `chatcmpl-${turn}${number === 0 ? "" : `-${number}`}`;
}

function wireUsage(
  { inputTokens, outputTokens, cachedTokens = 0 }: Usage,
): JsonObject {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}

/** Makes the frames of one response. */
export class CompletionEncoder {
  readonly #options: CompletionOptions;
  readonly #reader: CompletionReader;
  /** What every chunk says of the response; null before the first. */
  #base: JsonObject | null = null;

  constructor(options: CompletionOptions) {
    this.#options = options;
    this.#reader = new CompletionReader(options);
  }

  /** One event as frames; none where it has nothing to say. */
  encode(event: TurnEvent): string {
    let frames = "";
    if (this.#base === null) {
      const { turn, created, model, fingerprint: system_fingerprint } = this.#options;
      this.#base = {
        id: idOf(event, turn),
        object: "chat.completion.chunk",
        created,
        model,
        system_fingerprint,
      };
      frames = this.#choice({ role: "assistant", content: "" });
    }
    for (const part of this.#reader.read(event)) frames += this.#frame(part);
    return frames;
  }

  /** The frames behind the last event. */
  end(): string {
    return Array.from(this.#reader.end(), (part) => this.#frame(part)).join("");
  }

  #frame(part: Part): string {
    switch (part.kind) {
      case "delta":
        return this.#choice(part.delta);
      case "call": {
        const { index, call: { function: { name, arguments: args }, ...call } } = part;
        const begun = { index, ...call, function: { name, arguments: "" } };
        return this.#choice({ tool_calls: [begun] }) +
          this.#choice({ tool_calls: [{ index, function: { arguments: args } }] });
      }
      case "note":
        return this.#choice({}, { selvage: part.note });
      case "error":
        return dataFrame({ error: openaiError(part.problem) });
      case "end": {
        const usage = this.#options.includesUsage === true
          ? dataFrame({ ...this.#base, choices: [], usage: wireUsage(part.usage) })
          : "";
        return this.#choice({}, {}, part.ending) + usage + DONE_FRAME;
      }
    }
  }

  #choice(delta: unknown, beside: JsonObject = {}, finish: Ending | null = null): string {
    return dataFrame({
      ...this.#base,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      // Where usage is asked for, every chunk has the field.
      ...(this.#options.includesUsage === true ? { usage: null } : {}),
      ...beside,
    });
  }
}

/** The whole of a turn: a completion, or why there is none. */
export type CompletionOutcome =
  | { readonly completion: JsonObject }
  | { readonly problem: Problem };

/** Folds the events of a turn into one completion. */
export async function foldCompletion(
  events: AsyncIterable<TurnEvent>,
  options: CompletionOptions,
): Promise<CompletionOutcome> {
  const { model, created, fingerprint } = options;
  const reader = new CompletionReader(options);
  const notes: unknown[] = [];
  const calls: CompletionCall[] = [];
  let [id, content, reasoning] = ["", "", ""];
  let problem = null as Problem | null;
  let end = null as Extract<Part, { kind: "end" }> | null;
  const take = (part: Part): void => {
    switch (part.kind) {
      case "delta": {
        const { content: said = "", reasoning_content: thought = "" } = part.delta;
        content += said;
        reasoning += thought;
        break;
      }
      case "call":
        calls.push(part.call);
        break;
      case "note":
        notes.push(part.note);
        break;
      case "error":
        problem = part.problem;
        break;
      case "end":
        end = part;
    }
  };
  for await (const event of events) {
    if (id === "") id = idOf(event, options.turn);
    for (const part of reader.read(event)) take(part);
  }
  for (const part of reader.end()) take(part);
  if (problem !== null || end === null) {
    return { problem: problem ?? { code: "internal", detail: "The turn ended without an end" } };
  }
  return {
    completion: {
      id,
      object: "chat.completion",
      created,
      model,
      system_fingerprint: fingerprint,
      choices: [{
        index: 0,
        message: {
          role: "assistant",
          content: content === "" ? null : content,
          refusal: null,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
          ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
        },
        logprobs: null,
        finish_reason: end.ending,
      }],
      usage: wireUsage(end.usage),
      ...(notes.length === 0 ? {} : { selvage: notes }),
    },
  };
}
