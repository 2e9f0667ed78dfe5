/**
 * Signed reasoning in loops of the real AI SDK, against the strict double of Messages: what a compaction has cut loose
 * is neither refused nor missed.
 */
import assert from "node:assert/strict";
import { compactSteps } from "../../src/ai_sdk/mod.ts";
import { clerk } from "../../src/models/clerk.ts";
import { workspaceTools } from "../../src/tools/workspace.ts";
import {
  type AnthropicDoubleOptions,
  type MessagesReply,
  startAnthropicDouble,
} from "../support/anthropic_double.ts";
import { toolSet, VERSIONS } from "./_versions.ts";

const WINDOW = 12_000;
const MAX_OUTPUT = 2_400;

interface Course {
  readonly what: string;
  readonly model?: string;
  readonly double?: Partial<AnthropicDoubleOptions>;
  readonly thinking?: object;
  /** What the clerk adds to each of its replies. */
  readonly think: (step: number) => MessagesReply;
}

const courses: readonly Course[] = [
  {
    what: "of a model that thinks with a budget before each call",
    thinking: { type: "enabled", budgetTokens: 1_024 },
    think: (step) => ({ reasoning: `I am at step ${step}.` }),
  },
  {
    what: "of a model that thinks once, before the first call",
    thinking: { type: "enabled", budgetTokens: 1_024 },
    think: (step) => step === 1 ? { reasoning: "I begin." } : {},
  },
  {
    what: "of a model that binds its thinking to what stands before",
    model: "claude-fable-5-1",
    double: { bound: true },
    think: (step) => ({ reasoning: `I am at step ${step}.` }),
  },
];

const runs = VERSIONS.flatMap((version) =>
  courses.map((course) => ({ ...version, ...course, name: `version ${version.version} ${course.what}` }))
);

Deno.test.each(runs)("compactSteps() carries a loop of $name", async (run) => {
  const { ai: load, anthropic, model = "m", double: rest, thinking, think } = run;
  let step = 0;
  await using double = startAnthropicDouble({
    window: WINDOW,
    script: (request) => ({ ...clerk(request), ...think(++step) }),
    ...rest,
  });
  const ai = await load();
  const { text } = await ai.generateText({
    model: await anthropic(double.url, model),
    tools: toolSet(ai, workspaceTools({ sleep: () => Promise.resolve() })),
    system: "You audit a workspace.",
    prompt: "Please audit the first 20 units of the workspace.",
    stopWhen: ai.stepCountIs(300),
    prepareStep: compactSteps({ window: WINDOW, maxOutput: MAX_OUTPUT, tokenFactor: 1 }),
    maxOutputTokens: thinking === undefined ? MAX_OUTPUT : MAX_OUTPUT - 1_024,
    maxRetries: 0,
    ...(thinking === undefined ? {} : { providerOptions: { anthropic: { thinking } } }),
  });
  assert.deepEqual(double.violations, []);
  assert.match(text, /^Audit finished: 20 of 20 units sealed/);
});
