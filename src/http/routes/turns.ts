/**
 * `/v1/turns`: runs a turn, as a stream of events or as one document; follows and cancels a running one.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import * as z from "zod";
import { SelvageError } from "../../core/errors.ts";
import { systemClock } from "../../loop/clock.ts";
import { diffRequests, type InspectedRequest, inspectRequest } from "../../loop/inspect_request.ts";
import { badBody, limitBody, parseBody, readText } from "../body.ts";
import { encodeNative, foldTurn } from "../encode/native.ts";
import type { AppEnv } from "../env.ts";
import type { TurnHost } from "../host.ts";
import type { StartedTurn } from "../host/request.ts";
import { idempotencyOf, keyOf, replayHeaders } from "../idempotency.ts";
import type { AppOptions } from "../options.ts";
import { problemOf, refuseWith } from "../problem.ts";
import { causeOf, reportFault } from "../requests.ts";
import { TurnQueue } from "../queue.ts";
import type { Following } from "../registry.ts";
import { sessionId } from "../session_key.ts";
import { sseResponse } from "../sse.ts";
import { whileThere } from "../streams.ts";
import { answerBody, messageBody, turnBody } from "../turn_bodies.ts";
import { parseUrl } from "../url.ts";

const MAX_BODY = 1024 * 1024;

/** A message is one value of a store. */
const MAX_MESSAGE = 48 * 1024;

/** Results may hold pictures. */
const MAX_ANSWER = 8 * 1024 * 1024;

/** What a step is compared with. */
const EARLIER = "an earlier step, or n-1";

const stepQuery = z.object({
  step: z.string().regex(/^[1-9]\d{0,8}$/, "wanted the number of a step, from 1").transform(Number),
  session: sessionId.exactOptional(),
  diff: z.string().regex(/^(n-\d{1,9}|[1-9]\d{0,8})$/, `wanted ${EARLIER}`).exactOptional(),
});

/** Routes that start turns, follow and cancel them. */
export function turnRoutes(options: AppOptions, host: TurnHost): Hono<AppEnv> {
  const { clock = systemClock, log } = options;
  const app = new Hono<AppEnv>();
  const queue = new TurnQueue((request) => host.start(request));

  /** The events of a turn as a stream. */
  function stream(following: Following, headers: Readonly<Record<string, string>> = {}): Response {
    return sseResponse(following, { encode: encodeNative, clock, onEnd: host.enter(), headers });
  }

  function notFound(id: string): SelvageError {
    return new SelvageError(
      "turn_not_found",
      `Cannot find the turn ${JSON.stringify(id.slice(0, 128))}: it was never here, or it ended too long ago`,
    );
  }

  /** What a turn does from here on, as a stream or as one document. */
  async function respond(c: Context<AppEnv>, started: StartedTurn, isStream: boolean): Promise<Response> {
    const headers = replayHeaders(started.isReplay);
    if (isStream) return stream(started, headers);
    const { turn, session } = started;
    const document = await whileThere(c.req.raw.signal, started, () => foldTurn(started.events, started));
    if (document.reason === "suspended") {
      const detail = "The turn has left this process, and goes on where its events are asked for";
      return refuseWith(c, { code: "turn_suspended", detail, fields: { turn, session }, headers });
    }
    if (document.error === undefined) return c.json(document, 200, headers);
    const { code, message } = document.error;
    return refuseWith(c, { code, detail: message, fields: { turn, session }, headers });
  }

  app.post("/", limitBody(MAX_BODY), async (c) => {
    const request = c.req.raw;
    const text = await readText(request);
    const { agent = "default", onDisconnect = "abort", stream: isStream = true, ...asked } = parseBody(
      text,
      turnBody,
    );
    const wanted = {
      ...asked,
      owner: c.get("principal"),
      agentName: agent,
      onDisconnect,
      ...await idempotencyOf(request, text),
    };
    // One that may have to wait for long is answered at once: proxies do not wait for a first byte.
    if (isStream && asked.whenBusy === "enqueue") {
      return stream(queue.follow(wanted, (error) => {
        const { code } = problemOf(error, (fault) => reportFault(c, { fault, log }));
        const cause = causeOf(error);
        const facts = { request: c.get("requestId"), code, ...(cause === undefined ? {} : { cause }) };
        log?.({ level: cause === undefined ? "info" : "warn", event: "turn.refused", ...facts });
      }));
    }
    const starts = asked.whenBusy === "enqueue" ? queue : host;
    return await respond(c, await starts.start({ ...wanted, clientSignal: request.signal }), isStream);
  });

  app.post("/:id/results", limitBody(MAX_ANSWER), async (c) => {
    const request = c.req.raw;
    const turn = c.req.param("id");
    const text = await readText(request);
    const { stream: isStream = true, ...answers } = parseBody(text, answerBody);
    const started = await host.answer({
      ...answers,
      owner: c.get("principal"),
      turn,
      clientSignal: request.signal,
      ...await idempotencyOf(request, text),
    });
    if (started === null) throw notFound(turn);
    return await respond(c, started, isStream);
  });

  app.post("/:id/messages", limitBody(MAX_MESSAGE), async (c) => {
    const request = c.req.raw;
    const turn = c.req.param("id");
    const text = await readText(request);
    const { input } = parseBody(text, messageBody);
    const keyed = await idempotencyOf(request, text);
    const { signal: clientSignal } = request;
    const message = await host.send({ owner: c.get("principal"), turn, input, clientSignal, ...keyed });
    if (message === null) throw notFound(turn);
    return c.json({ turn, message }, 202);
  });

  app.get("/:id/events", async (c) => {
    host.requireUp("follow the turn");
    const owner = c.get("principal");
    const turn = c.req.param("id");
    const header = c.req.header("last-event-id");
    const last = header ?? c.req.query("after") ?? "";
    const [, of, number] = last.match(/^(?:(.*):)?(\d{1,30})$/s) ?? [];
    if (last !== "" && number === undefined) {
      const field = header === undefined ? "after" : "Last-Event-ID";
      const found = JSON.stringify(last.slice(0, 40));
      throw new SelvageError(
        "bad_request",
        `Cannot follow the turn: ${field}: found ${found}, wanted the id of an event, such as ${
          turn.slice(0, 64)
        }:7`,
        { fields: { field } },
      );
    }
    // The id of another turn's event says nothing about this one: everything is sent.
    const seen = of === undefined || of === turn ? number : undefined;
    const found = await host.follow({ owner, turn, from: seen === undefined ? 0 : Number(seen) + 1 });
    if (found !== null) return stream(found);
    if (seen === undefined || !await host.isKnown({ owner, turn })) throw notFound(turn);
    // An event source comes again after every end; 204 tells it that there is no more.
    return c.body(null, 204);
  });

  app.get("/:id/steps/:step/request", async (c) => {
    const turn = c.req.param("id");
    const { step, diff, ...known } = parseUrl(c, stepQuery);
    const { key, agent } = await host.agentOf({ owner: c.get("principal"), turn, ...known });
    const { signal: clientSignal } = c.req.raw;
    const inspect = (step: number): Promise<InspectedRequest> =>
      host.work({ action: "show the request", clientSignal }, async (signal) => {
        return await inspectRequest(options.store, { key, turn, step, agent, signal, clock });
      });
    const shown = await inspect(step);
    const answer = { session: key.session, ...shown };
    if (diff === undefined) return c.json(answer);
    const from = diff.startsWith("n-") ? step - Number(diff.slice(2)) : Number(diff);
    if (!(from >= 1 && from < step)) {
      throw badBody("diff", { found: JSON.stringify(diff), wanted: EARLIER, of: "URL" });
    }
    const { request: _, refs: __, ...facts } = answer;
    const earlier = await inspect(from);
    return c.json({ ...facts, diff: diffRequests(earlier, shown) });
  });

  app.post("/cancel", async (c) => {
    const key = keyOf(c.req.raw);
    if (key !== null) return c.json(await host.cancelKeyed({ owner: c.get("principal"), key }));
    throw new SelvageError(
      "bad_request",
      "Cannot cancel the turn: found no Idempotency-Key, wanted that of the request that is to start it",
      { fields: { field: "idempotency-key" } },
    );
  });

  app.post("/:id/cancel", async (c) => {
    const turn = c.req.param("id");
    const cancelled = await host.cancel({ owner: c.get("principal"), turn });
    if (cancelled === null) throw notFound(turn);
    return c.json({ turn, cancelled });
  });

  return app;
}
