import assert from "node:assert/strict";
import type { ToolsOf } from "../../src/loop/agent.ts";
import { createApp } from "../../src/http/mod.ts";
import { inspectRequest } from "../../src/loop/inspect_request.ts";
import type { SessionKey, Tool } from "../../src/ports.ts";
import { Bench, calls, endOf, eventsOf, KEY, replies, tool } from "../support/turns.ts";

const one = tool("one", () => "1");
const two = tool("two", () => "2");

Deno.test("runTurn() asks for tools once a turn, of the caller; a change counts from the next turn on", async () => {
  const bench = new Bench({
    script: replies(calls("one", {}), calls("two", {}), { text: "A." }, calls("two", {})),
  });
  let list: readonly Tool[] = [one];
  const asked: SessionKey[] = [];
  const tools: ToolsOf = (caller) => {
    asked.push(caller);
    return Promise.resolve(list);
  };
  const agent = { ...bench.agent, tools };
  const first: string[] = [];
  for await (const event of bench.start("Go.", { agent, user: "ada" })) {
    list = [one, two];
    if (event.type === "tool.result") first.push(`${event.name} ${event.status}`);
  }
  assert.deepEqual(first, ["one ok", "two error"]);
  const then = eventsOf(await bench.run("Again.", { agent, user: "ada" }), "tool.result");
  assert.deepEqual(then.map(({ output }) => output), ["2"]);
  assert.deepEqual(asked, [{ tenant: "local", user: "ada", session: "s1" }, {
    tenant: "local",
    user: "ada",
    session: "s1",
  }]);
  const names = bench.requests.map(({ tools }) => tools.map(({ name }) => name).join());
  assert.deepEqual(names, ["one,recall", "one,recall", "one,recall", "one,two,recall", "one,two,recall"]);
  const state = await bench.store.read({ ...KEY, user: "ada" });
  const prefixes = state?.entries.flatMap((entry) => entry.kind === "assistant" ? [entry.prefix] : []) ?? [];
  assert.deepEqual(prefixes.map((prefix) => prefixes.indexOf(prefix)), [0, 0, 0, 3, 3]);
  const place = { key: { ...KEY, user: "ada" }, agent };
  assert.equal((await inspectRequest(bench.store, { ...place, turn: "t0", step: 1 })).isExact, false);
  assert.equal((await inspectRequest(bench.store, { ...place, turn: "t1", step: 1 })).isExact, true);
});

Deno.test("tools that do not fit the window are refused in words that help, and not tried again", async () => {
  const bench = new Bench({ window: 8_000 });
  let length = 0;
  const tools: ToolsOf = () => Array.from({ length }, (_, n) => tool(`tool_${n}`, () => ""));
  const { store, clock } = bench;
  const app = createApp({ agents: { default: { ...bench.agent, tools } }, store, clock });
  const post = async (path: string, body: unknown) => {
    const response = await app.request(path, { method: "POST", body: JSON.stringify(body) });
    return { status: response.status, wait: response.headers.get("retry-after"), ...await response.json() };
  };
  const go = { session: "s1", input: "Go.", stream: false };
  assert.equal((await post("/v1/turns", go)).status, 200);
  const before = await bench.state();
  length = 300;
  for (
    const refused of [
      await post("/v1/turns", go),
      await post("/v1/sessions/s1/compact", {}),
      await post("/v1/sessions/s1/pins", { ref: "e0", pinned: true }),
    ]
  ) {
    assert.deepEqual([refused.status, refused.code, refused.wait], [422, "tools_too_large", null]);
    assert.match(
      refused.detail,
      /^Cannot use the tools of the agent: found 300 of them that take, .* about \d+ tokens of a window of 8000 /,
    );
    assert.equal(refused.window, 8_000);
  }
  assert.deepEqual(await bench.state(), before);
  length = 1;
  assert.equal((await post("/v1/turns", go)).status, 200);
});

Deno.test("runTurn() stores nothing where tools cannot be had", async () => {
  const bench = new Bench();
  const cases: readonly (readonly [ToolsOf, RegExp | string])[] = [
    [() => Promise.reject(new Error("a secret")), "tools_unavailable"],
    [() => {
      throw new Error("a secret");
    }, "tools_unavailable"],
    [() => [one, one], /two tools called one/],
    [() => Array.from({ length: 9_000 }, (_, n) => tool(`tool_${n}`, () => "")), "tools_too_large"],
  ];
  for (const [tools, wanted] of cases) {
    const failed = bench.run("Go.", { agent: { ...bench.agent, tools } });
    await assert.rejects(failed, (error: Error & { code?: string }) => {
      assert.ok(!error.message.includes("secret"));
      return typeof wanted === "string" ? error.code === wanted : wanted.test(error.message);
    });
  }
  assert.equal(await bench.store.read(KEY), null);
});

Deno.test("runTurn() does not wait for tools for ever, nor longer than its caller", async () => {
  const bench = new Bench();
  const agent = { ...bench.agent, tools: () => new Promise<readonly Tool[]>(() => {}) };
  const late = assert.rejects(bench.run("Go.", { agent }), { code: "tools_unavailable" });
  await bench.clock.untilSleeping();
  await bench.clock.advance(30_000);
  await late;
  const stop = new AbortController();
  const gone = assert.rejects(bench.run("Go.", { agent, signal: stop.signal }), { name: "AbortError" });
  stop.abort();
  await gone;
  assert.deepEqual(bench.clock.sleeping, []);
  assert.equal(endOf(await bench.run("Go.")), "stop");
});
