import assert from "node:assert/strict";
import { anthropic, type AnthropicOptions } from "../../src/models/anthropic.ts";
import { clerk } from "../../src/models/clerk.ts";
import {
  type AnthropicDouble,
  type AnthropicDoubleOptions,
  type MessagesReply,
  promptTokens,
  startAnthropicDouble,
} from "../support/anthropic_double.ts";
import type { Json } from "../support/wire_json.ts";
import { assertAudited, type Audit, audit, SMALL } from "./_audit.ts";

interface Course {
  readonly model: Partial<AnthropicOptions>;
  readonly double?: Partial<AnthropicDoubleOptions>;
  /** What the rule-based model adds to each of its replies. */
  readonly think?: (step: number) => MessagesReply;
}

type Run = Audit & Pick<AnthropicDouble, "requests" | "violations" | "dropped">;

/** Lets the clerk audit the first units through the adapter; everything that the service would refuse is a failure. */
async function run({ model, double, think = () => ({}) }: Course): Promise<Run> {
  let step = 0;
  await using upstream = startAnthropicDouble({
    window: SMALL.window,
    script: (request) => ({ ...clerk(request), ...think(++step) }),
    ...double,
  });
  const audited = anthropic({ model: "m", apiKey: "k", baseURL: upstream.url, ...SMALL, ...model });
  const done = await audit(audited);
  const { dropped, requests, violations } = upstream;
  return { ...done, dropped, requests, violations };
}

function assertSound(done: Run): void {
  assertAudited(done, done);
  for (const body of done.requests) {
    assert.ok(promptTokens(body) + Number(body.max_tokens) <= SMALL.window);
    const roles = (body.messages as readonly Json[]).map(({ role }) => role);
    assert.deepEqual(roles, roles.map((_, index) => index % 2 === 0 ? "user" : "assistant"));
  }
}

Deno.test("anthropic() takes thinking with a budget through compactions", async () => {
  const done = await run({
    model: { thinking: { budgetTokens: 1_024 } },
    think: (step) => ({ reasoning: `I am at step ${step}.` }),
  });
  assertSound(done);
  for (const { thinking } of done.requests) {
    assert.deepEqual(thinking, { type: "enabled", budget_tokens: 1_024 });
  }
  const signed = done.entries.filter(({ kind, ...entry }) =>
    kind === "assistant" && JSON.stringify(entry).includes('"signature":"sig/')
  );
  assert.equal(signed.length, done.requests.length);
});

Deno.test("anthropic() goes on without thinking where a compaction has taken what the message begins with", async () => {
  const done = await run({
    model: { thinking: { budgetTokens: 1_024 } },
    // Models that do not think between calls think once, before the first.
    think: (step) => step === 1 ? { reasoning: "I begin." } : {},
  });
  assertSound(done);
  const asked = done.requests.filter(({ thinking }) => thinking !== undefined).length;
  assert.ok(asked > 1 && asked < done.requests.length, `found ${asked} requests with thinking`);
});

Deno.test("anthropic() lets a model that binds its thinking leave out what a compaction has cut loose", async () => {
  const done = await run({
    model: { model: "claude-fable-5-1", tokenFactor: 1 },
    double: { bound: true },
    think: (step) => ({ reasoning: `I am at step ${step}.` }),
  });
  assertSound(done);
  assert.ok(
    done.dropped > 0 && done.dropped < done.requests.length,
    `found ${done.dropped} with a changed prefix`,
  );
});
