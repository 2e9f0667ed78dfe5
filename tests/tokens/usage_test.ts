import { deepEqual, equal } from "node:assert/strict";
import { anthropicUsage, billOf, geminiUsage, mergeUsage, openaiUsage } from "../../src/tokens/usage.ts";

Deno.test("openaiUsage() takes the total as it is: cached tokens are in it", () => {
  deepEqual(
    openaiUsage({
      prompt_tokens: 1_000,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 900 },
    }),
    { inputTokens: 1_000, outputTokens: 50, cachedTokens: 900 },
  );
  deepEqual(openaiUsage({ input_tokens: 7, output_tokens: 2, input_tokens_details: { cached_tokens: 0 } }), {
    inputTokens: 7,
    outputTokens: 2,
    cachedTokens: 0,
  });
});

Deno.test("anthropicUsage() adds what input_tokens leaves out, so that a cache does not empty the meter", () => {
  deepEqual(
    anthropicUsage({
      input_tokens: 11,
      cache_read_input_tokens: 90_000,
      cache_creation_input_tokens: 400,
      output_tokens: 7,
    }),
    { inputTokens: 90_411, outputTokens: 7, cachedTokens: 90_000 },
  );
});

Deno.test("geminiUsage() counts thoughts as output and tool prompts as input", () => {
  deepEqual(
    geminiUsage({
      promptTokenCount: 100,
      cachedContentTokenCount: 60,
      toolUsePromptTokenCount: 5,
      candidatesTokenCount: 10,
      thoughtsTokenCount: 30,
    }),
    { inputTokens: 105, outputTokens: 40, cachedTokens: 60 },
  );
});

for (
  const raw of [
    undefined,
    null,
    {},
    "many",
    { prompt_tokens: 0, completion_tokens: 9 },
    { prompt_tokens: -4 },
    { prompt_tokens: NaN },
    { prompt_tokens: "12" },
  ]
) {
  Deno.test(`openaiUsage() believes no bill like ${JSON.stringify(raw) ?? "undefined"}`, () => {
    equal(openaiUsage(raw), undefined);
  });
}

Deno.test("mergeUsage() lets the last number of each field win: a stream repeats totals", () => {
  const start = mergeUsage({}, { input_tokens: 11, cache_read_input_tokens: 4, output_tokens: 1 });
  const end = mergeUsage(start, { input_tokens: null, output_tokens: 7 });
  deepEqual(anthropicUsage(end), { inputTokens: 15, outputTokens: 7, cachedTokens: 4 });
  deepEqual(mergeUsage({ a: { b: 1, c: 2 } }, { a: { b: 3 } }), { a: { b: 3, c: 2 } });
  deepEqual(mergeUsage(end, null), end);
});

Deno.test("mergeUsage() takes what is nested without end, and what is called like a prototype", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`);
  deepEqual(mergeUsage({ input_tokens: 3 }, deep), { input_tokens: 3, a: {} });
  const merged = mergeUsage({}, JSON.parse('{"__proto__":{"input_tokens":9},"output_tokens":1}'));
  equal(anthropicUsage(merged), undefined);
  equal(({} as { input_tokens?: number }).input_tokens, undefined);
});

Deno.test("billOf() takes numbers of a size that a call can have, in whole tokens, and nothing else", () => {
  const bill = { inputTokens: 1_000_000, outputTokens: 64_000 };
  const zeros = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
  deepEqual(billOf(bill), bill);
  deepEqual(billOf(zeros), zeros);
  const parts = { inputTokens: 12.5, outputTokens: 0.1, cachedTokens: 1.9 };
  deepEqual(billOf(parts), { inputTokens: 13, outputTokens: 1, cachedTokens: 2 });
  equal(billOf(undefined), undefined);
  for (const wrong of [1e308, 2 ** 53, 1e9 + 1, -0.5, -1, NaN, Infinity, "7" as unknown as number]) {
    equal(billOf({ ...bill, inputTokens: wrong }), undefined, `${wrong}`);
    equal(billOf({ ...bill, outputTokens: wrong }), undefined, `${wrong}`);
    equal(billOf({ ...bill, cachedTokens: wrong }), undefined, `${wrong}`);
  }
});
