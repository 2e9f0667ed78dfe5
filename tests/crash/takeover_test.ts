/** What rounds of killed processes have found, each by itself and without a process. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { TurnEvent } from "../../src/loop/events.ts";
import { resumeTurn, runTurn } from "../../src/loop/turn.ts";
import type { Commit, Entry, LeaseRequest, Store } from "../../src/ports.ts";
import { Bench, endOf, eventsOf, KEY, tool } from "../support/turns.ts";

const TURN = "t0";
const TTL_MS = 10_000;
const LEASE: LeaseRequest = { agent: "default", owner: "dead", turn: TURN, ttlMs: TTL_MS };

const PLACE = { turn: TURN, at: 0 };
const INPUT: Entry = { kind: "user", seq: 0, ...PLACE, message: { role: "user", content: "Go" } };
const ASKED: Entry = {
  kind: "assistant",
  seq: 1,
  ...PLACE,
  step: 1,
  message: {
    role: "assistant",
    content: ["c0", "c1"].map((id) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: "write",
      input: { id },
    })),
  },
  reason: "tool-calls",
  model: "made",
};
const ANSWERED: Entry = {
  kind: "result",
  seq: 2,
  ...PLACE,
  step: 1,
  call: "e1.0",
  toolName: "write",
  status: "ok",
  output: { type: "text", value: "written" },
  ms: 1,
};

/** A turn of which this much was stored when its process died, a while ago. */
async function left(...commits: readonly Commit[]): Promise<Bench> {
  const bench = new Bench({ tools: [tool("write", () => "written")] });
  const { lease } = await bench.store.acquire(KEY, LEASE);
  for (const commit of commits) await bench.store.commit(KEY, lease, commit);
  await bench.clock.advance(TTL_MS + 1);
  return bench;
}

function resume(bench: Bench, store: Store = bench.store): AsyncGenerator<TurnEvent, void> {
  const { agent, clock } = bench;
  return resumeTurn({ agent, session: KEY.session, turn: TURN }, { store, clock });
}

/** Whose result each event tells, and whether its call was told before. */
function toldCalls(events: readonly TurnEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === "tool.call"
      ? [`call ${event.ref}`]
      : event.type === "tool.result"
      ? [`${event.status} ${event.ref}`]
      : []
  );
}

const BOTH = ["call e1.0", "ok e1.0", "call e1.1", "aborted e1.1"];

Deno.test("resumeTurn() tells calls that nobody was told of, each before its result", async () => {
  const bench = await left({ entries: [INPUT, ASKED, ANSWERED] });
  const events = await Array.fromAsync(resume(bench));
  equal(endOf(events), "stop");
  deepEqual(toldCalls(events), BOTH);
});

Deno.test("a new turn that closes one that was left tells its readers every call and result", async () => {
  const bench = await left({ entries: [INPUT, ASKED, ANSWERED] });
  const { agent, clock, store } = bench;
  const next = runTurn({ agent, session: KEY.session, input: "Next" }, { store, clock });
  equal(endOf(await Array.fromAsync(next)), "stop");
  const events = (await store.events(KEY, TURN, 0))?.events as readonly TurnEvent[];
  equal(endOf(events), "aborted");
  deepEqual(toldCalls(events), BOTH);
});

Deno.test("a result that the cap shortens is not told whole by whoever closes its turn", async () => {
  const long = { ...ANSWERED, output: { type: "text", value: "word ".repeat(5_000) }, cap: 300 } as const;
  const bench = await left({ entries: [INPUT, ASKED, long] });
  const { agent, clock, store } = bench;
  await Array.fromAsync(runTurn({ agent, session: KEY.session, input: "Next" }, { store, clock }));
  const events = (await store.events(KEY, TURN, 0))?.events as readonly TurnEvent[];
  const [told] = eventsOf(events, "tool.result");
  ok(told?.shortened && String(told.output).length < 2_000);
});

Deno.test("processes that die before they store anything leave their event numbers unused", async () => {
  const bench = await left({ entries: [INPUT] });
  const numbers: number[] = [];
  // It tells clients of the turn, and stores nothing of it.
  const deaf: Store = {
    ...bench.store,
    acquire: (key, request) => bench.store.acquire(key, request),
    events: (key, turn, from) => bench.store.events(key, turn, from),
    commit: () => new Promise(() => {}),
    renew: () => new Promise(() => {}),
    claim: () => new Promise(() => {}),
  };
  for (const store of [deaf, deaf, bench.store]) {
    const first = await resume(bench, store).next();
    ok(first.done !== true);
    numbers.push(Number(first.value.id.split(":")[1]));
    await bench.clock.advance(TTL_MS + 1);
  }
  deepEqual(numbers, numbers.toSorted((a, b) => a - b));
  equal(new Set(numbers).size, 3, `${numbers}`);
});
