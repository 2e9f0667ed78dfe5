/** What the tools of MCP servers are called, what they give, and how a call of one ends. */
import assert from "node:assert/strict";
import { ownTools } from "../../src/loop/tool_set.ts";
import { mcpTools } from "../../src/tools/mcp.ts";
import { type DoubleTool, McpDouble } from "../support/mcp_double.ts";
import { Bench, calls, endOf, eventsOf, KEY, replies, tool } from "../support/turns.ts";
import { named, Rig } from "./_mcp_rig.ts";

const PNG = "iVBORw0KGgo=";

Deno.test("mcpTools() lists page by page and gives what a tool gave, in parts", async () => {
  const contents: Record<string, unknown> = {
    text: { content: [{ type: "text", text: "plain" }] },
    texts: { content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] },
    none: { content: [] },
    image: { content: [{ type: "image", mimeType: "image/png", data: PNG }] },
    audio: { content: [{ type: "text", text: "hear" }, { type: "audio", mimeType: "audio/wav", data: PNG }] },
    resource: { content: [{ type: "resource", resource: { uri: "file:///a", text: "inside" } }] },
    blob: {
      content: [{ type: "resource", resource: { uri: "file:///b", mimeType: "image/png", blob: PNG } }],
    },
    link: { content: [{ type: "resource_link", uri: "file:///c", name: "c" }] },
    json: { content: [{ type: "text", text: '{ "n": 1 }' }], structuredContent: { n: 1 } },
    both: { content: [{ type: "text", text: "one" }], structuredContent: { n: 1 } },
    failed: { isError: true, content: [{ type: "text", text: "no such file" }] },
    thrown: null,
  };
  const tools = Object.keys(contents).map((name): DoubleTool => ({
    name,
    run: () => {
      if (contents[name] === null) throw new Error("broken inside");
      return contents[name];
    },
  }));
  await using double = new McpDouble(tools, { page: 5 });
  await using rig = new Rig({ double: double.url }, [{
    calls: Object.keys(contents).map((name) => ({ name, input: {} })),
  }]);
  const file = { type: "file", mediaType: "image/png", data: PNG };
  assert.deepEqual(
    Object.fromEntries((await rig.run()).map((result, at) => [Object.keys(contents)[at], result])),
    {
      text: ["ok", "plain"],
      texts: ["ok", [{ type: "text", text: "a" }, { type: "text", text: "b" }]],
      none: ["ok", ""],
      image: ["ok", [file]],
      audio: ["ok", [{ type: "text", text: "hear" }, { ...file, mediaType: "audio/wav" }]],
      resource: ["ok", "[resource file:///a]\ninside"],
      blob: ["ok", [file]],
      link: ["ok", "[resource c](file:///c)"],
      json: ["ok", { n: 1 }],
      both: ["ok", [{ type: "text", text: "one" }, { type: "text", text: '{"n":1}' }]],
      failed: ["error", "failed failed: no such file"],
      thrown: ["error", "thrown failed: broken inside"],
    },
  );
  assert.deepEqual(rig.offered, Object.keys(contents).toSorted());
  assert.equal(double.methods.filter((method) => method === "tools/list").length, 3);
  assert.deepEqual(rig.lines, []);
});

Deno.test("mcpTools() puts the server in front of names that clash or do not fit, and calls by the server's own", async () => {
  const long = "x".repeat(90);
  const ran: string[] = [];
  const make = (who: string) =>
    named("read", "a.b/c", long, `${who}_only`, "recall", "own").map(({ name }) => ({
      name,
      run: () => `${ran.push(`${who} ${name}`)}`,
    }));
  await using one = new McpDouble(make("one"));
  await using two = new McpDouble(make("two"));
  const own = { tools: [tool("own", () => "ours")] };
  await using rig = new Rig({ one: one.url, two: two.url }, [], own);
  const list = ownTools(await rig.mcp.tools(KEY));
  const names = list.map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => name.length < 60),
    [
      "own",
      "one_a_b_c",
      "one_only",
      "one_own",
      "one_read",
      "one_recall",
      "two_a_b_c",
      "two_own",
      "two_read",
      "two_recall",
      "two_only",
    ].toSorted((a, b) => names.indexOf(a) - names.indexOf(b)),
  );
  assert.equal(new Set(names).size, 13);
  assert.ok(names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)));
  assert.deepEqual(await rig.names(), names);
  const turn = new Bench({ tools: list, script: replies(calls("two_a_b_c", {}), calls("one_read", {})) });
  assert.equal(endOf(await turn.run("Go.")), "stop");
  assert.deepEqual(ran, ["two a.b/c", "one read"]);
});

Deno.test("mcpTools() tells progress, and an abort reaches the server", async () => {
  let aborted = (): void => {};
  const atServer = new Promise<void>((resolve) => aborted = resolve);
  await using double = new McpDouble([
    {
      name: "work",
      run: async (_, { progress }) => {
        await progress({ progress: 1, total: 2, message: "half" });
        return "done";
      },
    },
    {
      name: "hang",
      run: (_, { signal, progress }) => {
        signal.addEventListener("abort", aborted);
        return progress({ progress: 1 }).then(() => new Promise(() => {}));
      },
    },
  ]);
  await using rig = new Rig({ double: double.url }, [
    calls("work", {}),
    { text: "Worked." },
    calls("hang", {}),
  ]);
  const events = await Array.fromAsync(rig.start());
  assert.deepEqual(eventsOf(events, "tool.progress").map(({ data }) => data), [{
    progress: 1,
    total: 2,
    message: "half",
  }]);
  assert.deepEqual(eventsOf(events, "tool.result").map(({ output }) => output), ["done"]);
  const stop = new AbortController();
  const left = [];
  for await (const event of rig.start({ signal: stop.signal })) {
    if (event.type === "tool.progress") stop.abort();
    left.push(event);
  }
  assert.deepEqual(eventsOf(left, "tool.result").map(({ status }) => status), ["aborted"]);
  await atServer;
  assert.ok(double.methods.includes("notifications/cancelled"));
});

Deno.test("mcpTools() ends a call whose time is up, and tells the server", async () => {
  let aborted = (): void => {};
  const atServer = new Promise<void>((resolve) => aborted = resolve);
  await using double = new McpDouble([{
    name: "slow",
    run: (_, { signal, progress }) => {
      signal.addEventListener("abort", aborted);
      return progress({ progress: 1 }).then(() => new Promise(() => {}));
    },
  }]);
  await using rig = new Rig({ double: { url: double.url, timeoutMs: 700 } }, [calls("slow", {})]);
  const results = [];
  for await (const event of rig.start()) {
    if (event.type === "tool.progress") {
      await rig.bench.clock.untilSleeping((ms) => ms === 700);
      await rig.bench.clock.advance(700);
    }
    if (event.type === "tool.result") results.push([event.status, event.output]);
  }
  assert.deepEqual(results, [["error", "slow did not finish in 700 ms"]]);
  await atServer;
});

Deno.test("mcpTools() refuses output that is huge or not what its schema says", async () => {
  const big = "x".repeat(1_000_000);
  await using double = new McpDouble([
    {
      name: "huge",
      run: () => ({ content: Array.from({ length: 20 }, () => ({ type: "text", text: big })) }),
    },
    {
      name: "invalid",
      outputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      run: () => ({ content: [], structuredContent: { n: "one" } }),
    },
    { name: "odd", run: () => ({ content: [{ type: "hologram", data: 1 }] }) },
    { name: "fine", run: () => "fine" },
  ]);
  await using rig = new Rig({ double: double.url }, [
    calls("invalid", {}),
    calls("odd", {}),
    calls("huge", {}),
    calls("fine", {}),
  ]);
  const results = await rig.run();
  assert.deepEqual(results.map(([status]) => status), ["error", "error", "error", "ok"]);
  for (const [, output] of results) assert.ok(String(output).length < 3_000);
});

Deno.test("mcpTools() asks a person where the server's owner wants that, and repeats only what may be repeated", async () => {
  await using double = new McpDouble([
    { name: "look", annotations: { readOnlyHint: true }, run: () => "seen" },
    { name: "wipe", annotations: { destructiveHint: true }, run: () => "wiped" },
    { name: "write", annotations: { idempotentHint: true, readOnlyHint: false }, run: () => "written" },
  ]);
  const url = double.url;
  await using rig = new Rig({
    double: { url, needsApproval: ({ annotations }) => annotations["readOnlyHint"] !== true },
  }, [{ calls: [{ name: "look", input: {} }, { name: "wipe", input: {} }] }]);
  const events = await Array.fromAsync(rig.start());
  assert.deepEqual(eventsOf(events, "turn.paused")[0]?.pending.map(({ name, reason }) => [name, reason]), [[
    "wipe",
    "approval",
  ]]);
  assert.deepEqual(eventsOf(events, "tool.result").map(({ output }) => output), ["seen"]);
  const [{ ref = "" } = {}] = eventsOf(events, "turn.paused")[0]?.pending ?? [];
  const agent = { ...rig.bench.agent, tools: rig.mcp.tools };
  const then = await rig.bench.answer({ agent, approvals: [{ ref, approved: true }] });
  assert.deepEqual(eventsOf(then, "tool.result").map(({ output }) => output), ["wiped"]);
  assert.equal(endOf(then), "stop");
  const tools = await rig.mcp.tools({ tenant: "local", session: "s1" });
  assert.deepEqual(Array.isArray(tools) ? tools.map(({ sideEffect }) => sideEffect) : [], [
    "none",
    undefined,
    // Once more is no effect more, but by then somebody else may have written.
    undefined,
  ]);
});

Deno.test("mcpTools() refuses names and addresses that are none", () => {
  for (
    const [name, url] of [["a b", "http://a/"], ["", "http://a/"], ["a", "ftp://a/"], ["a", "a"]] as const
  ) {
    assert.throws(() => mcpTools({ [name]: url }), TypeError);
  }
});
