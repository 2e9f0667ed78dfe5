import assert from "node:assert/strict";
import fc from "fast-check";
import { ContextMeter, type MeterItems } from "../../src/tokens/meter.ts";
import { runs } from "../support/runs.ts";

/** Items of the given exact tokens, with a bound of four times as many; tells what was counted. */
function itemsOf(...tokens: number[]): MeterItems & { counted: number[]; readonly list: number[] } {
  return {
    list: tokens,
    counted: [],
    get length() {
      return this.list.length;
    },
    boundFrom(index) {
      return this.list.slice(index).reduce((sum, n) => sum + 4 * n, 0);
    },
    exact(from, to) {
      this.counted.push(from, to);
      return Promise.resolve(this.list.slice(from, to).reduce((sum, n) => sum + n, 0));
    },
  };
}

Deno.test("ContextMeter estimates from its settings until there is a bill", async () => {
  const meter = new ContextMeter({ factor: 1.5, fixed: 1_000 });
  assert.deepEqual(meter.state, { anchor: null, factor: 1.5 });
  assert.equal(await meter.estimate(itemsOf(100, 300)), 1_600);
  assert.equal(await meter.estimate(itemsOf()), 1_000);
});

Deno.test("ContextMeter.anchor() believes the bill and counts only what came since", async () => {
  const meter = new ContextMeter({ factor: 1, fixed: 1_000 });
  const items = itemsOf(100, 200, 300);
  meter.anchor({ inputTokens: 5_000, outputTokens: 50 }, 2);
  assert.equal(await meter.estimate(items), 5_350);
  assert.deepEqual(items.counted, [2, 3]);
});

Deno.test.each(
  [
    [undefined],
    [{ inputTokens: 0, outputTokens: 9 }],
    [{ inputTokens: -1, outputTokens: 9 }],
    [{ inputTokens: NaN, outputTokens: 9 }],
    [{ inputTokens: Infinity, outputTokens: 9 }],
    [{ inputTokens: 10, outputTokens: Infinity }],
  ],
)("ContextMeter.anchor() keeps the last bill where the new one is not to be believed: %j", (usage) => {
  const meter = new ContextMeter({ factor: 1, fixed: 0 });
  meter.anchor({ inputTokens: 700, outputTokens: 7 }, 3);
  meter.anchor(usage, 4);
  assert.deepEqual(meter.state.anchor, { tokens: 707, covered: 3 });
});

Deno.test.each([[NaN], [0], [-1], [Infinity]])("ContextMeter refuses a factor of %d", (factor) => {
  assert.throws(() => new ContextMeter({ factor, fixed: 0 }), RangeError);
});

Deno.test("ContextMeter does not go on from a state whose factor is none", () => {
  for (const factor of [NaN, 0, -1, null, undefined, "2"]) {
    const state = { anchor: { tokens: 900, covered: 2 }, factor: factor as number };
    assert.deepEqual(new ContextMeter({ factor: 1.5, fixed: 0, state }).state, { anchor: null, factor: 1.5 });
  }
});

Deno.test("ContextMeter.anchor() holds request and answer together against the window", () => {
  const meter = new ContextMeter({ factor: 1, fixed: 0, window: 1_000 });
  meter.anchor({ inputTokens: 700, outputTokens: 301 }, 3);
  assert.equal(meter.state.anchor, null);
  meter.anchor({ inputTokens: 700, outputTokens: 300 }, 3);
  assert.deepEqual(meter.state.anchor, { tokens: 1_000, covered: 3 });
});

Deno.test("ContextMeter.learn() brings back no bill that went while it counted", async () => {
  const meter = new ContextMeter({ factor: 1, fixed: 0 });
  meter.anchor({ inputTokens: 2_000, outputTokens: 0 }, 1);
  const items = itemsOf(1_000);
  const compacting: MeterItems = {
    length: 1,
    boundFrom: () => 0,
    exact(from, to) {
      meter.invalidate();
      return items.exact(from, to);
    },
  };
  await meter.learn(compacting);
  assert.deepEqual(meter.state, { anchor: null, factor: 2 });
});

Deno.test.each([[-5], [NaN], [undefined]])(
  "ContextMeter.anchor() takes a bill whose output is %d as one without",
  (outputTokens) => {
    const meter = new ContextMeter({ factor: 1, fixed: 0 });
    meter.anchor({ inputTokens: 700, outputTokens: outputTokens as number }, 3);
    assert.deepEqual(meter.state.anchor, { tokens: 700, covered: 3 });
  },
);

Deno.test("ContextMeter.invalidate() forgets a bill that a compaction has made stale", async () => {
  const meter = new ContextMeter({ factor: 2, fixed: 100 });
  meter.anchor({ inputTokens: 90_000, outputTokens: 0 }, 40);
  meter.invalidate();
  assert.deepEqual(meter.state, { anchor: null, factor: 2 });
  assert.equal(await meter.estimate(itemsOf(50)), 200);
});

Deno.test("ContextMeter goes on from the state of an earlier turn", async () => {
  const first = new ContextMeter({ factor: 1, fixed: 10 });
  first.anchor({ inputTokens: 500, outputTokens: 5 }, 2);
  const state = JSON.parse(JSON.stringify(first.state));
  const next = new ContextMeter({ factor: 9, fixed: 10, state });
  assert.deepEqual(next.state, first.state);
  assert.equal(await next.estimate(itemsOf(1, 2, 3)), 508);
});

Deno.test("ContextMeter.read() decides on the cheapest knowledge that will do", async () => {
  const meter = new ContextMeter({ factor: 1, fixed: 1_000 });
  const items = itemsOf(100, 100);
  assert.deepEqual(await meter.read(items, 1_800), { tokens: 1_800, tier: "bound" });
  assert.deepEqual(items.counted, []);
  assert.deepEqual(await meter.read(items, 1_799), { tokens: 1_200, tier: "exact" });
  assert.deepEqual(await meter.read(items, 1_100), { tokens: 1_200, tier: "exact" });
  meter.anchor({ inputTokens: 2_000, outputTokens: 0 }, 2);
  items.counted.length = 0;
  assert.deepEqual(await meter.read(items, 1_999), { tokens: 2_000, tier: "anchor" });
  assert.deepEqual(await meter.read(items, 2_000), { tokens: 2_000, tier: "bound" });
  assert.deepEqual(items.counted, []);
});

Deno.test("ContextMeter.read() is on the side of the threshold on which the estimate is", async () => {
  const bill = fc.option(fc.tuple(fc.integer({ min: 1, max: 9_000 }), fc.nat(6)), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(900), { maxLength: 6 }),
      bill,
      fc.double({ min: 0.5, max: 4, noNaN: true }),
      fc.nat(12_000),
      async (list, anchor, factor, threshold) => {
        const items = itemsOf(...list);
        const meter = new ContextMeter({ factor, fixed: 300 });
        if (anchor !== undefined) {
          meter.anchor({ inputTokens: anchor[0], outputTokens: 0 }, Math.min(anchor[1], list.length));
        }
        const { tokens } = await meter.read(items, threshold);
        assert.equal(tokens > threshold, await meter.estimate(items) > threshold);
      },
    ),
    runs(200),
  );
});

Deno.test("ContextMeter.learn() raises its factor at once and lowers it slowly", async () => {
  const items = itemsOf(1_000, 1_000);
  const meter = new ContextMeter({ factor: 1, fixed: 500 });
  meter.anchor({ inputTokens: 3_500, outputTokens: 0 }, 2);
  await meter.learn(items);
  assert.equal(meter.factor, 1.5);
  meter.anchor({ inputTokens: 2_500, outputTokens: 0 }, 2);
  await meter.learn(items);
  assert.equal(meter.factor, 1.25);
});

Deno.test("ContextMeter.learn() learns from each bill once, however often it is asked", async () => {
  const items = itemsOf(1_000, 1_000);
  const meter = new ContextMeter({ factor: 2, fixed: 0 });
  meter.anchor({ inputTokens: 2_000, outputTokens: 0 }, 2);
  for (let n = 0; n < 5; n++) await meter.learn(items);
  assert.equal(meter.factor, 1.5);
});

Deno.test.each([[1_000_000, 4], [501, 0.75], [1, 0.75]])(
  "ContextMeter.learn() keeps its factor plausible for a bill of %i",
  async (inputTokens, factor) => {
    const meter = new ContextMeter({ factor: 1, fixed: 500 });
    meter.anchor({ inputTokens, outputTokens: 0 }, 1);
    await meter.learn(itemsOf(1_000));
    assert.equal(meter.factor, factor);
  },
);

Deno.test("ContextMeter.learn() learns nothing from little text, from no bill, or from what is not shown", async () => {
  const meter = new ContextMeter({ factor: 1, fixed: 0 });
  await meter.learn(itemsOf(5_000));
  assert.equal(meter.factor, 1);
  meter.anchor({ inputTokens: 4_000, outputTokens: 0 }, 2);
  await meter.learn(itemsOf(200, 299, 9_000));
  assert.equal(meter.factor, 1);
  await meter.learn(itemsOf());
  assert.equal(meter.factor, 1);
});

Deno.test("ContextMeter.refuse() learns from a request that the provider found too long", async () => {
  const items = itemsOf(1_000, 3_000);
  const meter = new ContextMeter({ factor: 1, fixed: 1_000 });
  meter.anchor({ inputTokens: 3_000, outputTokens: 0 }, 2);
  await meter.refuse(items, 9_000);
  assert.deepEqual(meter.state, { anchor: null, factor: 2 });
  assert.ok(await meter.estimate(items) >= 9_000);
  await meter.refuse(items, 3_000);
  assert.equal(meter.factor, 2, "never lowered");
  await meter.refuse(items, 900_000);
  assert.equal(meter.factor, 4);
  await meter.refuse(itemsOf(), 9_000);
  assert.equal(meter.factor, 4);
});

Deno.test("ContextMeter.anchor() does not believe a bill over the window: it sums up several requests", async () => {
  const meter = new ContextMeter({ factor: 1, fixed: 1_000, window: 200_000 });
  const items = itemsOf(500);
  meter.anchor({ inputTokens: 5_000_000, outputTokens: 900 }, 1);
  assert.equal(await meter.estimate(items), 1_500);
  meter.anchor({ inputTokens: 199_000, outputTokens: 900 }, 1);
  assert.equal(await meter.estimate(items), 199_900);
});

Deno.test("ContextMeter counts no item twice for as long as the view that makes them stays the same", async () => {
  const looks: (readonly [number, number])[] = [];
  const list: number[] = [];
  let view = {};
  const items: MeterItems = {
    get length() {
      return list.length;
    },
    get view() {
      return view;
    },
    boundFrom: (from) => {
      looks.push([from, list.length]);
      return list.slice(from).reduce((sum, n) => sum + 4 * n, 0);
    },
    exact: (from, to, floor = 0) => {
      looks.push([from, to]);
      return Promise.resolve(list.slice(from, to).reduce((sum, n) => sum + Math.max(n, floor * 4 * n), 0));
    },
  };
  const meter = new ContextMeter({ factor: 1, fixed: 0, window: 100_000 });
  for (let n = 1; n <= 1_000; n++) {
    list.push(n);
    // Behind what the bound can tell: both are asked for.
    const { tokens } = await meter.read(items, 2 * n);
    assert.ok(n < 4 || tokens === n * (n + 1) / 2);
  }
  assert.ok(looks.reduce((sum, [from, to]) => sum + to - from, 0) <= 2 * list.length);
  // A bill covers what it covers, and another view shows other items, however many.
  meter.anchor({ inputTokens: 7_000, outputTokens: 0 }, 998);
  assert.equal(await meter.estimate(items), 7_000 + 999 + 1_000);
  meter.invalidate();
  assert.equal(await meter.estimate(items), 500_500);
  view = {};
  list.splice(0, 1_000, ...list.map(() => 2));
  assert.equal(await meter.estimate(items), 2_000);
});
