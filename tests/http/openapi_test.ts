/** The OpenAPI document: valid, whole, and what the service really does; and its page. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Hono } from "hono";
import * as z from "zod";
import { createApp } from "../../src/http/mod.ts";
import { EVENTS } from "../../src/http/openapi/events.ts";
import { DOOR, NO_ROUTE, OPERATIONS } from "../../src/http/openapi/operations.ts";
import { STATUS } from "../../src/http/problem.ts";
import type { TurnEventBody } from "../../src/loop/events.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { PUBLIC, routesOf } from "../support/routes.ts";
import { parseFrames } from "../support/sse.ts";

/** An app whose model looks once, asks the client where the input says so, and answers. */
function makeApp() {
  const look = defineTool({
    name: "look",
    description: "Looks",
    input: z.object({}),
    execute: async function* () {
      yield "half";
      return "word ".repeat(400);
    },
  });
  const ask = defineTool({ name: "ask", description: "Asks", input: z.object({}) });
  const model = scripted({
    window: 9_000,
    maxOutput: 500,
    script: ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === "tool") return { text: "Done." };
      const calls = [{ name: "look", input: {} }, { name: "look", input: {} }];
      return {
        reasoning: "Let me look.",
        text: "Looking.",
        calls: JSON.stringify(last).includes("ask") ? [{ name: "ask", input: {} }] : calls,
      };
    },
  });
  return createApp({ agents: { default: { model, tools: [look, ask] } }, store: memoryStore() });
}

type Found = Readonly<Record<string, unknown>>;

async function documentOf(app: Hono, path = "/openapi.json") {
  const response = await app.request(path);
  equal(response.status, 200);
  return await response.json();
}

Deno.test("GET /openapi.json is a valid document of OpenAPI 3.1, and its references lead somewhere", async () => {
  const document = await documentOf(makeApp());
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document));
  ok(valid, JSON.stringify(errors));
  equal(validator.version, "3.1");
  // The validator is no nodder.
  const broken = structuredClone(document);
  delete broken.paths["/v1/turns"].post.responses;
  broken.paths["/v1/turns"].post.parameters[0].in = "nowhere";
  equal((await new Validator().validate(broken)).valid, false);

  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref = ""]) => ref);
  ok(refs.length > 100);
  for (const ref of new Set(refs)) {
    const found = ref.replace("#/", "").split("/").reduce((at, name) => at?.[name], document);
    ok(found !== undefined, ref);
  }
  const ids = Object.values<Found>(document.paths).flatMap((methods) =>
    Object.values(methods).map((operation) => (operation as { operationId: string }).operationId)
  );
  equal(new Set(ids).size, ids.length);
});

Deno.test("every route of the router is in the document, and every one of the document in the router", async () => {
  const app = makeApp();
  const { paths } = await documentOf(app);
  const described = Object.entries<Found>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
  );
  const routed = routesOf(app).map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
  deepEqual(
    described.sort(),
    routed.sort(),
    "a route is described in src/http/openapi/operations.ts, next to the others",
  );
  const open = Object.entries(OPERATIONS).filter(([, { isPublic }]) => isPublic).map(([route]) => route);
  deepEqual(open.sort(), [...PUBLIC].sort());
});

Deno.test("every error code is in the document with its status, and each of the document in the table", async () => {
  const { paths, components } = await documentOf(makeApp());
  const known = [...Object.keys(STATUS), "internal"].sort();
  deepEqual(components.schemas.Problem.properties.code.enum, known);
  const used = new Set([
    ...[...DOOR, ...NO_ROUTE],
    ...Object.values(OPERATIONS).flatMap(({ codes = [], fieldCodes = [] }) => [...codes, ...fieldCodes]),
  ]);
  deepEqual([...used].sort(), known, "the routes that refuse with a code list it in operations.ts");
  // What is in the table stands under the status that is really sent.
  const { responses } = paths["/v1/turns"].post;
  match(responses["409"].description, /`turn_running`/);
  match(responses["429"].description, /`rate_limited`.*`queue_full`/);
  match(paths["/v1/compact"].post.responses["400"].description, /`bad_budget`/);
  match(paths["/v1/models/{id}"].get.responses["404"].description, /`unknown_agent`/);
  match(responses["401"].description, /`unauthorized`/);
  equal(paths["/healthz"].get.responses["401"], undefined);
});

Deno.test("the document names the place that the service is mounted at", async () => {
  const site = new Hono();
  site.route("/agent", makeApp());
  deepEqual((await documentOf(site, "/agent/openapi.json")).servers, [{ url: "/agent" }]);
  deepEqual((await documentOf(makeApp())).servers, [{ url: "/" }]);
});

/** The events of the schemas, as the loop names them. */
type Described = {
  readonly [Name in keyof typeof EVENTS]:
    & { readonly type: Name }
    & DeepReadonly<z.infer<typeof EVENTS[Name]>>;
}[keyof typeof EVENTS];
type DeepReadonly<T> = T extends readonly (infer Item)[] ? readonly DeepReadonly<Item>[]
  : T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
  : T;

Deno.test("the schemas of events are the events of the loop, by their types and by a turn", async () => {
  const there = (event: TurnEventBody): Described => event;
  const back = (event: Described): TurnEventBody => event;
  equal(there, there);
  equal(back, back);

  const app = makeApp();
  const seen = new Set<string>();
  for (const input of ["look", "ask", ...Array<string>(6).fill("look")]) {
    const body = JSON.stringify({ session: `s-${input}`, input, onPaused: "abort" });
    const response = await app.request("/v1/turns", { method: "POST", body });
    for (const { event = "", data } of parseFrames(await response.text())) {
      seen.add(event);
      const schema: z.ZodType | undefined = EVENTS[event as keyof typeof EVENTS];
      ok(schema !== undefined, event);
      deepEqual(schema.parse(data), data, event);
    }
  }
  for (const name of ["text.delta", "tool.progress", "tool.result", "context", "compaction", "turn.paused"]) {
    ok(seen.has(name), name);
  }
});

/** Requests whose answers are held against the document; `{turn}` stands for a turn that there is. */
const SAMPLES: readonly (readonly [route: string, path: string, body?: unknown])[] = [
  ["GET /healthz", "/healthz"],
  ["GET /readyz", "/readyz"],
  ["GET /openapi.json", "/openapi.json"],
  ["POST /v1/turns", "/v1/turns", { session: "s", input: "look", stream: false }],
  ["POST /v1/turns", "/v1/turns", { session: "p", input: "ask", stream: false }],
  ["GET /v1/sessions", "/v1/sessions"],
  ["GET /v1/sessions/:id", "/v1/sessions/p"],
  ["GET /v1/sessions/:id", "/v1/sessions/s"],
  ["POST /v1/turns/:id/results", "/v1/turns/{turn}/results", {
    results: [{ ref: "e1.0", output: { any: ["json", null] } }],
    stream: false,
  }],
  ["POST /v1/turns/:id/cancel", "/v1/turns/{turn}/cancel", {}],
  ["POST /v1/turns/cancel", "/v1/turns/cancel", {}],
  ["GET /v1/turns/:id/steps/:step/request", "/v1/turns/{turn}/steps/1/request"],
  ["GET /v1/turns/:id/steps/:step/request", "/v1/turns/{turn}/steps/2/request?diff=n-1"],
  ["GET /v1/sessions/:id/messages", "/v1/sessions/s/messages"],
  ["GET /v1/sessions/:id/context", "/v1/sessions/s/context"],
  ["GET /v1/sessions/:id/entries/:ref", "/v1/sessions/s/entries/e1"],
  ["GET /v1/sessions/:id/entries/:ref", "/v1/sessions/s/entries/e1.0"],
  ["GET /v1/sessions/:id/entries/:ref", "/v1/sessions/s/entries/e2?offset=3&limit=9"],
  ["GET /v1/sessions/:id/entries/:ref", "/v1/sessions/s/entries/e0..e3?search=word"],
  ["GET /v1/sessions/:id/pins", "/v1/sessions/s/pins"],
  ["POST /v1/sessions/:id/pins", "/v1/sessions/s/pins", { ref: "e0", pinned: true }],
  ["POST /v1/sessions/:id/compact", "/v1/sessions/s/compact", { dryRun: true }],
  ["POST /v1/sessions/:id/compact", "/v1/sessions/s/compact", {}],
  ["POST /v1/check", "/v1/check", { messages: [{ role: "tool", tool_call_id: "x", content: "lost" }] }],
  ["POST /v1/repair", "/v1/repair", { messages: [{ role: "tool", tool_call_id: "x", content: "lost" }] }],
  ["POST /v1/compact", "/v1/compact", { messages: longTranscript(), budget: 1_000 }],
  ["POST /v1/compact", "/v1/compact", { messages: longTranscript(), budget: 1_000, plan: true }],
  ["POST /v1/chat/completions", "/v1/chat/completions", {
    model: "default",
    messages: [{ role: "user", content: "look" }],
  }],
  ["GET /v1/models", "/v1/models"],
  ["GET /v1/models/:id", "/v1/models/default"],
  ["GET /api/chat/:id", "/api/chat/s"],
];

function longTranscript(): readonly unknown[] {
  return Array.from({ length: 30 }, (_, n) => [
    { role: "user", content: `Question ${n} ${"word ".repeat(60)}` },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: `c${n}`, type: "function", function: { name: "look", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: `c${n}`, content: "found ".repeat(40) },
    { role: "assistant", content: `Answer ${n}` },
  ]).flat();
}

Deno.test("what routes answer is what the document says, to the last field", async () => {
  const app = makeApp();
  let turn = "";
  const sampled = new Set<string>();
  for (const [route, path, body] of SAMPLES) {
    const [method = ""] = route.split(" ");
    const response = await app.request(path.replace("{turn}", turn), {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(route === "POST /v1/turns/cancel" ? { headers: { "idempotency-key": "k" } } : {}),
    });
    const found = await response.json();
    equal(response.status, 200, `${route}: ${JSON.stringify(found)}`);
    if (route === "POST /v1/turns") ({ turn } = found);
    const schema = OPERATIONS[route]?.answers[200]?.schema;
    ok(schema !== undefined, route);
    const parsed = schema.safeParse(found);
    ok(parsed.success, `${route}: ${parsed.success || z.prettifyError(parsed.error)}`);
    deepEqual(parsed.data, found, route);
    sampled.add(route);
  }
  const wanted = Object.entries(OPERATIONS).filter(([, { answers }]) => answers[200]?.schema !== undefined);
  deepEqual([...sampled].sort(), wanted.map(([route]) => route).sort());
});

Deno.test("a problem document is what its schema says", async () => {
  const app = makeApp();
  const { components: { schemas: { Problem } } } = await documentOf(app);
  const response = await app.request("/v1/sessions/none");
  const problem = await response.json();
  for (const name of Problem.required) ok(name in problem, name);
  ok(Problem.properties.code.enum.includes(problem.code));
});

Deno.test("GET /reference shows every route and schema, and needs nothing from elsewhere", async () => {
  const app = makeApp();
  const { paths, components } = await documentOf(app);
  const response = await app.request("/reference");
  match(response.headers.get("content-type") ?? "", /^text\/html/);
  const policy = response.headers.get("content-security-policy") ?? "";
  match(policy, /style-src 'self'/);
  const page = await response.text();
  ok(!/<script|<style|\sstyle=|\son\w+=|https?:\/\//i.test(page));
  for (
    const { operationId } of Object.values<Record<string, { operationId: string }>>(paths).flatMap(
      Object.values,
    )
  ) {
    ok(page.includes(`id="${operationId}"`), operationId);
    ok(page.includes(`href="#${operationId}"`), operationId);
  }
  for (const name of Object.keys(components.schemas)) ok(page.includes(`id="${name}"`), name);
  // Every link within the page leads somewhere.
  for (const [, id] of page.matchAll(/href="#([^"]+)"/g)) ok(page.includes(`id="${id}"`), id);
  const style = await app.request("/reference.css");
  match(style.headers.get("content-type") ?? "", /^text\/css/);
  ok((await style.text()).length > 100);
});
