/**
 * `/v1/turns`: runs a turn, as a stream of events or as one document; follows and cancels a running one.
 *
 * @module
 */
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import * as z from "zod";
import { SelvageError } from "../../core/errors.ts";
import { systemClock } from "../../loop/clock.ts";
import { runTurn } from "../../loop/turn.ts";
import { encodeNative, foldTurn } from "../encode/native.ts";
import type { Principal } from "../auth.ts";
import type { AppEnv } from "../env.ts";
import type { AppOptions } from "../options.ts";
import { readBody } from "../body.ts";
import { Drain } from "../drain.ts";
import { problemResponse } from "../problem.ts";
import { type FollowedTurn, TurnRegistry } from "../registry.ts";
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
  onDisconnect: z.enum(["abort", "continue"]).exactOptional(),
});

/** Routes that start turns. */
export function turnRoutes(options: AppOptions): Hono<AppEnv> {
  const { clock = systemClock } = options;
  const drain = options.drain ?? new Drain();
  const newId = options.newId ??
    ((kind) => `${kind === "turn" ? "t" : "s"}_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`);
  const registry = new TurnRegistry(clock);
  const app = new Hono<AppEnv>();

  /** The events of a turn from one on, as a stream. */
  function follow(turn: FollowedTurn, from: number): Response {
    const { events, leave } = turn.follow(from);
    return new Response(sseStream(events, { encode: encodeNative, clock, onLeave: leave }), {
      headers: SSE_HEADERS,
    });
  }

  function find(principal: Principal, id: string): FollowedTurn {
    const turn = registry.find(principal, id);
    if (turn !== null) return turn;
    throw new SelvageError(
      "turn_not_found",
      `Cannot find the turn ${JSON.stringify(id.slice(0, 128))}: it was never here, or it ended too long ago`,
    );
  }

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
      const onDisconnect = input.onDisconnect ?? "abort";
      // A turn that is to go on without its client does so from the first moment on.
      if (onDisconnect === "abort") request.signal.addEventListener("abort", abort, { once: true });
      const onDrain = (): void => stop.abort(drain.signal.reason);
      drain.signal.addEventListener("abort", onDrain, { once: true });
      const leave = drain.enter();
      const onEnd = (): void => {
        request.signal.removeEventListener("abort", abort);
        drain.signal.removeEventListener("abort", onDrain);
        leave();
      };
      const principal = c.get("principal");
      const events = runTurn({
        agent,
        agentName,
        session: input.session ?? newId("session"),
        input: input.input,
        signal: stop.signal,
        ...principal,
        ...(input.pin === undefined ? {} : { pin: input.pin }),
      }, { store: options.store, clock, newId: () => newId("turn") });
      // The first event is taken before the response: a turn that cannot start is an HTTP error, not an event.
      const turn = await registry.add({ principal, events, stop, onDisconnect }, onEnd);
      if (input.stream === false) {
        const document = await foldTurn(turn.follow().events);
        if (document.error === undefined) return c.json(document);
        const { code, message } = document.error;
        return problemResponse({
          code,
          detail: message,
          fields: { turn: document.turn, session: document.session },
        });
      }
      request.signal.removeEventListener("abort", abort);
      return follow(turn, 0);
    },
  );

  app.get("/:id/events", (c) => {
    const turn = find(c.get("principal"), c.req.param("id"));
    const last = c.req.header("last-event-id") ?? c.req.query("after") ?? "";
    // The id of another turn's event says nothing about this one: everything is sent.
    const [, of, number] = last.match(/^(?:(.*):)?(\d{1,9})$/s) ?? [];
    const seen = of === undefined || of === c.req.param("id") ? number : undefined;
    const from = seen === undefined ? 0 : Number(seen) + 1;
    // An event source comes again after every end; 204 tells it that there is no more.
    if (turn.isDone && from >= turn.length) return c.body(null, 204);
    return follow(turn, from);
  });

  app.post("/:id/cancel", async (c) => {
    const id = c.req.param("id");
    const turn = find(c.get("principal"), id);
    const wasRunning = !turn.isDone;
    await turn.cancel("The turn was cancelled");
    return c.json({ turn: id, cancelled: wasRunning });
  });

  return app;
}
