/**
 * What turns report of themselves: spans in their places, numbers that add up, nothing that anybody has said.
 *
 * Over 300 lines: one exporter, and what each kind of turn leaves in it.
 */
import { deepEqual, doesNotMatch, equal, ok } from "node:assert/strict";
import { context, trace } from "@opentelemetry/api";
import { SelvageError } from "../../src/core/errors.ts";
import { compactNow } from "../../src/loop/compact_now.ts";
import { fallback } from "../../src/models/fallback.ts";
import type { Model, ModelEvent } from "../../src/ports.ts";
import { type SeenSpan, startTracing, type Tracing } from "../support/tracing.ts";
import {
  Bench,
  calls,
  endOf,
  eventsOf,
  finish,
  KEY,
  modelOf,
  prose,
  replies,
  tool,
} from "../support/turns.ts";

/** A span with the names of those around it. */
function path(span: SeenSpan): string {
  return span.parent === null ? span.name : `${path(span.parent)} > ${span.name}`;
}

function named({ spans }: Tracing, name: string): readonly SeenSpan[] {
  return spans.filter((span) => span.name === name);
}

function sum({ measured }: Tracing, name: string): number {
  return measured.filter((found) => found.name === name).reduce((all, { value }) => all + value, 0);
}

/** Starts a span as instrumented code does: inside whatever is active. */
function upstream(name: string): void {
  trace.getTracer("test").startSpan(name).end();
}

/** A model whose request is a span of its own, in the middle of its work. */
function traced(model: Model): Model {
  return {
    ...model,
    async *stream(request, signal) {
      await Promise.resolve();
      upstream("fetch");
      yield* model.stream(request, signal);
    },
  };
}

Deno.test("a turn is a span, its steps are inside it, and what model and tools do is inside the step", async () => {
  using tracing = startTracing();
  const bench = new Bench({
    script: replies(calls("look", { at: 1 }, { at: 2 }), calls("fail", {})),
    tools: [
      tool("look", async () => {
        await Promise.resolve();
        upstream("query");
        return "seen";
      }),
      tool("fail", () => {
        throw new Error("a secret");
      }),
    ],
  });
  const agent = { ...bench.agent, model: traced(bench.agent.model) };
  const around = trace.getTracer("test").startSpan("request");
  const events = context.with(
    trace.setSpan(context.active(), around),
    () => bench.start("The words of the user", { agent }),
  );
  // Whoever goes on with the generator does so from anywhere: a turn is shared by its readers.
  const first = await context.with(trace.setSpan(context.active(), around), () => events.next());
  ok(first.done !== true);
  for await (const _ of events) upstream("reader");

  deepEqual(tracing.spans.filter(({ name }) => name !== "reader").map(path), [
    "request",
    "request > agent.turn",
    "request > agent.turn > agent.step",
    "request > agent.turn > agent.step > fetch",
    "request > agent.turn > agent.step > agent.tool",
    "request > agent.turn > agent.step > agent.tool > query",
    "request > agent.turn > agent.step > agent.tool",
    "request > agent.turn > agent.step > agent.tool > query",
    "request > agent.turn > agent.step",
    "request > agent.turn > agent.step > fetch",
    "request > agent.turn > agent.step > agent.tool",
    "request > agent.turn > agent.step",
    "request > agent.turn > agent.step > fetch",
  ]);
  ok(
    named(tracing, "reader").every(({ parent }) => parent === null),
    "a reader works inside the turn's spans",
  );
  for (const span of tracing.spans) if (span.name.startsWith("agent.")) equal(span.ends, 1, path(span));

  const [turn] = named(tracing, "agent.turn");
  equal(turn?.attributes["gen_ai.conversation.id"], "s1");
  equal(turn?.attributes["selvage.turn.id"], "t0");
  equal(turn?.attributes["selvage.turn.reason"], "stop");
  equal(turn?.attributes["selvage.steps"], 3);
  const [, , failed] = named(tracing, "agent.tool");
  deepEqual(failed?.status, { code: 2 });
  equal(failed?.attributes["error.type"], "tool_error");
  doesNotMatch(JSON.stringify(tracing.spans.map(({ attributes }) => attributes)), /secret|words|seen/);

  equal(sum(tracing, "selvage.turns"), 1);
  equal(sum(tracing, "selvage.steps"), 3);
  const steps = named(tracing, "agent.step");
  const billed = (name: string): number =>
    steps.reduce((all, { attributes }) => all + Number(attributes[`gen_ai.usage.${name}`]), 0);
  equal(billed("input_tokens"), turn?.attributes["gen_ai.usage.input_tokens"]);
  equal(
    sum(tracing, "gen_ai.client.token.usage"),
    billed("input_tokens") + billed("output_tokens"),
  );
});

Deno.test("each compaction is a span with method, distance and tokens, each deferral is counted", async () => {
  using tracing = startTracing();
  const bench = new Bench({
    window: 8_000,
    tools: [tool("read", ({ n, length }) => prose(Number(length), Number(n)))],
    script: replies(
      ...Array.from({ length: 20 }, (_, n) => calls("read", { n, length: 1_500 })),
      // Wherever the rounds before have left the context, one of these fills it while the others' calls are open.
      ...[50, 60, 70].map((from) =>
        calls("read", ...Array.from({ length: 6 }, (_, n) => ({ n: from + n, length: 4_000 })))
      ),
      calls("read", { n: 80, length: 100 }),
    ),
  });
  const events = eventsOf(await bench.run("Read"), "compaction");
  const applied = events.filter(({ phase }) => phase === "applied");
  const deferred = events.filter(({ phase }) => phase === "deferred");
  ok(applied.length > 1 && deferred.length > 0, `${applied.length} applied, ${deferred.length} deferred`);
  const spans = named(tracing, "agent.compact");
  deepEqual(
    spans.map(({ attributes }) => [
      attributes["selvage.compaction.phase"],
      attributes["selvage.compaction.method"],
      attributes["selvage.compaction.distance"],
      attributes["selvage.compaction.tokens.before"],
      attributes["selvage.compaction.tokens.after"],
    ]),
    events.map((event) => [event.phase, event.method, event.distance, event.tokensBefore, event.tokensAfter]),
  );
  for (const span of spans) {
    equal(span.ends, 1);
    equal(path(span), "agent.turn > agent.step > agent.compact");
  }
  equal(sum(tracing, "selvage.compactions"), applied.length);
  equal(sum(tracing, "selvage.deferrals"), deferred.length);
});

Deno.test("a compaction with a summarizer is one span from its start to its end", async () => {
  using tracing = startTracing();
  const bench = new Bench({
    window: 8_000,
    tools: [tool("read", ({ n }) => prose(1_500, Number(n)))],
    script: replies(...Array.from({ length: 20 }, (_, n) => calls("read", { n }))),
    agent: {
      summarizer: modelOf(async function* () {
        yield await Promise.resolve(finish(JSON.stringify({ narrative: "All was read.", outcomes: {} })));
      }),
    },
  });
  const events = eventsOf(await bench.run("Read"), "compaction");
  const started = events.filter(({ phase }) => phase === "started");
  ok(started.length > 1);
  const spans = named(tracing, "agent.compact");
  equal(spans.length, events.length - started.length);
  for (const span of spans) equal(span.ends, 1);
  equal(spans[0]?.attributes["selvage.compaction.summary"], "ledger+prose");
});

Deno.test("a turn that fails, is left or is put down ends its spans and says how", async () => {
  using tracing = startTracing();
  const broken = modelOf(async function* () {
    await Promise.resolve();
    throw new Error("a bug with a secret");
    // deno-lint-ignore no-unreachable -- a generator has to yield
    yield finish("");
  });
  const report = console.error;
  console.error = () => {};
  try {
    equal(endOf(await new Bench({ model: broken }).run("x")), "error");
  } finally {
    console.error = report;
  }
  const bench = new Bench({ script: replies(calls("look", {})), tools: [tool("look", () => "seen")] });
  for await (const { type } of bench.start("left")) if (type === "step.started") break;
  for await (const _ of bench.start("put down", { suspend: AbortSignal.abort(new Error("down")) }));
  const turns = named(tracing, "agent.turn");
  deepEqual(turns.map(({ attributes }) => attributes["selvage.turn.reason"]), [
    "error",
    "aborted",
    "suspended",
  ]);
  deepEqual(turns.map(({ attributes }) => attributes["error.type"]), ["internal", undefined, undefined]);
  for (const span of tracing.spans) equal(span.ends, 1, path(span));
  deepEqual(
    tracing.measured.filter(({ name }) => name === "selvage.turns").map(({ attributes }) =>
      attributes["selvage.turn.reason"]
    ),
    ["error", "aborted", "suspended"],
  );
});

Deno.test("spans and tokens are those of the model that answered, where the one that was asked could not", async () => {
  using tracing = startTracing();
  const down = modelOf(async function* () {
    await Promise.resolve();
    throw new SelvageError("model_auth", "no");
    // deno-lint-ignore no-unreachable -- a generator has to yield
    yield finish("");
  }, { id: "first", dialect: "anthropic" });
  const up = modelOf(async function* () {
    yield await Promise.resolve(
      { ...finish("Here."), usage: { inputTokens: 90, outputTokens: 2 } } as ModelEvent,
    );
  }, { id: "second", dialect: "openai-chat" });
  equal(endOf(await new Bench({ model: fallback([down, up]) }).run("x")), "stop");
  const of = (attributes: SeenSpan["attributes"]) =>
    ["provider.name", "request.model", "response.model"].map((name) => attributes[`gen_ai.${name}`]);
  deepEqual(named(tracing, "agent.step").map(({ attributes }) => of(attributes)), [[
    "openai",
    "first",
    "second",
  ]]);
  equal(named(tracing, "agent.turn")[0]?.attributes["gen_ai.response.model"], "second");
  const measured = tracing.measured.filter(({ name }) => name.startsWith("gen_ai.client."));
  deepEqual(
    measured.map(({ name, attributes }) => [name, ...of(attributes)]),
    ["operation.duration", "token.usage", "token.usage"]
      .map((name) => [`gen_ai.client.${name}`, "openai", "first", "second"]),
  );
});

Deno.test("a delta costs the telemetry nothing, however many there are", async () => {
  const costOf = async (words: number) => {
    using tracing = startTracing();
    const text = Array.from({ length: words }, (_, n) => `word${n}`).join(" ");
    const events = await new Bench({ script: replies({ text }) }).run("Talk");
    return { deltas: eventsOf(events, "text.delta").length, operations: tracing.operations };
  };
  const few = await costOf(2);
  const many = await costOf(2_000);
  ok(many.deltas > few.deltas + 500, `${many.deltas} deltas`);
  equal(many.operations, few.operations);
});

Deno.test("a provider that is registered after turns without one hears of the next", async () => {
  // As in a process in which nobody has registered anything yet.
  const place = Symbol.for("opentelemetry.js.api.1");
  const before = Reflect.get(globalThis, place);
  Reflect.deleteProperty(globalThis, place);
  try {
    const bench = new Bench({ script: replies({ text: "Hello." }) });
    endOf(await bench.run("Hi"));
    ok(!(place in globalThis));
    using tracing = startTracing();
    endOf(await bench.run("Hi"));
    deepEqual(named(tracing, "agent.turn").map(path), ["agent.turn"]);
    equal(sum(tracing, "selvage.turns"), 1);
  } finally {
    Reflect.set(globalThis, place, before);
  }
});

Deno.test("a compaction between two turns is a span and a number, its summarizer's request inside it; a preview is none", async () => {
  using tracing = startTracing();
  const text = JSON.stringify({ narrative: "It was said.", outcomes: {} });
  const usage = { inputTokens: 900, outputTokens: 20 };
  const summarizer = modelOf(async function* () {
    yield await Promise.resolve({ ...finish(text), usage } as ModelEvent);
  }, { id: "writer" });
  const bench = new Bench({ window: 16_000, agent: { summarizer: traced(summarizer) } });
  for (let n = 0; n < 3; n++) await bench.run(prose(9_000, n));
  const { agent, store, clock } = bench;
  const place = { key: KEY, agent, store, clock };
  const seen = (): readonly SeenSpan[] =>
    named(tracing, "agent.compact").filter(({ parent }) => parent === null);
  await compactNow(place, { compactTo: 0.1, dryRun: true });
  deepEqual(seen(), []);
  const { cut } = await compactNow(place, { compactTo: 0.1 });
  await compactNow(place, { compactTo: 0.1 });
  deepEqual(seen().map(({ attributes, ends }) => [attributes["selvage.compaction.phase"], ends]), [
    ["applied", 1],
    ["nothing", 1],
  ]);
  deepEqual(
    [seen()[0]?.attributes["selvage.compaction.cut"], seen()[0]?.attributes["selvage.compaction.reason"]],
    [cut, "asked_for"],
  );
  deepEqual(named(tracing, "fetch").map(path), ["agent.compact > fetch"]);
  equal(sum(tracing, "selvage.compactions"), 1);
  const billed = tracing.measured.filter(({ attributes }) => attributes["gen_ai.request.model"] === "writer");
  deepEqual(billed.map(({ value }) => value), [900, 20]);
});
