/** The counting cases among the public reports: what has gone wrong elsewhere does not here. */
import { equal, ok, throws } from "node:assert/strict";
import { computeBudget } from "../../src/compaction/budget.ts";
import { SelvageError } from "../../src/core/errors.ts";
import { readTranscript } from "../../src/formats/read.ts";
import { loadCounter } from "../../src/tokens/counter.ts";
import { ContextMeter } from "../../src/tokens/meter.ts";

/** Options of a case, as far as they are numbers. */
interface Numbers {
  readonly threshold: number;
  readonly toolDefinitionTokens: number;
  readonly lastReportedUsageTokens: number;
  readonly maxCountedTokens: number;
}

/** A case with its repeated strings written out. */
function load(
  name: string,
): { readonly messages: readonly unknown[]; readonly options: Numbers; readonly assert: Numbers } {
  const text = Deno.readTextFileSync(new URL(`../fixtures/cases/${name}.json`, import.meta.url));
  return JSON.parse(
    text,
    (_, value) => Array.isArray(value?.$repeat) ? value.$repeat[0].repeat(value.$repeat[1]) : value,
  );
}

async function tokensOf(name: string): Promise<number> {
  const counter = await loadCounter("o200k_base");
  const measure = (text: string): number => counter.count(text);
  return readTranscript(load(name).messages, { measure }).transcript.tokens;
}

Deno.test("case tool-definitions-above-threshold is one error at the start, not a compaction at every step", () => {
  const { options } = load("35-tool-definitions-above-threshold");
  const window = Math.floor(options.threshold / 0.65);
  throws(
    () => computeBudget({ window, maxOutput: 100 }, { fixed: options.toolDefinitionTokens }),
    (error) => error instanceof SelvageError && error.code === "bad_budget",
  );
});

Deno.test("case stale-usage-after-compaction: a bill older than the compaction triggers nothing", async () => {
  const { options } = load("37-stale-usage-after-compaction");
  const shown = await tokensOf("37-stale-usage-after-compaction");
  const items = { length: 3, boundFrom: () => 4 * shown, exact: () => Promise.resolve(shown) };
  const meter = new ContextMeter({ factor: 1, fixed: 500 });
  meter.anchor({ inputTokens: options.lastReportedUsageTokens, outputTokens: 10 }, 3);
  ok((await meter.read(items, options.threshold)).tokens > options.threshold);
  meter.invalidate();
  const reading = await meter.read(items, options.threshold);
  equal(reading.tier, "bound");
  ok(reading.tokens < 2_000, `${reading.tokens}`);
});

Deno.test("case image-payload-counted-as-text: an image has a flat price", async () => {
  const { assert } = load("51-image-payload-counted-as-text");
  const tokens = await tokensOf("51-image-payload-counted-as-text");
  ok(tokens > 1_000 && tokens <= assert.maxCountedTokens, `${tokens}`);
});

Deno.test("case repeated-character-run is counted exactly: eight characters a token", async () => {
  const tokens = await tokensOf("53-repeated-character-run");
  ok(tokens > 25_000 && tokens < 25_100, `${tokens}`);
});

Deno.test("case special-token-text is plain text to the counter", async () => {
  const counter = await loadCounter("o200k_base");
  ok(counter.count("<|endoftext|>") > 1);
  ok(await tokensOf("55-special-token-text") > 20);
});
