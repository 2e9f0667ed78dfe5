/**
 * Chat Completions: the events of a turn as chunks, or as one completion. What is told beside the answer is in the field
 * `selvage` of a chunk, which clients pass over.
 *
 * @module
 */
import { eventNumber, type TurnEvent } from "../../loop/events.ts";
import type { Usage } from "../../ports.ts";
import { openaiError } from "../openai_errors.ts";
import type { Problem } from "../problem.ts";
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
): Readonly<Record<string, unknown>> {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}

/** The events of a turn as frames of a stream. */
export async function* completionFrames(
  events: AsyncIterable<TurnEvent>,
  options: CompletionOptions,
): AsyncGenerator<string, void> {
  const { model, created, fingerprint, includesUsage = false } = options;
  const reader = new CompletionReader(options);
  let base: Readonly<Record<string, unknown>> | null = null;
  const chunk = (fields: Readonly<Record<string, unknown>>): string =>
    `data: ${JSON.stringify({ ...base, ...fields })}\n\n`;
  const choice = (delta: unknown, finish: Ending | null = null): Readonly<Record<string, unknown>> => ({
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    // Where usage is asked for, every chunk has the field.
    ...(includesUsage ? { usage: null } : {}),
  });
  const frame = (part: Part): string => {
    switch (part.kind) {
      case "delta":
        return chunk(choice(part.delta));
      case "call": {
        const { index, call: { function: { name, arguments: args }, ...call } } = part;
        const begun = { index, ...call, function: { name, arguments: "" } };
        return chunk(choice({ tool_calls: [begun] })) +
          chunk(choice({ tool_calls: [{ index, function: { arguments: args } }] }));
      }
      case "note":
        return chunk({ ...choice({}), selvage: part.note });
      case "error":
        return `data: ${JSON.stringify({ error: openaiError(part.problem) })}\n\n`;
      case "end": {
        const usage = includesUsage ? chunk({ choices: [], usage: wireUsage(part.usage) }) : "";
        return `${chunk(choice({}, part.ending))}${usage}data: [DONE]\n\n`;
      }
    }
  };
  for await (const event of events) {
    let text = "";
    if (base === null) {
      base = {
        id: idOf(event, options.turn),
        object: "chat.completion.chunk",
        created,
        model,
        system_fingerprint: fingerprint,
      };
      text = chunk(choice({ role: "assistant", content: "" }));
    }
    for (const part of reader.read(event)) text += frame(part);
    if (text !== "") yield text;
  }
  for (const part of reader.end()) yield frame(part);
}

/** The whole of a turn: a completion, or why there is none. */
export type CompletionOutcome =
  | { readonly completion: Readonly<Record<string, unknown>> }
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
  let problem: Problem | null = null;
  let end: Extract<Part, { kind: "end" }> | null = null;
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
  const ended = end as Extract<Part, { kind: "end" }> | null;
  if (problem !== null || ended === null) {
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
        finish_reason: ended.ending,
      }],
      usage: wireUsage(ended.usage),
      ...(notes.length === 0 ? {} : { selvage: notes }),
    },
  };
}
