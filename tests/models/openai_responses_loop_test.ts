import assert from "node:assert/strict";
import { clerk } from "../../src/models/clerk.ts";
import { openaiResponses, type OpenAIResponsesOptions } from "../../src/models/openai_responses.ts";
import {
  promptTokens,
  type ResponsesDouble,
  type ResponsesDoubleOptions,
  type ResponsesReply,
  startResponsesDouble,
} from "../support/responses_double.ts";
import type { Json } from "../support/wire_json.ts";
import { endOf } from "../support/turns.ts";
import { assertAudited, type Audit, audit, SMALL } from "./_audit.ts";

interface Course {
  readonly model: Partial<OpenAIResponsesOptions>;
  readonly double?: Partial<ResponsesDoubleOptions>;
  /** What the rule-based model adds to each of its replies. */
  readonly think?: (step: number) => ResponsesReply;
}

type Run = Audit & Pick<ResponsesDouble, "requests" | "violations">;

/** Lets the clerk audit the first units through the adapter; everything that the service would refuse is a failure. */
async function run(
  { model, double, think = () => ({}) }: Course,
  meet: (upstream: ResponsesDouble) => void = () => {},
): Promise<Run> {
  let step = 0;
  await using upstream = startResponsesDouble({
    window: SMALL.window,
    script: (request) => ({ ...clerk(request), ...think(++step) }),
    ...double,
  });
  meet(upstream);
  const audited = openaiResponses({ model: "m", apiKey: "k", baseURL: upstream.url, ...SMALL, ...model });
  return { ...await audit(audited), requests: upstream.requests, violations: upstream.violations };
}

function assertSound(done: Run, violations = done.violations): void {
  assertAudited(done, { requests: done.requests, violations });
  for (const body of done.requests) {
    assert.ok(promptTokens(body) + Number(body.max_output_tokens) <= SMALL.window);
  }
}

function itemsOf(body: Json, type: string): readonly Json[] {
  return (body.input as readonly Json[]).filter((item) => item.type === type);
}

Deno.test("openaiResponses() takes sealed reasoning through compactions, each with the item behind it", async () => {
  const done = await run({ model: {}, think: (step) => ({ reasoning: `I am at step ${step}.` }) });
  assertSound(done);
  const most = Math.max(...done.requests.map((body) => itemsOf(body, "reasoning").length));
  assert.ok(most > 1, `found ${most} items of reasoning in one request`);
  for (const body of done.requests) {
    // One for each call at the most: what was cut away took its reasoning with it.
    assert.ok(itemsOf(body, "reasoning").length <= itemsOf(body, "function_call").length + 1);
  }
});

Deno.test("openaiResponses() goes on without the reasoning that the service can no longer read", async () => {
  let forget = (): void => {};
  const done = await run({
    model: {},
    think: (step) => {
      if (step === 30) forget();
      return { reasoning: `I am at step ${step}.` };
    },
  }, (upstream) => forget = () => upstream.forget());
  assert.equal(done.violations.length, 1);
  assert.match(done.violations[0] ?? "", /could not be verified/);
  assertSound(done, []);
});

Deno.test("openaiResponses() has a turn compacted where only the stream says that it is too long", async () => {
  // The window is smaller than the model claims, and no bill teaches it before.
  const done = await run({
    model: { window: 2 * SMALL.window },
    double: { window: 9_000, lateTooLong: true },
  });
  assert.ok(done.violations.length > 0);
  assert.ok(
    done.violations.every((message) => /exceeds the context window/.test(message)),
    done.violations[0],
  );
  assert.equal(endOf(done.events), "stop");
});
