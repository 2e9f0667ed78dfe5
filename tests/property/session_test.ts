/**
 * A session against a model of it: users, models, tools, cancels, deaths and takeovers in any order, and after each of
 * them everything that is promised. fast-check prints seed and path of a failure.
 *
 * @module
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { loadCounter } from "../../src/tokens/counter.ts";
import { runs } from "../support/runs.ts";
import { prose } from "../support/turns.ts";
import { World, type WorldOptions } from "./_world.ts";

/** What a session is doing, as far as it decides on what can happen next. */
interface Sketch {
  state: World["state"];
  isAsked: boolean;
  pending: number;
}

type Step = fc.AsyncCommand<Sketch, World>;

/** Makes a step: when it can happen, and what happens. */
function step(
  name: string,
  { can, run }: { readonly can: (sketch: Sketch) => boolean; readonly run: (world: World) => Promise<void> },
): Step {
  return {
    check: can,
    async run(sketch, world) {
      await run(world);
      await world.check();
      sketch.state = world.state;
      sketch.isAsked = world.isAsked;
      sketch.pending = world.pending;
    },
    toString: () => name,
  };
}

let seed = 0;

const say = fc.tuple(fc.integer({ min: 1, max: 700 }), fc.nat(7)).map(([length, pin]): Step => {
  const text = `Task ${seed++}: ${prose(length, length)}`;
  return step(`say ${length}${pin === 0 ? " pinned" : ""}`, {
    can: ({ state }) => state !== "running",
    run: (world) => world.say(text, pin === 0),
  });
});
const answer = fc.integer({ min: 0, max: 9 }).map((calls): Step =>
  step(`answer ${calls}`, { can: ({ isAsked }) => isAsked, run: (world) => world.answer(calls) })
);
const size = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 3_000, max: 60_000 }) },
);
const land = fc.tuple(fc.nat(15), size, fc.nat(9)).map(([which, length, fails]): Step =>
  step(`land ${which} ${fails === 0 ? "failed" : length}`, {
    can: ({ pending }) => pending > 0,
    run: (world) => world.land(which, fails === 0 ? new Error("It failed") : prose(length, length + which)),
  })
);
/** A whole step of the loop in one: calls, and all their results in some order. */
const round = fc.tuple(fc.array(size, { minLength: 1, maxLength: 5 }), fc.nat(15)).map((
  [sizes, which],
): Step =>
  step(`round of ${sizes}`, {
    can: ({ isAsked }) => isAsked,
    async run(world) {
      await world.answer(sizes.length);
      for (const length of sizes) {
        if (world.pending > 0) await world.land(which, prose(length, length + which));
      }
    },
  })
);
const plain = (
  name: string,
  can: (sketch: Sketch) => boolean,
  run: (world: World) => Promise<void>,
): fc.Arbitrary<Step> => fc.constant(step(name, { can, run }));
const wait = fc.constantFrom(1, 300, 1_000, 4_000).map((ms): Step =>
  step(`wait ${ms}`, { can: () => true, run: (world) => world.wait(ms) })
);
const isRunning = ({ state }: Sketch): boolean => state === "running";

const steps = fc.commands<Sketch, World, false>([
  say,
  say,
  round,
  round,
  round,
  round,
  round,
  round,
  answer,
  land,
  land,
  wait,
  plain("take over", ({ state }) => state === "left", (world) => world.takeOver()),
  plain("cancel", isRunning, (world) => world.cancel()),
  plain("leave", isRunning, (world) => world.leave()),
  plain("crash", isRunning, (world) => world.crash()),
], { maxCommands: 120, size: "max" });
const options: fc.Arbitrary<WorldOptions> = fc.record({
  window: fc.integer({ min: 6_000, max: 12_000 }),
  policy: fc.constantFrom<"full" | "backward">("full", "full", "backward"),
  summaryMs: fc.constantFrom(null, 0, 500, 60_000),
});

Deno.test("a session keeps every promise, whoever answers, lands, cancels, dies or takes over, in any order", async () => {
  await loadCounter("o200k_base");
  let sessions = 0;
  let compactions = 0;
  let recalled = 0;
  await fc.assert(
    fc.asyncProperty(options, steps, async (options, steps) => {
      sessions++;
      const world = new World(options);
      const sketch: Sketch = { state: "idle", isAsked: false, pending: 0 };
      await fc.asyncModelRun(() => ({ model: sketch, real: world }), steps);
      await world.end();
      compactions += world.compactions;
      recalled += world.recalled;
    }),
    runs(12, { isSlow: true }),
  );
  assert.ok(compactions > sessions, `only ${compactions} compactions: the runs are too small`);
  assert.ok(recalled > compactions, `only ${recalled} pairs were looked for`);
});
