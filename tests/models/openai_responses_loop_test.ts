import assert from "node:assert/strict";
import type { TurnEvent } from "../../src/loop/events.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { clerk } from "../../src/models/clerk.ts";
import { openaiResponses, type OpenAIResponsesOptions } from "../../src/models/openai_responses.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { workspaceTools } from "../../src/tools/workspace.ts";
import {
  promptTokens,
  type ResponsesDouble,
  type ResponsesDoubleOptions,
  type ResponsesReply,
  startResponsesDouble,
} from "../support/responses_double.ts";
import type { Json } from "../support/responses_wire_rules.ts";
import { assertLog, endOf, eventsOf } from "../support/turns.ts";

const WINDOW = 12_000;
/** Enough for the eight parallel reads that come after unit 18. */
const UNITS = 20;

interface Course {
  readonly model: Partial<OpenAIResponsesOptions>;
  readonly double?: Partial<ResponsesDoubleOptions>;
  /** What the rule-based model adds to each of its replies. */
  readonly think?: (step: number) => ResponsesReply;
}

/** Lets the clerk audit the first units through the adapter; everything that the service would refuse is a failure. */
async function audit(
  { model, double, think = () => ({}) }: Course,
  meet: (upstream: ResponsesDouble) => void = () => {},
) {
  let step = 0;
  await using upstream = startResponsesDouble({
    window: WINDOW,
    script: (request) => ({ ...clerk(request), ...think(++step) }),
    ...double,
  });
  meet(upstream);
  const agent = {
    model: openaiResponses({
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
    assert.ok(promptTokens(body) + Number(body.max_output_tokens) <= WINDOW);
  }
}

function itemsOf(body: Json, type: string): readonly Json[] {
  return (body.input as readonly Json[]).filter((item) => item.type === type);
}

Deno.test("openaiResponses() takes sealed reasoning through compactions, each with the item behind it", async () => {
  const run = await audit({ model: {}, think: (step) => ({ reasoning: `I am at step ${step}.` }) });
  assertSound(run);
  const most = Math.max(...run.requests.map((body) => itemsOf(body, "reasoning").length));
  assert.ok(most > 1, `found ${most} items of reasoning in one request`);
  for (const body of run.requests) {
    // One for each call at the most: what was cut away took its reasoning with it.
    assert.ok(itemsOf(body, "reasoning").length <= itemsOf(body, "function_call").length + 1);
  }
});

Deno.test("openaiResponses() goes on without the reasoning that the service can no longer read", async () => {
  let forget = (): void => {};
  const run = await audit({
    model: {},
    think: (step) => {
      if (step === 30) forget();
      return { reasoning: `I am at step ${step}.` };
    },
  }, (upstream) => forget = () => upstream.forget());
  assert.equal(run.violations.length, 1);
  assert.match(run.violations[0] ?? "", /could not be verified/);
  assertSound({ ...run, violations: [] });
});

Deno.test("openaiResponses() has a turn compacted where only the stream says that it is too long", async () => {
  // The window is smaller than the model claims, and no bill teaches it before.
  const run = await audit({
    model: { window: 2 * WINDOW },
    double: { window: 9_000, lateTooLong: true },
  });
  assert.ok(run.violations.length > 0);
  assert.ok(run.violations.every((message) => /exceeds the context window/.test(message)), run.violations[0]);
  assert.equal(endOf(run.events), "stop");
});
