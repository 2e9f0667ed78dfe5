/**
 * What clients of OpenAI hold for a stream of Chat Completions, written from its wire rules and from nothing of ours:
 * every frame is a chunk or an error, the role comes first, calls are begun before they go on, one finish_reason, the
 * usage last, then `[DONE]`.
 */
import type { Json } from "./chat.ts";
import { dataOf } from "./sse.ts";
import { isJson } from "./wire_json.ts";

/** What a stream came to. */
export interface ReadCompletion {
  readonly content: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finish: string | null;
  readonly usage: Json | null;
  readonly error: Json | null;
  /** What the service tells beside the answer. */
  readonly notes: readonly Json[];
  /** Chunks with a part of the text. */
  readonly deltas: number;
}

/** Complains about a stream. */
class Misled extends Error {}

function hold(holds: boolean, rule: string, found: unknown): asserts holds {
  if (!holds) throw new Misled(`${rule}, found ${JSON.stringify(found)?.slice(0, 300)}`);
}

const CHUNK_KEYS = new Set(
  "id object created model system_fingerprint service_tier choices usage selvage".split(" "),
);
const FINISH = new Set(["stop", "length", "tool_calls", "content_filter"]);

/** Reads the body of a whole stream; throws at the first thing that breaks a rule. */
export function readCompletionStream(
  body: string,
  { includesUsage = false }: { readonly includesUsage?: boolean } = {},
): ReadCompletion {
  const data = dataOf(body);
  const last = data.at(-1);
  let [content, reasoning, finish] = ["", "", null as string | null];
  let [usage, error] = [null as Json | null, null as Json | null];
  let deltas = 0;
  let hasRole = false;
  let base: string | null = null;
  const calls: { id: string; name: string; arguments: string }[] = [];
  const notes: Json[] = [];
  for (const [at, text] of data.entries()) {
    if (text === "[DONE]") {
      hold(at === data.length - 1, "[DONE] is the last frame", data.slice(at));
      continue;
    }
    const chunk: Json = JSON.parse(text);
    hold(isJson(chunk), "a frame is an object", chunk);
    hold(error === null, "nothing follows an error", chunk);
    if (isJson(chunk.error)) {
      error = chunk.error;
      hold(
        typeof error.message === "string" && typeof error.type === "string",
        "an error has its fields",
        error,
      );
      hold("param" in error && "code" in error, "an error has its fields", error);
      continue;
    }
    hold(Object.keys(chunk).every((key) => CHUNK_KEYS.has(key)), "a chunk has known fields", chunk);
    hold(chunk.object === "chat.completion.chunk", "a chunk says what it is", chunk);
    hold(/^chatcmpl-/.test(String(chunk.id)) && Number.isInteger(chunk.created), "a chunk has its id", chunk);
    const same = JSON.stringify([chunk.id, chunk.created, chunk.model, chunk.system_fingerprint]);
    hold((base ??= same) === same, "all chunks have one id, time, model and fingerprint", chunk);
    hold(Array.isArray(chunk.choices), "a chunk has choices", chunk);
    hold(usage === null, "nothing follows the usage", chunk);
    if (chunk.choices.length === 0) {
      hold(includesUsage && isJson(chunk.usage), "a chunk without a choice tells the usage", chunk);
      hold(finish !== null, "the usage comes behind the finish_reason", chunk);
      usage = chunk.usage;
      const [prompt, completion] = [Number(usage.prompt_tokens), Number(usage.completion_tokens)];
      hold(prompt >= 0 && completion >= 0, "the usage counts tokens", usage);
      hold(usage.total_tokens === prompt + completion, "the total is the sum", usage);
      continue;
    }
    hold(
      includesUsage ? chunk.usage === null : !("usage" in chunk),
      "usage is where it was asked for",
      chunk,
    );
    const [choice, ...others] = chunk.choices;
    hold(others.length === 0 && choice.index === 0 && isJson(choice.delta), "there is one choice", chunk);
    hold(finish === null, "nothing of the answer follows its finish_reason", chunk);
    const { delta } = choice;
    if (isJson(chunk.selvage)) {
      hold(typeof chunk.selvage.type === "string", "a note has a type", chunk);
      hold(Object.keys(delta).length === 0, "a note stands by itself", chunk);
      notes.push(chunk.selvage);
    }
    hold(hasRole !== ("role" in delta), "the first delta and no other has the role", chunk);
    if ("role" in delta) hold(delta.role === "assistant", "the role is that of an assistant", chunk);
    hasRole = true;
    if (typeof delta.content === "string") {
      content += delta.content;
      if (delta.content !== "") deltas++;
    }
    if (typeof delta.reasoning_content === "string") reasoning += delta.reasoning_content;
    for (const part of (delta.tool_calls ?? []) as Json[]) readCall(part, calls);
    if (choice.finish_reason !== null) {
      finish = String(choice.finish_reason);
      hold(FINISH.has(finish), "the finish_reason is one that clients know", chunk);
    }
  }
  hold(
    error === null ? last === "[DONE]" : last !== "[DONE]",
    "[DONE] is the end, unless there is an error",
    last,
  );
  if (error === null) {
    hold(finish !== null, "there is a finish_reason", body.slice(-200));
    hold(!includesUsage || usage !== null, "the usage is told", body.slice(-200));
    hold((finish === "tool_calls") === (calls.length > 0), "calls end with tool_calls", calls);
    for (const call of calls) JSON.parse(call.arguments);
    hold(new Set(calls.map(({ id }) => id)).size === calls.length, "ids of calls differ", calls);
  }
  return { content, reasoning, calls, finish, usage, error, notes, deltas };
}

function readCall(
  { index, id, type, function: { name, arguments: args = "" } = {} }: Json,
  calls: { id: string; name: string; arguments: string }[],
): void {
  hold(Number.isInteger(index), "a call has an index", index);
  if (id !== undefined) {
    hold(index === calls.length, "calls are begun in order", index);
    hold(type === "function" && typeof name === "string", "a call begins with type and name", name);
    hold(typeof id === "string" && id.length >= 1 && id.length <= 40, "an id has 1 to 40 characters", id);
    calls.push({ id, name, arguments: args });
    return;
  }
  const call = calls[index];
  hold(
    call !== undefined && index === calls.length - 1,
    "a call that goes on is the last that was begun",
    index,
  );
  hold(name === undefined && type === undefined, "name and type come once", name);
  call.arguments += args;
}
