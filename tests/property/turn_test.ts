/**
 * Properties of whole sessions under random agents: whatever they do, wherever they are cancelled, left or killed,
 * each request is one that a provider takes, no pair is lost, and the log only grows. fast-check prints seed and
 * path of a failure.
 *
 * @module
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { TurnEvent } from "../../src/loop/events.ts";
import type { Script, ScriptedReply } from "../../src/models/scripted.ts";
import type { Entry, Store, Tool } from "../../src/ports.ts";
import { assertAccounted, overflow, requestProblems } from "../support/requests.ts";
import { runs } from "../support/runs.ts";
import { assertLog, Bench, endOf, eventsOf, prose, tool, withCommit } from "../support/turns.ts";

/** One call: which tool, and how much it gives. */
interface PlannedCall {
  readonly name: string;
  readonly size: number;
}

/** How a turn is brought to its end. */
interface Ending {
  readonly kind: "whole" | "cancelled" | "left" | "killed";
  /** The event at which it is cancelled or left; the commit after which it is killed. */
  readonly at: number;
}

interface PlannedTurn {
  readonly input: string;
  readonly pin: boolean;
  readonly steps: readonly (readonly PlannedCall[])[];
  readonly ending: Ending;
}

const size = fc.oneof(
  { weight: 5, arbitrary: fc.nat(800) },
  { weight: 4, arbitrary: fc.integer({ min: 800, max: 6_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 6_000, max: 90_000 }) },
);
const call = fc.record({
  name: fc.constantFrom("read", "read", "read", "json", "fail", "later", "nobody", "odd name!", "unsayable"),
  size,
});
const step = fc.oneof(
  { weight: 3, arbitrary: fc.array(call, { minLength: 1, maxLength: 1 }) },
  { weight: 2, arbitrary: fc.array(call, { minLength: 2, maxLength: 9 }) },
);
const ending = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Ending>({ kind: "whole", at: 0 }) },
  {
    weight: 4,
    arbitrary: fc.record<Ending>({
      kind: fc.constantFrom("cancelled", "left", "killed"),
      at: fc.oneof(fc.nat(12), fc.nat(90)),
    }),
  },
);
const turn: fc.Arbitrary<PlannedTurn> = fc.record({
  input: fc.integer({ min: 1, max: 900 }).map((length) => `Task: ${prose(length, length)}`),
  pin: fc.nat(9).map((n) => n === 0),
  steps: fc.oneof(fc.array(step, { maxLength: 14 }), fc.array(step, { minLength: 8, maxLength: 25 })),
  ending,
});
const session = fc.record({
  window: fc.oneof(fc.integer({ min: 4_096, max: 10_000 }), fc.integer({ min: 4_096, max: 32_768 })),
  maxOutput: fc.constantFrom(200, 1_000, 4_000),
  policy: fc.constantFrom<"full" | "backward">("full", "full", "backward"),
  toolConcurrency: fc.constantFrom(1, 3, 8),
  retain: fc.constantFrom<NonNullable<Tool["retain"]>>("normal", "latest", "always"),
  turns: fc.array(turn, { minLength: 1, maxLength: 5 }),
});

/** Answers the steps of a plan one after the other, then a text. */
function scriptOf(plan: { steps: readonly (readonly PlannedCall[])[] }): Script {
  let at = 0;
  return (): ScriptedReply => {
    const calls = plan.steps[at++];
    if (calls === undefined) {
      return at % 3 === 0 ? { text: "" } : { text: `Done after ${at} steps. More follows.` };
    }
    return {
      ...(at % 4 === 0 ? { text: `Step ${at}.` } : {}),
      calls: calls.map(({ name, size }, index) => ({
        name,
        input: { path: `src/${at}_${index}.ts`, size, at },
      })),
    };
  };
}

const text = (input: Readonly<Record<string, unknown>>): string =>
  prose(Number(input["size"]), Number(input["at"]));

function toolsOf(clock: () => Bench["clock"], retain: NonNullable<Tool["retain"]>): readonly Tool[] {
  return [
    { ...tool("read", text), retain },
    { ...tool("json", (input) => ({ lines: text(input).split(", "), exitCode: 0 })), retain },
    tool("fail", (input) => {
      throw new Error(text(input).slice(0, 500));
    }),
    tool("later", async (input, { signal }) => {
      await clock().sleep(1 + Number(input["size"]) % 50, signal);
      return text(input);
    }),
    tool("unsayable", () => 5n),
  ];
}

/** A store that a process writes to only until it is killed. */
function mortal(store: Store, isDead: (turn: string) => boolean): Store {
  const never = (): Promise<never> => new Promise(() => {});
  return {
    ...withCommit(
      store,
      (key, lease, commit) => isDead(lease.turn) ? never() : store.commit(key, lease, commit),
    ),
    renew: (key, lease, ttlMs) => isDead(lease.turn) ? never() : store.renew(key, lease, ttlMs),
  };
}

/** Runs one planned turn. The clock goes on by itself for as long as it takes. */
async function play(bench: Bench, planned: PlannedTurn): Promise<readonly TurnEvent[]> {
  const stop = new AbortController();
  const { kind, at } = planned.ending;
  const events: TurnEvent[] = [];
  let isOver = false;
  const running = (async () => {
    try {
      for await (const event of bench.start(planned.input, { signal: stop.signal, pin: planned.pin })) {
        events.push(event);
        if (kind === "cancelled" && events.length > at) stop.abort(new Error("enough"));
        if (kind === "left" && events.length > at) break;
      }
    } finally {
      isOver = true;
    }
  })();
  // A killed turn is stuck at its next commit; a few seconds are enough for any other.
  for (let n = 0; n < 60 && !isOver; n++) await bench.clock.advance(100);
  if (isOver) await running;
  else assert.equal(kind, "killed", `still running after ${events.length} events`);
  return events;
}

Deno.test("a session keeps every promise under a random agent, however its turns end", async () => {
  let sessions = 0;
  let compactions = 0;
  const property = async (
    { window, maxOutput, policy, toolConcurrency, retain, turns }: SessionPlan,
  ): Promise<void> => {
    sessions++;
    const plan = { steps: [] as readonly (readonly PlannedCall[])[] };
    let script = scriptOf(plan);
    let dead: { readonly turn: string; readonly after: number } | null = null;
    const bench: Bench = new Bench({
      window,
      maxOutput,
      script: (request) => script(request),
      tools: toolsOf(() => bench.clock, retain),
      agent: { compaction: { policy }, toolConcurrency, maxSteps: 30 },
      wrap: (store) => mortal(store, (turn) => dead?.turn === turn && bench.commits.length >= dead.after),
    });
    let log: readonly Entry[] = [];
    for (const [index, planned] of turns.entries()) {
      script = scriptOf({ steps: planned.steps });
      const before = bench.requests.length;
      const isKilled = planned.ending.kind === "killed";
      dead = isKilled ? { turn: `t${index}`, after: bench.commits.length + planned.ending.at % 20 } : null;
      let events: readonly TurnEvent[] = [];
      try {
        events = await play(bench, planned);
      } catch (error) {
        // Pins of earlier turns may leave no room for an input; nothing else keeps a turn from starting.
        assert.equal((error as { code?: string }).code, "input_too_large");
      }
      const { head, entries, view } = await bench.state();
      assert.deepEqual(entries.slice(0, log.length), log, "the log is append-only");
      log = entries;
      if (!isKilled) {
        assert.equal(head.lease, undefined);
        assertLog(entries);
      }
      if (planned.ending.kind === "whole" && events.length > 0) {
        const errors = eventsOf(events, "error").map(({ code }) => code);
        assert.deepEqual(errors.filter((code) => code !== "context_exhausted"), []);
        assert.equal(endOf(events), errors.length > 0 ? "error" : "stop");
      }
      const rejected = eventsOf(events, "compaction").filter(({ phase }) => phase === "rejected");
      assert.deepEqual(rejected, [], "a plan keeps what it promises");
      compactions += eventsOf(events, "compaction").filter(({ phase }) => phase === "applied").length;
      for (const request of bench.requests.slice(before)) {
        assert.deepEqual(requestProblems(request), []);
        assert.equal(overflow(request, window), 0, "the request does not fit");
        assert.ok(
          request.messages.some(({ role, content }) => role === "user" && content === planned.input),
          "the task is not verbatim",
        );
        // What a killed process did not store, nobody can account for.
        if (!isKilled) assertAccounted(request, entries);
      }
      if (view !== null) assert.ok((view as { cut: number }).cut <= entries.length);
      // A lease of a dead process runs out.
      if (isKilled) await bench.clock.advance(10_001);
    }
    // Whatever was before, the session can be gone on with.
    dead = null;
    script = scriptOf({ steps: [[{ name: "read", size: 50 }]] });
    const events = await play(bench, {
      input: "Still there?",
      pin: false,
      steps: [],
      ending: { kind: "whole", at: 0 },
    });
    assert.equal(endOf(events), "stop");
    const { entries } = await bench.state();
    assertLog(entries);
    const last = bench.requests.at(-1);
    assert.ok(last);
    assert.deepEqual(requestProblems(last), []);
    assertAccounted(last, entries);
  };
  await fc.assert(fc.asyncProperty(session, property), runs(40, { isSlow: true }));
  assert.ok(
    compactions > sessions,
    `only ${compactions} compactions: the runs are too small to tell anything`,
  );
});

type SessionPlan = typeof session extends fc.Arbitrary<infer T> ? T : never;
