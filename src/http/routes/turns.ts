/**
 * `/v1/turns`: runs a turn, as a stream of events or as one document; follows and cancels a running one.
 *
 * @module
 */
import { Hono } from "hono";
import * as z from "zod";
import { SelvageError } from "../../core/errors.ts";
import { systemClock } from "../../loop/clock.ts";
import { diffRequests, inspectRequest } from "../../loop/inspect_request.ts";
import { encodeNative, foldTurn } from "../encode/native.ts";
import type { AppEnv } from "../env.ts";
import type { IdempotencyKey, TurnHost } from "../host.ts";
import type { AppOptions } from "../options.ts";
import { limitBody, parseBody, readText } from "../body.ts";
import { problemResponse } from "../problem.ts";
import type { Following } from "../registry.ts";
import { SSE_HEADERS, sseStream } from "../sse.ts";

const MAX_BODY = 1024 * 1024;

const textPart = z.strictObject({ type: z.literal("text"), text: z.string() });
const filePart = z.strictObject({
  type: z.literal("file"),
  mediaType: z.string().max(200).regex(/^[\w.+-]+\/[\w.+-]+$/, "wanted a media type such as image/png"),
  data: z.string().regex(
    /^(?:https?:\/\/\S+|data:[^\s]+|[A-Za-z0-9+/_-]+={0,2})$/,
    "wanted base64 or an http(s) URL",
  ),
  filename: z.string().max(500).exactOptional(),
});

/** A session id that is safe in keys and URLs. */
export const sessionId = z.string().regex(
  /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/,
  "wanted 1 to 128 of A-Z a-z 0-9 . _ : -",
);

const body = z.strictObject({
  session: sessionId.exactOptional(),
  input: z.union([z.string(), z.array(z.union([textPart, filePart])).min(1).max(100)], {
    error: 'wanted text, or 1 to 100 parts { type: "text", text } or { type: "file", mediaType, data }',
  }),
  agent: z.string().max(128).exactOptional(),
  stream: z.boolean().exactOptional(),
  pin: z.boolean().exactOptional(),
  compaction: z.strictObject({
    compactAt: z.number().exactOptional(),
    stopAt: z.number().exactOptional(),
    compactTo: z.number().exactOptional(),
    policy: z.enum(["full", "backward"]).exactOptional(),
  }).exactOptional(),
  onDisconnect: z.enum(["abort", "continue"]).exactOptional(),
});

/** What an idempotency key may be made of. */
const idempotencyKey = /^[\x21-\x7e]{1,255}$/;

/** Routes that start turns, follow and cancel them. */
export function turnRoutes(options: AppOptions, host: TurnHost): Hono<AppEnv> {
  const { clock = systemClock } = options;
  const app = new Hono<AppEnv>();

  /** The events of a turn as a stream. */
  function stream({ events, leave }: Following, headers: Readonly<Record<string, string>> = {}): Response {
    const options = { encode: encodeNative, clock, onLeave: leave, onEnd: host.enter() };
    return new Response(sseStream(events, options), {
      headers: { ...SSE_HEADERS, ...headers },
    });
  }

  function notFound(id: string): SelvageError {
    return new SelvageError(
      "turn_not_found",
      `Cannot find the turn ${JSON.stringify(id.slice(0, 128))}: it was never here, or it ended too long ago`,
    );
  }

  app.post("/", limitBody(MAX_BODY), async (c) => {
    const request = c.req.raw;
    const text = await readText(request);
    const { agent = "default", onDisconnect = "abort", stream: isStream = true, ...asked } = parseBody(
      text,
      body,
    );
    const started = await host.start({
      owner: c.get("principal"),
      ...asked,
      agentName: agent,
      onDisconnect,
      clientSignal: request.signal,
      ...await idempotencyOf(request, text),
    });
    const headers: Record<string, string> = started.isReplay ? { "idempotency-replayed": "true" } : {};
    if (isStream) return stream(started, headers);
    const document = await foldTurn(started.events);
    const fields = { turn: started.turn, session: started.session };
    if (document.reason === "suspended") {
      const detail = "The turn has left this process, and goes on where its events are asked for";
      return problemResponse({ code: "turn_suspended", detail, fields }, { "retry-after": "1", ...headers });
    }
    if (document.error === undefined) return c.json(document, 200, headers);
    const { code, message } = document.error;
    return problemResponse({ code, detail: message, fields }, headers);
  });

  app.get("/:id/events", async (c) => {
    host.requireUp("follow");
    const owner = c.get("principal");
    const turn = c.req.param("id");
    const last = c.req.header("last-event-id") ?? c.req.query("after") ?? "";
    // The id of another turn's event says nothing about this one: everything is sent.
    const [, of, number] = last.match(/^(?:(.*):)?(\d{1,30})$/s) ?? [];
    const seen = of === undefined || of === turn ? number : undefined;
    const found = await host.follow(owner, turn, seen === undefined ? 0 : Number(seen) + 1);
    if (found !== null) return stream(found);
    if (seen === undefined || !await host.isKnown(owner, turn)) throw notFound(turn);
    // An event source comes again after every end; 204 tells it that there is no more.
    return c.body(null, 204);
  });

  app.get("/:id/steps/:step/request", async (c) => {
    const turn = c.req.param("id");
    const step = stepOf(c.req.param("step"), "step");
    const { session, diff } = c.req.query();
    const known = session === undefined ? {} : { session: parseQuery(sessionId, session, "session") };
    const { key, agent } = await host.agentOf(c.get("principal"), { turn, ...known });
    const shown = await inspectRequest(options.store, { key, turn, step, agent });
    const answer = { session: key.session, ...shown };
    if (diff === undefined) return c.json(answer);
    const back = diff.match(/^n-(\d{1,9})$/)?.[1];
    const from = back === undefined ? stepOf(diff, "diff") : step - Number(back);
    if (!(from >= 1 && from < step)) {
      throw badQuery("diff", `found ${JSON.stringify(diff.slice(0, 40))}, wanted an earlier step, or n-1`);
    }
    const { request: _, refs: __, ...facts } = answer;
    const earlier = await inspectRequest(options.store, { key, turn, step: from, agent });
    return c.json({ ...facts, diff: diffRequests(earlier, shown) });
  });

  app.post("/:id/cancel", async (c) => {
    const id = c.req.param("id");
    const cancelled = await host.cancel(c.get("principal"), id);
    if (cancelled === null) throw notFound(id);
    return c.json({ turn: id, cancelled });
  });

  return app;
}

function badQuery(field: string, found: string): SelvageError {
  return new SelvageError("bad_request", `Cannot show the request: ${field}: ${found}`, {
    fields: { field },
  });
}

function parseQuery<T>(schema: z.ZodType<T>, value: string, field: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw badQuery(field, parsed.error.issues[0]?.message ?? "wanted another");
}

/** The number of a step, from 1. */
function stepOf(text: string, field: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw badQuery(field, `found ${JSON.stringify(text.slice(0, 40))}, wanted the number of a step, from 1`);
}

/** The client's key of a request, with a fingerprint of what is asked for. */
async function idempotencyOf(
  request: Request,
  text: string,
): Promise<{ readonly idempotency?: IdempotencyKey }> {
  const key = request.headers.get("idempotency-key");
  if (key === null) return {};
  if (!idempotencyKey.test(key)) {
    throw new SelvageError(
      "bad_request",
      "Cannot use the header Idempotency-Key: wanted 1 to 255 visible ASCII characters",
      { fields: { field: "idempotency-key" } },
    );
  }
  const asked = new TextEncoder().encode(`${new URL(request.url).pathname}\n${text}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", asked));
  return { idempotency: { key, fingerprint: digest.toHex() } };
}
