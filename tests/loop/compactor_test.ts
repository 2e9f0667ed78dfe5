import assert from "node:assert/strict";
import { computeBudget } from "../../src/compaction/budget.ts";
import type { Context } from "../../src/compaction/context.ts";
import { Compactor, type CompactorOptions } from "../../src/loop/compactor.ts";
import type { Journal } from "../../src/loop/journal.ts";
import type { Commit, Entry } from "../../src/ports.ts";
import { ContextMeter } from "../../src/tokens/meter.ts";
import { ManualClock } from "../support/clock.ts";
import { assistant, callPart, contextOf, result, session, user } from "../support/entries.ts";
import { prose } from "../support/turns.ts";

const budget = computeBudget({ window: 8_000, maxOutput: 1_500 }, { fixed: 0 });

/** A task, and a round of which one call waits for its result: over the threshold, and no cut is legal. */
function openLog(): Entry[] {
  const calls = assistant(1, [1, 2].map((n) => callPart("read", { n })));
  return [user(0, "The task."), calls, result(2, "e1.0", prose(21_000))];
}

interface Rig {
  readonly context: Context;
  readonly compactor: Compactor;
  readonly changes: Omit<Commit, "entries">[];
  /** What it has told while some work was done, readings left out, and what that gave. */
  readonly told: <T>(work: Promise<T>) => Promise<[string[], T]>;
}

async function rig(entries: readonly Entry[], rest: Partial<CompactorOptions> = {}): Promise<Rig> {
  const context = await contextOf(entries);
  const changes: Omit<Commit, "entries">[] = [];
  const lines: string[] = [];
  const compactor = new Compactor({
    context,
    budget,
    meter: new ContextMeter({ factor: 1, fixed: 0 }),
    policy: "full",
    tools: [],
    journal: { change: (change: Omit<Commit, "entries">) => void changes.push(change) } as Journal,
    clock: new ManualClock(1_000),
    flag: null,
    pinned: () => [0],
    summarizer: null,
    tell(event) {
      if (event.type === "compaction") {
        lines.push([event.phase, event.reason, event.resolved ?? ""].join(" ").trim());
      }
      return Promise.resolve();
    },
    ...rest,
  });
  const told: Rig["told"] = async (work) => {
    const given = await work;
    return [lines.splice(0), given];
  };
  return { context, compactor, changes, told };
}

Deno.test("Compactor.check() reads the meter, and does no more under the threshold", async () => {
  const { compactor, changes, told } = await rig(session([{}]));
  const [lines] = await told(compactor.check());
  assert.deepEqual([lines, changes], [[], []]);
});

Deno.test("Compactor does not try again what changed nothing before something is appended", async () => {
  const { compactor, context, changes, told } = await rig(openLog());
  assert.deepEqual(await told(compactor.check()), [["deferred open_call"], undefined]);
  assert.deepEqual(changes, [{ flag: { reason: "open_call", since: 1_000 } }]);
  assert.deepEqual(await told(compactor.check()), [[], undefined]);
  assert.deepEqual(await told(compactor.honour()), [[], undefined]);
  assert.equal(changes.length, 1);
  // Without bounds it is another attempt; a second of these is not.
  const [forced] = await told(compactor.refused());
  assert.deepEqual(forced, ["deferred open_call"]);
  await context.append(result(3, "e1.1", "short"));
  assert.deepEqual(await told(compactor.check()), [["applied over_compact_at step"], undefined]);
  assert.equal(compactor.isDeferred, false);
  assert.partialDeepStrictEqual(changes.at(-1), { view: { version: 1, value: context.view } });
  assert.deepEqual(changes.at(-2), { flag: null });
});

Deno.test("Compactor keeps the time since which a compaction is due", async () => {
  const flag = { reason: "atom_too_wide", since: 5 };
  const { compactor, changes, told } = await rig(openLog(), { flag });
  assert.equal(compactor.isDeferred, true);
  await told(compactor.honour());
  assert.deepEqual(changes, [{ flag: { reason: "open_call", since: 5 } }]);
});

Deno.test("Compactor clears a flag for which there is nothing left to do", async () => {
  const { compactor, changes, told } = await rig(session([{}]), { flag: { reason: "open_call", since: 5 } });
  assert.deepEqual(await told(compactor.honour()), [["nothing within_budget turn"], undefined]);
  assert.deepEqual(changes, [{ flag: null }]);
});

Deno.test("Compactor with policy backward waits for the turn boundary once it has deferred", async () => {
  const { compactor, context, told } = await rig(openLog(), { policy: "backward" });
  assert.deepEqual((await told(compactor.check()))[0], ["deferred open_call"]);
  await context.append(result(3, "e1.1", prose(2_000)));
  await context.append(assistant(4, "Read."));
  assert.deepEqual((await told(compactor.check()))[0], []);
  assert.deepEqual((await told(compactor.honour()))[0], ["applied flag turn"]);
});

Deno.test("Compactor with policy backward honours at a boundary what it deferred at the same length", async () => {
  const { compactor, told } = await rig([...openLog(), result(3, "e1.1", "x"), assistant(4, "Read.")], {
    policy: "backward",
  });
  assert.deepEqual((await told(compactor.check()))[0], ["deferred atom_too_wide"]);
  assert.deepEqual((await told(compactor.honour()))[0], ["applied flag turn"]);
});

Deno.test("Compactor.admit() lets the model be called up to the ceiling, and by force makes room above it", async () => {
  const under = await rig(session([{ length: 17_000 }]));
  assert.deepEqual(await under.told(under.compactor.admit()), [[], true]);
  const over = await rig(session(Array.from({ length: 24 }, () => ({ length: 1_200 }))));
  assert.deepEqual(await over.told(over.compactor.admit()), [["applied over_stop_at"], true]);
  const stuck = await rig([user(0, "The task."), assistant(1, prose(30_000))]);
  const [lines, isAdmitted] = await stuck.told(stuck.compactor.admit());
  assert.equal(isAdmitted, false);
  assert.equal(lines.at(-1), "exhausted over_stop_at");
});

Deno.test("Compactor.refused() makes room although the meter says that there is enough", async () => {
  const { compactor, context, told } = await rig(
    session(Array.from({ length: 6 }, () => ({ length: 1_200 }))),
  );
  const before = await context.exact(0, context.length);
  assert.ok(before < budget.compactTo * 1.15, "the meter would not compact");
  assert.deepEqual(await told(compactor.refused()), [["applied context_length_exceeded"], true]);
  assert.ok(await context.exact(0, context.length) < before * 0.7);
});
