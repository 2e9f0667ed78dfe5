import { deepEqual, equal, ok } from "node:assert/strict";
import { modelFacts, UNKNOWN_MODEL } from "../../src/tokens/models.ts";

Deno.test.each([
  ["gpt-4o", 128_000, 1],
  ["gpt-4o-mini-2024-07-18", 128_000, 1],
  ["openai/gpt-4o", 128_000, 1],
  ["gpt-4.1-nano", 1_047_576, 1],
  ["gpt-4", 8_192, 1],
  ["gpt-4-turbo", 128_000, 1],
  ["gpt-5-mini", 400_000, 1],
  ["o3-mini", 200_000, 1],
  ["claude-3-5-sonnet-20241022", 200_000, 1.11],
  ["claude-sonnet-4-5-20250929", 200_000, 1.11],
  ["claude-opus-4-6", 200_000, 1.11],
  ["claude-opus-4-7", 200_000, 1.44],
  ["anthropic.claude-haiku-4-5", 200_000, 1.11],
  ["claude-sonnet-5", 200_000, 1.44],
  ["gemini-2.5-pro", 1_048_576, 1.25],
])("modelFacts() knows %s", (name, window, factor) => {
  const facts = modelFacts(name);
  equal(facts.window, window);
  equal(facts.factor, factor);
  ok(facts.maxOutput > 0 && facts.maxOutput < facts.window);
});

Deno.test("modelFacts() is careful with names it does not know", () => {
  for (const name of ["", "llama3", "ogpt-4o", "o9", "claude", "my/own:model"]) {
    deepEqual(modelFacts(name), UNKNOWN_MODEL, name);
  }
});

Deno.test("modelFacts() lets the caller know better, and passes over what is undefined", () => {
  equal(modelFacts("gpt-4o", { window: 64_000 }).window, 64_000);
  const facts = modelFacts("gpt-4o", JSON.parse("{}"));
  equal(facts.window, 128_000);
  deepEqual(
    modelFacts("gpt-4o", { window: undefined } as unknown as { window: number }),
    modelFacts("gpt-4o"),
  );
});
