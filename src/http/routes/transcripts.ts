/**
 * `POST /v1/check`, `/v1/repair`, `/v1/compact`: anybody's transcript in its own format, without the loop.
 *
 * @module
 */
import { Hono } from "hono";
import * as z from "zod";
import { compactTranscript, isLedger } from "../../compaction/wire.ts";
import { SelvageError } from "../../core/errors.ts";
import { checkMessages } from "../../formats/check.ts";
import { describeTranscript } from "../../formats/describe.ts";
import { refuseDeep } from "../../formats/fields.ts";
import { type FormatName, isObject } from "../../formats/format.ts";
import type { Reading, ReadOptions } from "../../formats/read.ts";
import { repairTranscript } from "../../formats/repair.ts";
import { rereadTranscript } from "../../formats/reread.ts";
import { findWrapper, hintOf, LIST_NAMES, type ListName, readByPlace } from "../../formats/shapes.ts";
import { elementSpans, fieldStart, hasLongNumber, jsonList, parseScanned } from "../../formats/source.ts";
import { countOnce } from "../../tokens/count_once.ts";
import { loadCounter } from "../../tokens/counter.ts";
import { encodingOf } from "../../tokens/encoding.ts";
import { checkBody, limitBody, parseJson, readText } from "../body.ts";
import type { AppEnv } from "../env.ts";

const MAX_BODY = 16 * 1024 * 1024;

const index = z.int().min(0);
/** Tokens, as far as sums of them are exact. */
const tokens = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
const callName = z.union([z.string(), z.strictObject({ at: index, call: index })]);

/**
 * What requests to model services carry beside their messages. Such a request can be sent as it is: the messages are
 * read, and nothing else in it.
 */
const BESIDE: ReadonlySet<string> = new Set([
  ...["system", "instructions", "systemInstruction", "system_instruction", "metadata", "stream", "store"],
  ...["tools", "tool_choice", "toolConfig", "tool_config", "parallel_tool_calls"],
  ...["max_tokens", "max_completion_tokens", "max_output_tokens", "generationConfig", "generation_config"],
  ...["temperature", "top_p", "top_k", "stop", "stop_sequences", "reasoning", "reasoning_effort"],
]);

/** What all three routes take. The reader looks at messages and format: it names what is wrong in them. */
const reading = {
  format: z.string().exactOptional(),
  messages: z.unknown(),
  longRunning: z.array(callName).exactOptional(),
  inFlight: z.array(callName).exactOptional(),
  thinking: z.enum(["auto", "ignore"]).exactOptional(),
  tokens: z.array(z.number()).exactOptional(),
  model: z.string().max(200).exactOptional(),
};
export const readingBody = z.strictObject(reading);
const compaction = {
  budget: z.number(),
  policy: z.enum(["full", "backward"]).exactOptional(),
  lookback: z.number().min(0).exactOptional(),
  lookahead: z.number().min(0).exactOptional(),
  summaryReserve: tokens.exactOptional(),
  pinned: z.array(z.int()).exactOptional(),
  summary: z.string().exactOptional(),
  repair: z.boolean().exactOptional(),
  plan: z.boolean().exactOptional(),
};
export const compactBody = z.strictObject({ ...reading, ...compaction });
/** What a body says of the compaction alone. */
const compactOptions = z.object(compaction);

/** A transcript that was sent, and the text of each of its messages. */
interface Sent<Body> {
  readonly body: Body;
  readonly reading: Reading;
  readonly texts: ReadonlyMap<unknown, string>;
}

/** A body with its messages as `messages`, whatever they were called. */
function unfold(value: unknown): { readonly body: unknown; readonly name: ListName | null } {
  if (Array.isArray(value)) return { body: { messages: value }, name: null };
  if (!isObject(value)) return { body: value, name: null };
  const [name, other] = LIST_NAMES.filter((name) => Object.hasOwn(value, name));
  if (name === undefined || other !== undefined) {
    const keys = Object.keys(value).slice(0, 5).map((key) => key.slice(0, 40)).join(", ");
    const found = name === undefined ? keys || "an empty object" : `both ${name} and ${other}`;
    throw new SelvageError(
      "bad_request",
      `Cannot use the body: found ${found}, wanted the messages as ${LIST_NAMES.join(", or as ")}`,
      { fields: { field: "messages" } },
    );
  }
  // Not `delete`, not a spread: a field called __proto__ is one like any other.
  const rest = Object.entries(value).filter(([key]) => key !== name && !BESIDE.has(key));
  return { body: Object.fromEntries([...rest, ["messages", value[name]]]), name };
}

/** Names the message in which a body is nested too deeply, if it is one. */
function refuseDeepMessages(begin: unknown): void {
  const lists = isObject(begin) ? LIST_NAMES.map((name) => begin[name]) : [begin];
  for (const [at, message] of (lists.find(Array.isArray) ?? []).entries()) refuseDeep(message, at);
}

/** Reads the transcript in a body. */
async function receive<Body extends z.infer<typeof readingBody>>(
  request: Request,
  schema: z.ZodType<Body>,
): Promise<Sent<Body>> {
  const text = await readText(request);
  const { body: found, name } = unfold(parseJson(text, refuseDeepMessages));
  const body = checkBody(found, schema);
  const { messages, longRunning, inFlight, thinking, tokens } = body;
  const texts = new Map<unknown, string>();
  let list = messages;
  if (Array.isArray(messages)) {
    const start = name === null ? text.indexOf("[") : fieldStart(text, name) ?? 0;
    list = elementSpans(text, start).map(({ from, to }, at) => {
      const source = text.slice(from, to);
      const message = hasLongNumber(source) ? parseScanned(source) : messages[at];
      texts.set(message, source);
      return message;
    });
    refuseWrapped(list as readonly unknown[]);
  }
  const { count } = await loadCounter(encodingOf(body.model));
  // A name that is none is refused by the reader, with the names that there are.
  const format = (body.format ?? hintOf(name) ?? undefined) as FormatName | undefined;
  const options: ReadOptions = {
    measure: countOnce((found) => count(found)),
    isSummary: isLedger,
    ...(format === undefined ? {} : { format }),
    ...(longRunning === undefined ? {} : { longRunning }),
    ...(inFlight === undefined ? {} : { inFlight }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(tokens === undefined ? {} : { tokens }),
  };
  return { body, reading: readByPlace(list, options), texts };
}

/** Session logs of agents wrap each message in a line of their own. */
function refuseWrapped(list: readonly unknown[]): void {
  const wrapper = findWrapper(list);
  if (wrapper === null) return;
  const { at, inside } = wrapper;
  throw new SelvageError(
    "bad_message",
    `Cannot read message ${at}: found no role; the messages seem to be inside \`${inside}\`, wanted what is in there`,
    { fields: { at, field: inside } },
  );
}

/** A JSON response in which messages that were not edited stand as they came, to the letter. */
function answer(
  fields: Readonly<Record<string, unknown>>,
  lists: Readonly<Record<string, readonly unknown[] | undefined>>,
  texts: ReadonlyMap<unknown, string>,
): Response {
  const written = [
    ...Object.entries(lists).flatMap(([name, list]) =>
      list === undefined ? [] : [`${JSON.stringify(name)}:${jsonList(list, texts)}`]
    ),
    ...Object.entries(fields).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`),
  ];
  return new Response(`{${written.join(",")}}`, { headers: { "content-type": "application/json" } });
}

/** Routes for transcripts from elsewhere. Nothing is stored, and no model is called. */
export function transcriptRoutes(): Hono<AppEnv> {
  const app = new Hono<AppEnv>();

  app.post("/check", limitBody(MAX_BODY), async (c) => {
    const { reading } = await receive(c.req.raw, readingBody);
    return c.json(describeTranscript(reading));
  });

  app.post("/repair", limitBody(MAX_BODY), async (c) => {
    const { reading, texts } = await receive(c.req.raw, readingBody);
    const { messages, repairs, calls } = repairTranscript(reading);
    const violations = checkMessages(rereadTranscript(reading, { messages, calls }));
    return answer({ repairs, violations }, { messages }, texts);
  });

  app.post("/compact", limitBody(MAX_BODY), async (c) => {
    const { body, reading, texts } = await receive(c.req.raw, compactBody);
    const { messages, toSummarise, ...rest } = compactTranscript(reading, compactOptions.parse(body));
    const format = reading.format.name;
    const { plan } = body;
    if (plan !== true) return answer({ format, ...rest }, { messages }, texts);
    return answer({ plan, format, ...rest }, { toSummarise: toSummarise ?? [] }, texts);
  });

  return app;
}
