/**
 * `POST /v1/turns`: runs a turn, as a stream of events or as one document.
 *
 * @module
 */
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import * as z from "zod";
import { SelvageError } from "../../core/errors.ts";
import { systemClock } from "../../loop/clock.ts";
import { runTurn } from "../../loop/turn.ts";
import type { TurnEvent } from "../../loop/events.ts";
import { encodeNative, foldTurn } from "../encode/native.ts";
import type { AppEnv } from "../env.ts";
import type { AppOptions } from "../options.ts";
import { readBody } from "../body.ts";
import { Drain } from "../drain.ts";
import { problemResponse } from "../problem.ts";
import { SSE_HEADERS, sseStream } from "../sse.ts";

const MAX_BODY = 1024 * 1024;

const textPart = z.strictObject({ type: z.literal("text"), text: z.string() });
const filePart = z.strictObject({
  type: z.literal("file"),
  mediaType: z.string().min(1).max(200),
  data: z.string().min(1),
  filename: z.string().max(500).exactOptional(),
});

/** A session id that is safe in keys and URLs. */
export const sessionId = z.string().regex(
  /^[A-Za-z0-9._:-]{1,128}$/,
  "wanted 1 to 128 of A-Z a-z 0-9 . _ : -",
);

const body = z.strictObject({
  session: sessionId.exactOptional(),
  input: z.union([z.string(), z.array(z.union([textPart, filePart])).min(1).max(100)]),
  agent: z.string().max(128).exactOptional(),
  stream: z.boolean().exactOptional(),
  pin: z.boolean().exactOptional(),
});

/** The generator again, with an event that was already taken from it in front. */
async function* prepend(
  first: TurnEvent,
  rest: AsyncGenerator<TurnEvent, void>,
): AsyncGenerator<TurnEvent, void> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return();
  }
}

/** Routes that start turns. */
export function turnRoutes(options: AppOptions): Hono<AppEnv> {
  const { clock = systemClock } = options;
  const drain = options.drain ?? new Drain();
  const newId = options.newId ??
    ((kind) => `${kind === "turn" ? "t" : "s"}_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`);
  const app = new Hono<AppEnv>();

  app.post(
    "/",
    bodyLimit({
      maxSize: MAX_BODY,
      onError: () =>
        problemResponse({
          code: "body_too_large",
          detail: `Cannot read the body: found more than ${MAX_BODY} bytes, wanted at most that`,
        }),
    }),
    async (c) => {
      if (drain.signal.aborted) {
        const detail = "Cannot start the turn: the service is going down, try again in a moment";
        return problemResponse({ code: "shutting_down", detail }, { "retry-after": "1" });
      }
      const request = c.req.raw;
      const input = await readBody(request, body);
      const agentName = input.agent ?? "default";
      const agent = Object.hasOwn(options.agents, agentName) ? options.agents[agentName] : undefined;
      if (agent === undefined) {
        const names = Object.keys(options.agents).join(", ");
        throw new SelvageError(
          "unknown_agent",
          `Cannot start the turn: found no agent ${JSON.stringify(agentName)}, wanted one of ${names}`,
        );
      }
      // One controller for everything that can end the turn. `request.signal` also aborts after a success, so it
      // counts only until the response has started; from then on the stream's own cancel does.
      const stop = new AbortController();
      const abort = (): void => stop.abort(new DOMException("The client has gone", "AbortError"));
      request.signal.addEventListener("abort", abort, { once: true });
      const onDrain = (): void => stop.abort(drain.signal.reason);
      drain.signal.addEventListener("abort", onDrain, { once: true });
      const leave = drain.enter();
      const release = (): void => {
        request.signal.removeEventListener("abort", abort);
        drain.signal.removeEventListener("abort", onDrain);
        leave();
      };
      const events = runTurn({
        agent,
        agentName,
        session: input.session ?? newId("session"),
        input: input.input,
        signal: stop.signal,
        ...c.get("principal"),
        ...(input.pin === undefined ? {} : { pin: input.pin }),
      }, { store: options.store, clock, newId: () => newId("turn") });
      try {
        // Taken before the response: a turn that cannot start is an HTTP error, not an event.
        const first = await events.next();
        if (first.done === true) throw new Error("A turn ended without an event");
        const all = prepend(first.value, events);
        if (input.stream === false) {
          const document = await foldTurn(all);
          release();
          if (document.error === undefined) return c.json(document);
          const { code, message } = document.error;
          const fields = { turn: document.turn, session: document.session };
          return problemResponse({ code, detail: message, fields });
        }
        request.signal.removeEventListener("abort", abort);
        const stream = sseStream(finallyDo(all, release), { encode: encodeNative, clock, onCancel: abort });
        return new Response(stream, { headers: SSE_HEADERS });
      } catch (error) {
        release();
        throw error;
      }
    },
  );

  return app;
}

async function* finallyDo<T>(events: AsyncGenerator<T, void>, done: () => void): AsyncGenerator<T, void> {
  try {
    yield* events;
  } finally {
    done();
  }
}
