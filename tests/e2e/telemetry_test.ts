/** Deno's own OpenTelemetry, as an operator turns it on: what a collector gets from a real server. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { Json } from "../support/chat.ts";
import { startDouble } from "../support/openai_double.ts";
import { startServer } from "../support/server.ts";

interface CollectedSpan {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly { readonly key: string }[];
}

/** A collector: takes OTLP as JSON, keeps spans and the last sum of each metric. */
function startCollector() {
  const spans: CollectedSpan[] = [];
  const metrics = new Set<string>();
  let look = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const body: Json = await request.json();
    for (const { scopeSpans } of body.resourceSpans ?? []) {
      for (const scope of scopeSpans) spans.push(...scope.spans);
    }
    for (const { scopeMetrics } of body.resourceMetrics ?? []) {
      for (const scope of scopeMetrics) for (const { name } of scope.metrics) metrics.add(name);
    }
    look.resolve();
    look = Promise.withResolvers();
    return Response.json({});
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    spans,
    metrics,
    async until(isThere: () => boolean): Promise<void> {
      while (!isThere()) await look.promise;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("with OTEL_DENO=true a collector gets the spans of a turn in their places, and its metrics", async () => {
  await using collector = startCollector();
  await using double = startDouble({
    script: ({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? { text: "Read." }
        : { calls: [{ name: "list_files", input: { path: "units" } }] },
  });
  await using server = await startServer({
    SELVAGE_KV: ":memory:",
    SELVAGE_MODEL: "openai:double",
    OPENAI_API_KEY: "sk-test",
    OPENAI_BASE_URL: double.url,
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "50",
    OTEL_METRIC_EXPORT_INTERVAL: "50",
  });
  const response = await fetch(`${server.url}/v1/turns`, {
    method: "POST",
    body: JSON.stringify({ input: "My words", session: "s", stream: false }),
  });
  equal((await response.json()).reason, "stop");
  await collector.until(() => collector.spans.some(({ name }) => name === "agent.turn"));
  const { spans } = collector;
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const path = (span: CollectedSpan): string => {
    const parent = byId.get(span.parentSpanId ?? "");
    return parent === undefined ? span.name : `${path(parent)} > ${span.name}`;
  };
  const paths = spans.map(path).filter((found) => found.includes("agent."));
  // The span of the request to the server is around them all, where it is there already.
  deepEqual(paths.map((found) => found.replace(/^POST > /, "")).toSorted(), [
    "agent.turn",
    "agent.turn > agent.step",
    "agent.turn > agent.step",
    "agent.turn > agent.step > POST",
    "agent.turn > agent.step > POST",
    "agent.turn > agent.step > agent.tool",
  ]);
  const turn = spans.find(({ name }) => name === "agent.turn");
  ok(turn?.attributes.some(({ key }) => key === "gen_ai.usage.input_tokens"));
  ok(!JSON.stringify(spans).includes("My words"));
  const wanted = [
    "gen_ai.client.operation.duration",
    "gen_ai.client.token.usage",
    "selvage.steps",
    "selvage.tool.duration",
    "selvage.turn.duration",
    "selvage.turns",
  ];
  await collector.until(() => wanted.every((name) => collector.metrics.has(name)));
});
