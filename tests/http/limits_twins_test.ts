/** The same request, sent more than once, among the turns of a minute. */
import { deepEqual, equal } from "node:assert/strict";
import type { Store } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { makeApp, statuses, turn } from "../support/limits_app.ts";

Deno.test("a request sent to two processes at once is charged once, at every moment", async () => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const left: number[] = [];
  const both = Promise.withResolvers<void>();
  const watched = new Proxy(store, {
    get(target, name) {
      // Neither begins before both have asked for what a minute has.
      if (name === "acquire") {
        const acquire: Store["acquire"] = (...asked) => both.promise.then(() => target.acquire(...asked));
        return acquire;
      }
      if (name !== "claim") return Reflect.get(target, name).bind(target);
      const claim: Store["claim"] = async (owner, of, value) => {
        const found = await target.claim(owner, of, value);
        if (of === "limit/minute" && value !== undefined) left.push((found as { left: number }).left);
        if (left.length === 2) both.resolve();
        return found;
      };
      return claim;
    },
  });
  const apps = [1, 2].map(() => makeApp(clock, { store: watched, limits: { turnsPerMinute: 3 } }));
  const sent = Promise.all(apps.map((app) => turn(app, "local", { "idempotency-key": "k" })));
  let isOver = false;
  void sent.finally(() => isOver = true);
  // One of them follows the turn of the other, and looks again now and then.
  while (!isOver) await clock.advance(50);
  const bodies = await Promise.all((await sent).map((response) => response.json()));
  deepEqual(bodies.map(({ text }) => text), ["Hi.", "Hi."]);
  equal(bodies[0].turn, bodies[1].turn);
  deepEqual(new Set(left.map(Math.floor)), new Set([2]), `${left}`);
});

Deno.test("a request whose process died at its start is charged once", async () => {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const limits = { turnsPerMinute: 1 };
  const dying = new Proxy(store, {
    get: (target, name) =>
      name === "acquire" ? () => new Promise(() => {}) : Reflect.get(target, name).bind(target),
  });
  const died = turn(makeApp(clock, { store: dying, limits }), "local", { "idempotency-key": "k" });
  while (await store.claim({ tenant: "local" }, "limit/minute") === undefined) await clock.advance(1);
  const app = makeApp(clock, { store, limits });
  deepEqual(await statuses([turn(app, "local", { "idempotency-key": "other" })]), [429]);
  deepEqual(await statuses([turn(app, "local", { "idempotency-key": "k" })]), [200]);
  equal(await Promise.race([died, "dead"]), "dead");
});
