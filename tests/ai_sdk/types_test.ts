/** What `compactSteps()` gives fits the types of the real packages as it is. Nothing here has to run to be checked. */
import assert from "node:assert/strict";
import type * as six from "npm:ai@6.0.326";
import type * as seven from "npm:ai@7.0.173";
import { compactSteps } from "../../src/ai_sdk/mod.ts";

const compact = compactSteps({ window: 8_000 });

Deno.test("compactSteps() is a prepareStep of versions 6 and 7, by type", () => {
  const ofSix: six.PrepareStepFunction = compact;
  const ofSeven: seven.PrepareStepFunction<seven.ToolSet> = compact;
  assert.ok(ofSix === compact && ofSeven === compact);
});

Deno.test("recall is a tool of versions 6 and 7, by type", () => {
  const ofSix: six.ToolSet = { recall: compact.recall };
  const ofSeven: seven.ToolSet = { recall: compact.recall };
  assert.ok(ofSix["recall"] && ofSeven["recall"]);
});
