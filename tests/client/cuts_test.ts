/** Turns over a way that breaks: every event once and in order. `CLIENT_TURNS` says how many. */
import { equal, ok } from "node:assert/strict";
import { randomFrom } from "../support/random.ts";
import { clientOf, cutting, makeService, runTurn } from "./_cuts.ts";

const TURNS = Number(Deno.env.get("CLIENT_TURNS") ?? 60);

Deno.test(`client.turn() gives every event once and in order over a way that breaks, ${TURNS} turns`, async () => {
  const service = makeService();
  const random = randomFrom(11);
  const { fetch, seen } = cutting(service.fetch, random);
  const cut = clientOf(fetch, random);
  const straight = clientOf(service.fetch);
  for (let n = 0; n < TURNS; n += 4) {
    const batch = [n, n + 1, n + 2, n + 3].filter((n) => n < TURNS);
    await Promise.all(batch.map((n) => runTurn({ cut, straight, n })));
  }
  // The way has really been a bad one, and no tool has run twice for it.
  for (const [name, count] of Object.entries(seen)) ok(count > TURNS / 20, `${name}: ${count}`);
  ok(seen.cut > TURNS / 2, `${seen.cut} cuts in ${TURNS} turns`);
  const wanted = [...Array(TURNS).keys()].reduce((sum, n) => sum + (1 + n % 3) * (n % 4 + n % 2), 0);
  equal(service.looked(), wanted);
});
