import assert from "node:assert/strict";
import {
  type CompactionSettings,
  computeBudget,
  keepBudget,
  lookbackWithin,
  MAX_RESULT_TOKENS,
  requireWithin,
} from "../../src/compaction/budget.ts";

Deno.test("computeBudget() gives the table for windows of 8k, 32k, 128k and 1M", async (t) => {
  const rows = [[8_000, 1_000], [32_000, 4_096], [128_000, 16_384], [1_000_000, 128_000]].map((
    [window = 0, maxOutput = 0],
  ) => computeBudget({ window, maxOutput }, { fixed: 1_200 }));
  await t.assertSnapshot(rows);
});

Deno.test.each([[4_096], [8_000], [32_000], [128_000], [1_000_000]])(
  "computeBudget() keeps its thresholds in order for a window of %i",
  (window) => {
    for (const fixed of [0, 500, window * 0.3]) {
      const budget = computeBudget({ window, maxOutput: window }, { fixed });
      const { usable, maxOutput, compactAt, stopAt, compactTo, reserve, minTail, maxInput, maxResult } =
        budget;
      assert.equal(maxOutput, Math.floor(window / 5), "an answer takes a fifth at most");
      assert.equal(usable + maxOutput + fixed, window);
      assert.ok(fixed + compactTo < compactAt && compactAt < stopAt && stopAt + maxOutput < window);
      assert.ok(reserve <= compactTo / 2 && reserve <= 4_000);
      // The largest input, the ledger and the least tail leave compaction room to work in.
      assert.ok(reserve + minTail + maxInput <= 0.8 * (compactAt - fixed) + 1);
      assert.ok(maxResult <= usable / 5 && maxResult <= MAX_RESULT_TOKENS);
    }
  },
);

Deno.test.each([[8_000], [32_000], [128_000], [1_000_000]])(
  "computeBudget() takes whatever a request may set that goes together, for a window of %i",
  (window) => {
    for (const compactAt of [0.3, 0.5, 0.9]) {
      for (const stopAt of [0.4, 0.92, 0.95]) {
        for (const compactTo of [0.1, 0.35, 0.6]) {
          if (compactTo > 0.9 * compactAt || compactAt >= stopAt) continue;
          const settings = { compactAt, stopAt, compactTo };
          requireWithin(settings);
          const budget = computeBudget({ window, maxOutput: window / 10 }, { fixed: 800, settings });
          const { usable, reserve, minTail, maxInput } = budget;
          assert.equal(budget.compactAt, 800 + Math.floor(usable * compactAt));
          assert.ok(reserve + minTail + maxInput <= 0.8 * compactAt * usable + 1);
          const pinned = keepBudget(budget, maxInput) ?? 0;
          // Whatever is pinned, a compaction that is due can save the tenth that makes it worth while.
          assert.ok(pinned * (1 + lookbackWithin(budget, pinned)) <= 0.9 * compactAt * usable + 1);
        }
      }
    }
  },
);

Deno.test.each(
  [
    [{ compactAt: 0.3 }],
    [{ compactTo: 0.7 }],
    [{ stopAt: 0.6 }],
    [{ stopAt: 1.01 }],
    [{ compactTo: 0 }],
    [{ compactTo: -0.1 }],
    [{ compactAt: NaN }],
    [{ compactAt: 0.65, compactTo: 0.65 }],
    [{ compactAt: 0.92 }],
    // No compaction could save a tenth of its tokens here, which is the least that is worth one.
    [{ compactTo: 0.62, compactAt: 0.65 }],
  ] as readonly [CompactionSettings][],
)("computeBudget() refuses shares that are out of order: %j", (settings) => {
  assert.throws(() => computeBudget({ window: 32_000, maxOutput: 4_000 }, { fixed: 0, settings }), {
    code: "bad_budget",
    message: /^Cannot set up compaction: found compactTo .*, wanted /,
  });
});

Deno.test.each(
  [
    [1_099, 100, 0],
    [8_000, 1_000, 6_001],
    [NaN, 1_000, 0],
    [8_000, NaN, 0],
    [8_000, 0, 0],
    [8_000, 1_000, NaN],
    [Infinity, 1_000, 0],
  ],
)(
  "computeBudget() refuses a window that leaves nothing: window %d, answer %d, fixed %d",
  (window, maxOutput, fixed) => {
    assert.throws(() => computeBudget({ window, maxOutput }, { fixed }), { code: "bad_budget" });
  },
);

Deno.test("computeBudget() refuses shares that leave no room for an input", () => {
  const settings = { compactTo: 0.05, compactAt: 0.1, stopAt: 0.2 };
  assert.throws(() => computeBudget({ window: 8_000, maxOutput: 800 }, { fixed: 0, settings }), {
    code: "bad_budget",
    message: /input/,
  });
});

Deno.test("keepBudget() grows with the pinned messages until they leave compaction no room", () => {
  const budget = computeBudget({ window: 32_000, maxOutput: 4_000 }, { fixed: 1_000 });
  const { compactTo, reserve, minTail, maxInput } = budget;
  assert.equal(keepBudget(budget, 0), compactTo);
  const least = compactTo - reserve - minTail;
  assert.equal(keepBudget(budget, least), compactTo);
  assert.equal(keepBudget(budget, least + 5), compactTo + 5);
  assert.equal(keepBudget(budget, maxInput), reserve + minTail + maxInput);
  assert.equal(keepBudget(budget, maxInput + 1), null);
});

Deno.test("keepBudget() with force goes on as long as the result stays under the ceiling", () => {
  const budget = computeBudget({ window: 32_000, maxOutput: 4_000 }, { fixed: 1_000 });
  const { reserve, minTail, maxInput, stopAt } = budget;
  assert.equal(keepBudget(budget, maxInput + 1, { force: true }), reserve + minTail + maxInput + 1);
  const most = stopAt - 1_000 - reserve - minTail;
  assert.equal(keepBudget(budget, most, { force: true }), stopAt - 1_000);
  assert.equal(keepBudget(budget, most + 1, { force: true }), null);
});

Deno.test("lookbackWithin() lets no cut keep so much that the compaction saves less than a tenth", () => {
  const budget = computeBudget({ window: 32_000, maxOutput: 4_000 }, { fixed: 1_000 });
  assert.equal(lookbackWithin(budget, budget.compactTo), 0.15);
  const most = (budget.compactAt - 1_000) * 0.9;
  for (const keep of [budget.compactTo, most / 1.15, most / 1.05, most - 1, most]) {
    const lookback = lookbackWithin(budget, keep);
    assert.ok(lookback >= 0 && lookback <= 0.15);
    assert.ok(keep * (1 + lookback) <= most + 1e-6, `keeps ${keep * (1 + lookback)}, wanted ${most}`);
  }
  assert.equal(lookbackWithin(budget, most * 2), 0);
});

Deno.test("shares and limits that are set to undefined are left out", () => {
  const model = { window: 32_000, maxOutput: 4_000 };
  const settings: object = { compactAt: undefined, stopAt: undefined, compactTo: undefined };
  assert.deepEqual(computeBudget(model, { fixed: 100, settings }), computeBudget(model, { fixed: 100 }));
  requireWithin({ ...settings, compactTo: 0.3 }, { own: settings, limits: settings });
});
