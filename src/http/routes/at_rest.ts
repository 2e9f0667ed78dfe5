/**
 * `/v1/sessions/:id/compact` and `/pins`: what is done to a session between its turns.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import * as z from "zod";
import type { RestPlace } from "../../loop/at_rest.ts";
import { systemClock } from "../../loop/clock.ts";
import { compactNow } from "../../loop/compact_now.ts";
import { listPins, setPin } from "../../loop/pins.ts";
import { readyAgent } from "../../loop/ready.ts";
import { limitBody, parseBody, readText } from "../body.ts";
import type { AppEnv } from "../env.ts";
import type { TurnHost } from "../host.ts";
import { claimKey, idempotencyOf, KEY_KNOWN_MS, replayHeaders } from "../idempotency.ts";
import type { AppOptions } from "../options.ts";
import { limitsOf, withLimits } from "../limits.ts";
import { sessionKeyOf, sessionNotFound } from "../session_key.ts";

const MAX_BODY = 64 * 1024;

export const compactBody = z.strictObject({
  focus: z.string().trim().min(1).max(2_000).exactOptional(),
  compactTo: z.number().exactOptional(),
  dryRun: z.boolean().exactOptional(),
});

export const pinBody = z.strictObject({ ref: z.string().max(100), pinned: z.boolean() });

/** Routes that compact a session, and pin what is to stay verbatim. */
export function restRoutes(
  { store, limits, clock = systemClock }: AppOptions,
  host: TurnHost,
): Hono<AppEnv> {
  const app = new Hono<AppEnv>();

  async function placeOf(c: Context<AppEnv>, signal: AbortSignal): Promise<RestPlace> {
    const key = sessionKeyOf(c);
    const head = (await store.read(key))?.head;
    if (head === undefined) throw sessionNotFound(key.session);
    const named = withLimits(host.agentNamed(head.agent, "work on"), limitsOf(limits, c.get("principal")));
    const agent = await readyAgent(named, { key, signal, clock });
    return { key, agent, store, clock };
  }

  app.post("/:id/compact", limitBody(MAX_BODY), async (c) => {
    const request = c.req.raw;
    const action = "compact the session";
    const text = await readText(request);
    const asked = parseBody(text.trim() === "" ? "{}" : text, compactBody);
    return await host.work({ action, clientSignal: request.signal }, async (signal) => {
      const place = await placeOf(c, signal);
      const { session } = place.key;
      if (asked.dryRun === true) return c.json({ session, ...await compactNow(place, asked) });
      host.requireUp(action);
      const owner = c.get("principal");
      const { idempotency } = await idempotencyOf(request, text);
      // What an earlier request came to is kept under its key; one that died is done again: a second one finds nothing.
      const done = idempotency === undefined ? null : `compacted/${idempotency.key}`;
      if (idempotency !== undefined && done !== null) {
        await claimKey(store, { owner, idempotency, value: { turn: done, session } });
        const earlier = await store.claim(owner, done);
        if (earlier !== undefined) {
          return c.json(earlier as Record<string, unknown>, 200, replayHeaders(true));
        }
      }
      // A compaction that asks a model counts as a turn of its caller does.
      const enter = (turn: string): Promise<() => Promise<void>> => host.count(owner, { turn, session });
      const answer = { session, ...await compactNow(place, { ...asked, enter, signal }) };
      if (done !== null) await store.claim(owner, done, { value: answer, ttlMs: KEY_KNOWN_MS });
      return c.json(answer);
    });
  });

  app.get("/:id/pins", async (c) => {
    const { signal: clientSignal } = c.req.raw;
    return await host.work({ action: "list the pins", clientSignal }, async (signal) => {
      const place = await placeOf(c, signal);
      return c.json({ session: place.key.session, ...await listPins(place) });
    });
  });

  app.post("/:id/pins", limitBody(MAX_BODY), async (c) => {
    const { signal: clientSignal } = c.req.raw;
    const action = "change the pins";
    const asked = parseBody(await readText(c.req.raw), pinBody);
    return await host.work({ action, clientSignal }, async (signal) => {
      const place = await placeOf(c, signal);
      host.requireUp(action);
      return c.json({ session: place.key.session, ...await setPin(place, asked) });
    });
  });

  return app;
}
