/**
 * `POST /v1/check`, `/v1/repair`, `/v1/compact`: anybody's transcript in its own format, without the loop.
 *
 * @module
 */
import { Hono } from "hono";
import * as z from "zod";
import { compactTranscript, isLedger } from "../../compaction/wire.ts";
import { checkMessages } from "../../formats/check.ts";
import { describeTranscript } from "../../formats/describe.ts";
import type { FormatName } from "../../formats/format.ts";
import { type Reading, type ReadOptions, readTranscript } from "../../formats/read.ts";
import { repairTranscript } from "../../formats/repair.ts";
import { rereadTranscript } from "../../formats/reread.ts";
import { elementSpans, fieldStart, jsonList, parseExact } from "../../formats/source.ts";
import { countOnce } from "../../tokens/count_once.ts";
import { loadCounter } from "../../tokens/counter.ts";
import { encodingOf } from "../../tokens/encoding.ts";
import { limitBody, parseBody } from "../body.ts";
import type { AppEnv } from "../env.ts";

const MAX_BODY = 16 * 1024 * 1024;

const index = z.int().min(0);
/** Tokens, as far as sums of them are exact. */
const tokens = z.number().min(0).max(Number.MAX_SAFE_INTEGER);
const callName = z.union([z.string(), z.strictObject({ at: index, call: index })]);

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
const readingBody = z.strictObject(reading);
const compactBody = z.strictObject({
  ...reading,
  budget: z.number(),
  policy: z.enum(["full", "backward"]).exactOptional(),
  lookback: z.number().min(0).exactOptional(),
  lookahead: z.number().min(0).exactOptional(),
  summaryReserve: tokens.exactOptional(),
  pinned: z.array(z.int()).exactOptional(),
  summary: z.string().exactOptional(),
  repair: z.boolean().exactOptional(),
  plan: z.boolean().exactOptional(),
});

/** A transcript that was sent, and the text of each of its messages. */
interface Sent<Body> {
  readonly body: Body;
  readonly reading: Reading;
  readonly texts: ReadonlyMap<unknown, string>;
}

/** Reads the transcript in a body. */
async function receive<Body extends z.infer<typeof readingBody>>(
  request: Request,
  schema: z.ZodType<Body>,
): Promise<Sent<Body>> {
  const text = await request.text();
  const body = parseBody(text, schema);
  const { format, messages, longRunning, inFlight, thinking, tokens } = body;
  const texts = new Map<unknown, string>();
  let list = messages;
  if (Array.isArray(messages)) {
    list = elementSpans(text, fieldStart(text, "messages") ?? 0).map(({ from, to }) => {
      const source = text.slice(from, to);
      const message = parseExact(source);
      texts.set(message, source);
      return message;
    });
  }
  const { count } = await loadCounter(encodingOf(body.model));
  const options: ReadOptions = {
    measure: countOnce((found) => count(found)),
    isSummary: isLedger,
    // A name that is none is refused by the reader, with the names that there are.
    ...(format === undefined ? {} : { format: format as FormatName }),
    ...(longRunning === undefined ? {} : { longRunning }),
    ...(inFlight === undefined ? {} : { inFlight }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(tokens === undefined ? {} : { tokens }),
  };
  return { body, reading: readTranscript(list, options), texts };
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
    const { budget, policy, lookback, lookahead, summaryReserve, pinned, summary, repair, plan } = body;
    const { messages, toSummarise, ...rest } = compactTranscript(reading, {
      budget,
      ...(policy === undefined ? {} : { policy }),
      ...(lookback === undefined ? {} : { lookback }),
      ...(lookahead === undefined ? {} : { lookahead }),
      ...(summaryReserve === undefined ? {} : { summaryReserve }),
      ...(pinned === undefined ? {} : { pinned }),
      ...(summary === undefined ? {} : { summary }),
      ...(repair === undefined ? {} : { repair }),
      ...(plan === undefined ? {} : { plan }),
    });
    return answer({ format: reading.format.name, ...rest }, { messages, toSummarise }, texts);
  });

  return app;
}
