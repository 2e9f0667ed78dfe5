import assert from "node:assert/strict";
import type { TurnEvent } from "../../src/loop/events.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { anthropic, type AnthropicOptions } from "../../src/models/anthropic.ts";
import { clerk } from "../../src/models/clerk.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { workspaceTools } from "../../src/tools/workspace.ts";
import {
  type AnthropicDoubleOptions,
  type MessagesReply,
  promptTokens,
  startAnthropicDouble,
} from "../support/anthropic_double.ts";
import type { Json } from "../support/anthropic_wire_request.ts";
import { assertLog, endOf, eventsOf } from "../support/turns.ts";

const WINDOW = 12_000;
/** Enough for the eight parallel reads that come after unit 18. */
const UNITS = 20;

interface Course {
  readonly model: Partial<AnthropicOptions>;
  readonly double?: Partial<AnthropicDoubleOptions>;
  /** What the rule-based model adds to each of its replies. */
  readonly think?: (step: number) => MessagesReply;
}

/** Lets the clerk audit the first units through the adapter; everything that the service would refuse is a failure. */
async function audit({ model, double, think = () => ({}) }: Course) {
  let step = 0;
  await using upstream = startAnthropicDouble({
    window: WINDOW,
    script: (request) => ({ ...clerk(request), ...think(++step) }),
    ...double,
  });
  const agent = {
    model: anthropic({
      model: "m",
      apiKey: "k",
      baseURL: upstream.url,
      window: WINDOW,
      maxOutput: 2_500,
      ...model,
    }),
    tools: workspaceTools({ sleep: () => Promise.resolve() }),
    system: "You audit a workspace.",
    maxSteps: 200,
  };
  const store = memoryStore();
  const run = (input: string): Promise<TurnEvent[]> =>
    Array.fromAsync(runTurn({ agent, session: "s1", input }, { store }));
  const events = await run(`Please audit the first ${UNITS} units of the workspace.`);
  const after = await run("read units/00/README.md");
  const state = await store.read({ tenant: "local", session: "s1" });
  assertLog(state?.entries ?? []);
  return {
    events,
    after,
    entries: state?.entries ?? [],
    requests: upstream.requests,
    violations: upstream.violations,
    dropped: upstream.dropped,
  };
}

type Run = Awaited<ReturnType<typeof audit>>;

function assertSound({ after, events, requests, violations }: Run): void {
  assert.deepEqual(violations, []);
  assert.deepEqual([endOf(events), endOf(after)], ["stop", "stop"]);
  const text = eventsOf(events, "text.delta").map((event) => event.text).join("");
  assert.match(
    text,
    new RegExp(`Audit finished: ${UNITS} of ${UNITS} units sealed`),
    "no pair was lost on the way",
  );
  assert.ok(requests.length >= 50, `found ${requests.length} steps`);
  const applied = eventsOf(events, "compaction").filter(({ phase }) => phase === "applied").length;
  assert.ok(applied >= 3, `found ${applied} compactions`);
  for (const body of requests) {
    assert.ok(promptTokens(body) + Number(body.max_tokens) <= WINDOW);
    const roles = (body.messages as readonly Json[]).map(({ role }) => role);
    assert.deepEqual(roles, roles.map((_, index) => index % 2 === 0 ? "user" : "assistant"));
  }
}

Deno.test("anthropic() takes thinking with a budget through compactions", async () => {
  const run = await audit({
    model: { thinking: { budgetTokens: 1_024 } },
    think: (step) => ({ reasoning: `I am at step ${step}.` }),
  });
  assertSound(run);
  for (const { thinking } of run.requests) {
    assert.deepEqual(thinking, { type: "enabled", budget_tokens: 1_024 });
  }
  const signed = run.entries.filter(({ kind, ...entry }) =>
    kind === "assistant" && JSON.stringify(entry).includes('"signature":"sig/')
  );
  assert.equal(signed.length, run.requests.length);
});

Deno.test("anthropic() goes on without thinking where a compaction has taken what the message begins with", async () => {
  const run = await audit({
    model: { thinking: { budgetTokens: 1_024 } },
    // Models that do not think between calls think once, before the first.
    think: (step) => step === 1 ? { reasoning: "I begin." } : {},
  });
  assertSound(run);
  const asked = run.requests.filter(({ thinking }) => thinking !== undefined).length;
  assert.ok(asked > 1 && asked < run.requests.length, `found ${asked} requests with thinking`);
});

Deno.test("anthropic() lets a model that binds its thinking leave out what a compaction has cut loose", async () => {
  const run = await audit({
    model: { model: "claude-fable-5-1", tokenFactor: 1 },
    double: { bound: true },
    think: (step) => ({ reasoning: `I am at step ${step}.` }),
  });
  assertSound(run);
  assert.ok(
    run.dropped > 0 && run.dropped < run.requests.length,
    `found ${run.dropped} with a changed prefix`,
  );
});
