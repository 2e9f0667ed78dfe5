import { deepEqual, equal, match, ok } from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { createApp, Drain, lineLog, type LogEntry } from "../../src/http/mod.ts";
import type { AppOptions } from "../../src/http/options.ts";
import { fallback } from "../../src/models/fallback.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Model } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { calls, replies, tool, withCommit } from "../support/turns.ts";

const SECRETS = ["walrus", "the-key-of-acme", "lighthouse", "cormorant"];

function makeApp(options: Partial<AppOptions> = {}) {
  const entries: LogEntry[] = [];
  const script = replies(calls("look", { at: "lighthouse" }), { text: "I saw a walrus." });
  const app = createApp({
    agents: { default: { model: scripted({ script }), tools: [tool("look", () => "A cormorant.")] } },
    store: memoryStore(),
    clock: new ManualClock(0),
    auth: ({ headers }) =>
      headers.get("x-api-key") === "the-key-of-acme" ? { tenant: "acme", user: "ann" } : null,
    log: (entry) => void entries.push(entry),
    newId: (kind) => `${kind}-1`,
    ...options,
  });
  const run = async () => {
    const response = await app.request("/v1/turns?key=the-key-of-acme", {
      method: "POST",
      body: JSON.stringify({ input: "Where is the walrus?" }),
      headers: { "x-api-key": "the-key-of-acme", "x-request-id": "req-1" },
    });
    await response.text();
  };
  return { app, entries, run };
}

Deno.test("the log says why keys or tools could not be had, and clients are told that they could not", async () => {
  const broken = new Error("connection refused by vault", { cause: new TypeError("no route to 10.0.0.7") });
  const model = scripted({ script: replies() });
  const agents = { default: { model, tools: () => Promise.reject(broken) } };
  const auth = () => {
    throw new SelvageError("auth_unavailable", "Cannot check the token", { cause: broken });
  };
  const post = { method: "POST", body: '{"session":"s","input":"Hi"}', headers: { "x-request-id": "req-2" } };
  const queued = { ...post, body: '{"session":"s","input":"Hi","whenBusy":"enqueue"}' };
  const cases: readonly [code: string, options: Partial<AppOptions>, request: RequestInit][] = [
    ["auth_unavailable", { auth }, post],
    ["tools_unavailable", { agents, auth: () => ({ tenant: "acme" }) }, post],
    ["tools_unavailable", { agents, auth: () => ({ tenant: "acme" }) }, queued],
  ];
  for (const [code, options, request] of cases) {
    const { app, entries } = makeApp(options);
    const answer = await (await app.request("/v1/turns", request)).text();
    ok(answer.includes(code) && !/vault|10\.0\.0\.7/.test(answer), answer);
    const [entry, ...rest] = entries.filter(({ cause }) => cause !== undefined);
    deepEqual(rest, []);
    deepEqual([entry?.["request"], entry?.["cause"]], [
      "req-2",
      "Error: connection refused by vault; TypeError: no route to 10.0.0.7",
    ]);
    // The request of a stream is told of when that begins: what comes of its turn has an entry of its own.
    const told = [entry?.level, entry?.event, entry?.["code"] ?? entry?.["status"]];
    deepEqual(told, request === queued ? ["warn", "turn.refused", code] : ["error", "request", 503]);
  }
});

Deno.test("the log tells of a request and its turn, with ids, and of nothing that was said", async () => {
  const { entries, run } = makeApp();
  await run();
  deepEqual(entries.map(({ event }) => event), ["turn.started", "request", "tool.result", "turn.finished"]);
  const who = { tenant: "acme", user: "ann", session: "session-1", turn: "turn-1" };
  deepEqual(entries[1], {
    level: "info",
    event: "request",
    request: "req-1",
    method: "POST",
    path: "/v1/turns",
    status: 200,
    ms: 0,
    ...who,
  });
  for (const entry of entries) {
    const { request, tenant, user, session, turn } = entry;
    deepEqual({ request, tenant, user, session, turn }, { request: "req-1", ...who });
  }
  const last = entries.at(-1);
  deepEqual([last?.["reason"], last?.["steps"]], ["stop", 2]);
  for (const secret of SECRETS) ok(!JSON.stringify(entries).includes(secret), secret);
});

Deno.test("the log tells of answers and the turn that goes on with them, under the id of their request", async () => {
  const entries: LogEntry[] = [];
  const script = replies(calls("locate", { place: "home" }), { text: "There." });
  const { app } = makeApp({
    agents: { default: { model: scripted({ script }) } },
    log: (entry) => void entries.push(entry),
  });
  const post = async (path: string, id: string, body: unknown) => {
    const headers = { "x-api-key": "the-key-of-acme", "x-request-id": id };
    return await (await app.request(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
  };
  const clientTools = [{ name: "locate", description: "Where it is", inputSchema: { type: "object" } }];
  const { turn, pending } = await post("/v1/turns", "req-1", { input: "Where?", clientTools, stream: false });
  const results = [{ ref: pending[0].ref, output: "Oslo" }];
  await post(`/v1/turns/${turn}/results`, "req-2", { results, stream: false });
  deepEqual(
    entries.map(({ event, request, session, turn }) => [event, request, session, turn]),
    [["turn.started", "req-1"], ["turn.paused", "req-1"], ["request", "req-1"], ["tool.result", "req-2"], [
      "turn.finished",
      "req-2",
    ], ["request", "req-2"]].map((told) => [...told, "session-1", "turn-1"]),
  );
});

Deno.test("the log tells what was said only where that is asked for, and keys never", async () => {
  const { entries, run } = makeApp({ logContent: true });
  await run();
  const text = JSON.stringify(entries);
  for (const said of ["Where is the walrus?", "I saw a walrus.", "lighthouse", "cormorant"]) {
    ok(text.includes(said), said);
  }
  ok(!text.includes("the-key-of-acme"));
});

Deno.test("the log tells of refusals, and of faults with what the client does not hear", async () => {
  const store = memoryStore();
  const { app, entries } = makeApp({
    store: {
      ...withCommit(store, (key, lease, commit) => store.commit(key, lease, commit)),
      list: () => Promise.reject(new Error("disk of oak")),
    },
  });
  equal((await app.request("/v1/sessions")).status, 401);
  const response = await app.request("/v1/sessions", { headers: { "x-api-key": "the-key-of-acme" } });
  equal(response.status, 503);
  ok(!(await response.text()).includes("oak"));
  deepEqual(entries.map(({ event, level, status }) => [event, level, status]), [
    ["request", "info", 401],
    ["fault", "error", undefined],
    ["request", "error", 503],
  ]);
  match(String(entries[1]?.["stack"]), /disk of oak/);
  equal(entries[1]?.["request"], response.headers.get("x-request-id"));
});

Deno.test("the log tells where a model could not be reached, and why; the client hears the sentence alone", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const baseURL = `http://127.0.0.1:${port}/v1/secret-path?key=very-secret-key`;
  const model = openaiChat({ model: "m", apiKey: "sk-very-secret", baseURL, maxRetries: 0 });
  const { app, entries } = makeApp({ agents: { default: { model } } });
  const headers = { "x-api-key": "the-key-of-acme" };
  const response = await app.request("/v1/turns", { method: "POST", headers, body: '{"input":"Hi"}' });
  const said = await response.text();
  match(
    said,
    /Cannot get an answer from m: found a connection that failed, wanted one that lasts to the end/,
  );
  ok(!said.includes(String(port)) && !said.includes("refused"), said);
  const told = entries.find(({ event }) => event === "turn.error");
  deepEqual([told?.["code"], told?.["origin"]], ["model_unreachable", `http://127.0.0.1:${port}`]);
  match(String(told?.["cause"]), /connection refused/i);
  ok(!/secret/.test(JSON.stringify(entries)));
});

Deno.test("the log has a provider's status, its words only where content is asked for, and whole faults", async () => {
  const refused = fakeFetch({ status: 404, reads: ["no model walrus"] });
  for (const logContent of [false, true]) {
    const model = openaiChat({ model: "m", baseURL: "http://models.example/v1", fetch: refused.fetch });
    const { entries, run } = makeApp({ agents: { default: { model } }, logContent });
    await run();
    const told = entries.find(({ event }) => event === "turn.error");
    deepEqual(
      [told?.["code"], told?.["origin"], told?.["status"], told?.["upstream"]],
      ["model_not_found", "http://models.example", 404, logContent ? "no model walrus" : undefined],
    );
  }
  const broken: Model = {
    ...scripted({ script: () => ({}) }),
    stream() {
      throw new TypeError("a fault of its own");
    },
  };
  const { entries, run } = makeApp({ agents: { default: { model: broken } } });
  await run();
  const fault = entries.find(({ event }) => event === "fault");
  deepEqual([fault?.["level"], fault?.["request"], fault?.["turn"]], ["error", "req-1", "turn-1"]);
  match(String(fault?.["stack"]), /a fault of its own/);
  deepEqual(entries.filter(({ event }) => event === "turn.error").map(({ code }) => code), ["internal"]);
});

Deno.test("the log warns where a model was passed over, and everything that tells who answered names the other one", async () => {
  const refused = fakeFetch({ status: 401, reads: ["no key sk-very-secret for walrus"] });
  const baseURL = "http://models.example/secret-path/v1?token=secret-query";
  for (const logContent of [false, true]) {
    const first = openaiChat({ model: "first", apiKey: "sk-very-secret", baseURL, fetch: refused.fetch });
    const second = scripted({ id: "second", script: () => ({ text: "Here." }) });
    const agents = { default: { model: fallback([first, second]) } };
    const { app, entries } = makeApp({ agents, logContent });
    const post = async (path: string, body: unknown, to = app): Promise<string> => {
      const headers = { "x-api-key": "the-key-of-acme", "x-request-id": "req-1" };
      return await (await to.request(path, { method: "POST", headers, body: JSON.stringify(body) })).text();
    };
    equal(JSON.parse(await post("/v1/turns", { input: "Hi", stream: false })).model, "second");
    const chat = { id: "c1", messages: [{ id: "u1", role: "user", parts: [{ type: "text", text: "Hi" }] }] };
    match(await post("/api/chat", chat, makeApp({ agents }).app), /"messageMetadata":\{"model":"second"/);
    const { request: _, tenant: __, user: ___, ...told } = entries.find(({ event }) =>
      event === "model.fallback"
    ) ?? {} as LogEntry;
    deepEqual(told, {
      level: "warn",
      event: "model.fallback",
      session: "session-1",
      turn: "turn-1",
      from: "first",
      to: "second",
      code: "model_auth",
      origin: "http://models.example",
      status: 401,
      cause: "the provider refused the key, or found none",
      ...(logContent ? { upstream: "no key [key] for walrus" } : {}),
    });
    deepEqual(
      entries.filter(({ event }) => /^turn\./.test(event)).map(({ event, model }) => [event, model]),
      [["turn.started", "first"], ["turn.finished", "second"]],
    );
    ok(!/secret/.test(JSON.stringify(entries)));
  }
});

Deno.test("lineLog() writes lines of JSON or text, from its level on", () => {
  const lines: string[] = [];
  const options = { write: (line: string) => void lines.push(line), now: () => 0 };
  const json = lineLog(options);
  json({ level: "debug", event: "none" });
  json({ level: "warn", event: "turn.error", code: "x", user: undefined });
  const text = lineLog({ ...options, level: "debug", format: "text" });
  text({
    level: "debug",
    event: "request",
    path: "/a\n2026 error forged=1",
    status: 404,
    usage: { n: 1 },
    to: "",
  });
  deepEqual(lines, [
    '{"at":"1970-01-01T00:00:00.000Z","level":"warn","event":"turn.error","code":"x"}',
    '1970-01-01T00:00:00.000Z debug request path="/a\\n2026 error forged=1" status=404 usage="{\\"n\\":1}" to=""',
  ]);
});

Deno.test("/readyz is 200 while the store answers and the service takes work", async () => {
  const drain = new Drain();
  const store = memoryStore();
  let isDown = false;
  const { app } = makeApp({
    drain,
    store: {
      ...withCommit(store, (key, lease, commit) => store.commit(key, lease, commit)),
      claim: (owner, name, claim) =>
        isDown ? Promise.reject(new Error("gone")) : store.claim(owner, name, claim),
    },
  });
  const ready = await app.request("/readyz");
  deepEqual([ready.status, await ready.json()], [200, { status: "ready" }]);
  isDown = true;
  equal((await app.request("/readyz")).status, 503);
  isDown = false;
  await drain.start();
  const going = await app.request("/readyz");
  deepEqual([going.status, going.headers.get("retry-after")], [503, "1"]);
  equal((await app.request("/healthz")).status, 200, "it is alive while it goes down");
});

Deno.test("the log tells of a tool that fails, by name and place, and its text only where that is asked for", async () => {
  for (const logContent of [false, true]) {
    const script = replies(calls("look", { at: "lighthouse" }), { text: "Gone." });
    const look = tool("look", () => {
      throw new Error("postgres://cormorant");
    });
    const { entries, run } = makeApp({
      agents: { default: { model: scripted({ script }), tools: [look] } },
      logContent,
    });
    await run();
    const failed = entries.find(({ event }) => event === "tool.failed");
    const facts = ["level", "name", "status", "step", "ref", "turn"].map((fact) => failed?.[fact]);
    deepEqual(facts, ["info", "look", "error", 1, "e1.0", "turn-1"]);
    equal(JSON.stringify(entries).includes("postgres"), logContent);
  }
});
