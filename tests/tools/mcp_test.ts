import assert from "node:assert/strict";
import { type McpServer, mcpTools } from "../../src/tools/mcp.ts";
import type { TurnRequest } from "../../src/loop/agent.ts";
import { ownTools } from "../../src/loop/tool_set.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import { type DoubleTool, McpDouble } from "../support/mcp_double.ts";
import { Bench, calls, endOf, eventsOf, KEY, replies, tool } from "../support/turns.ts";

/** A session whose agent has the tools of servers. */
class Rig implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly bench: Bench;
  readonly mcp: ReturnType<typeof mcpTools>;

  constructor(
    servers: Readonly<Record<string, string | McpServer>>,
    list: readonly ScriptedReply[] = [],
    own: Parameters<typeof mcpTools>[1] = {},
  ) {
    this.bench = new Bench({ script: replies(...list) });
    this.mcp = mcpTools(servers, { clock: this.bench.clock, say: (line) => this.lines.push(line), ...own });
  }

  start(rest: Partial<TurnRequest> = {}) {
    return this.bench.start("Go.", { agent: { ...this.bench.agent, tools: this.mcp.tools }, ...rest });
  }

  /** Runs a turn; gives status and output of its calls. */
  async run(rest: Partial<TurnRequest> = {}) {
    const events = await Array.fromAsync(this.start(rest));
    assert.equal(endOf(events), "stop");
    const results = eventsOf(events, "tool.result").toSorted((a, b) => a.step - b.step || a.call - b.call);
    return results.map(({ status, output }) => [status, output]);
  }

  /** Names that the model was told of in its last request. */
  get offered(): readonly string[] {
    return this.bench.requests.at(-1)?.tools.map(({ name }) => name).filter((name) => name !== "recall") ??
      [];
  }

  /** Names of the tools of the next turn. */
  async names(): Promise<readonly string[]> {
    return ownTools(await this.mcp.tools(KEY)).map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.mcp.close();
    assert.deepEqual(this.bench.clock.sleeping, [], "a timer is left");
  }
}

/** Looks until something is so. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!await isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

function named(...names: readonly string[]): readonly DoubleTool[] {
  return names.map((name) => ({ name, run: () => `${name} ran` }));
}

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

for (const era of ["session", "modern"] as const) {
  Deno.test(`mcpTools() has a changed list from the next turn on, and the tools of a turn until its end: ${era}`, async () => {
    await using double = new McpDouble(named("first"), { era });
    await using rig = new Rig({ double: double.url }, [
      calls("first", {}),
      calls("second", {}),
      { text: "A." },
      calls("second", {}),
    ]);
    const results: unknown[] = [];
    for await (const event of rig.start()) {
      if (event.type === "step.started" && event.step === 1) {
        await until(() => /GET|subscriptions/.test(double.methods.join()));
        double.tools = named("second");
        await double.changed();
      }
      if (event.type === "tool.result") results.push([event.name, event.status]);
    }
    assert.deepEqual(results, [["first", "error"], ["second", "error"]]);
    assert.deepEqual(rig.bench.requests.map(({ tools }) => tools[0]?.name), ["first", "first", "first"]);
    // The word of it may come a little later than the end of the turn.
    await until(async () => (await rig.names()).includes("second"));
    assert.deepEqual(await rig.run(), [["ok", "second ran"]]);
    assert.deepEqual(rig.offered, ["second"]);
    const lists = double.methods.filter((method) => method === "tools/list").length;
    await rig.run();
    assert.equal(
      double.methods.filter((method) => method === "tools/list").length,
      lists,
      "it did not change again",
    );
  });
}

Deno.test("mcpTools() goes on without a server that is down, says so once, and has its tools when it is back", async () => {
  await using up = new McpDouble(named("there"));
  await using double = new McpDouble(named("missing"));
  await double.die();
  await using rig = new Rig({ up: up.url, down: double.url }, []);
  await rig.run();
  assert.deepEqual(rig.offered, ["there"]);
  await rig.run();
  assert.equal(rig.lines.length, 1, rig.lines.join("\n"));
  assert.match(
    rig.lines[0] ?? "",
    /^MCP server down \(http:\/\/127\.0\.0\.1:\d+\/mcp\): the server could not be reached;/,
  );
  double.start();
  await rig.run();
  assert.deepEqual(rig.offered, ["there"], "it is not tried again at once");
  await rig.bench.clock.advance(60_000);
  await rig.run();
  assert.deepEqual(rig.offered, ["there", "missing"]);
  assert.match(rig.lines[1] ?? "", /answers again$/);
  assert.equal(rig.lines.length, 2);
});

Deno.test("mcpTools() does not wait for a server that does not answer", async () => {
  await using double = new McpDouble(named("slow"), {
    intercept: () => new Promise(() => {}),
  });
  await using rig = new Rig({ double: double.url }, []);
  const run = rig.run();
  await rig.bench.clock.untilSleeping((ms) => ms === 5_000);
  await rig.bench.clock.advance(5_000);
  assert.deepEqual(await run, []);
  assert.match(rig.lines[0] ?? "", /no answer in 5000 ms/);
});

Deno.test("mcpTools() answers calls of a server that died with errors, and finds it again", async () => {
  let isDying = true;
  const double = new McpDouble([{
    name: "work",
    run: async () => {
      if (!isDying) return "worked";
      isDying = false;
      void double.die();
      return await new Promise(() => {});
    },
  }]);
  await using _ = double;
  await using rig = new Rig({ double: double.url }, [
    calls("work", {}),
    calls("work", {}),
    { text: "It died." },
    calls("work", {}),
    { text: "Still." },
    calls("work", {}),
  ]);
  assert.deepEqual(await rig.run(), [
    ["error", "work failed: The server ended the connection before it answered"],
    ["error", "work failed: the server could not be reached"],
  ]);
  // Its tools are still known, and offered: the prefix does not change with the network.
  assert.deepEqual(await rig.run(), [["error", "work failed: the server could not be reached"]]);
  assert.deepEqual(rig.offered, ["work"]);
  double.start();
  await rig.bench.clock.advance(60_000);
  assert.deepEqual(await rig.run(), [["ok", "worked"]]);
});

Deno.test("mcpTools() calls again where a server has forgotten the session", async () => {
  await using double = new McpDouble(named("work"));
  await using rig = new Rig({ double: double.url }, [calls("work", {}), calls("work", {})]);
  const results: unknown[] = [];
  for await (const event of rig.start()) {
    if (event.type !== "tool.result") continue;
    results.push([event.status, event.output]);
    if (results.length > 1) continue;
    await double.die();
    double.start();
  }
  assert.deepEqual(results, [["ok", "work ran"], ["ok", "work ran"]]);
  assert.equal(double.methods.filter((method) => method === "initialize").length, 2);
});

Deno.test("mcpTools() sends headers of the caller, and keeps callers apart", async () => {
  await using double = new McpDouble(named("work"));
  const url = double.url;
  await using rig = new Rig({
    double: { url, headers: ({ tenant, user = "" }) => Promise.resolve({ "x-who": `${tenant}/${user}` }) },
  }, [calls("work", {}), { text: "1." }, calls("work", {}), { text: "2." }, calls("work", {})]);
  assert.deepEqual(await rig.run({ user: "ada" }), [["ok", "work ran"]]);
  assert.deepEqual(await rig.run({ user: "bob" }), [["ok", "work ran"]]);
  assert.deepEqual(await rig.run({ user: "ada" }), [["ok", "work ran"]]);
  assert.equal(double.sessions, 2);
  const who = new Map<string, Set<string>>();
  for (const { headers } of double.requests) {
    const session = headers.get("mcp-session-id") ?? "none";
    who.set(session, (who.get(session) ?? new Set()).add(headers.get("x-who") ?? ""));
  }
  who.delete("none");
  assert.deepEqual([...who.values()].map((names) => [...names]), [["local/ada"], ["local/bob"]]);
  await rig.mcp.close();
  assert.equal(double.sessions, 0, "sessions end with the service");
});

Deno.test("mcpTools() goes on without a server whose headers cannot be found out, and tells nobody why", async () => {
  await using up = new McpDouble(named("there"));
  await using double = new McpDouble(named("work"));
  let isBroken = true;
  const headers = () => {
    if (isBroken) throw new Error("a secret");
    return {};
  };
  await using rig = new Rig({ up: up.url, double: { url: double.url, headers } }, [
    { text: "1." },
    calls("work", {}),
    { text: "2." },
  ]);
  await rig.run();
  assert.deepEqual(rig.offered, ["there"]);
  isBroken = false;
  const results: unknown[] = [];
  for await (const event of rig.start()) {
    if (event.type === "step.started") isBroken = event.step === 1;
    if (event.type === "tool.result") results.push([event.status, event.output]);
  }
  assert.deepEqual(rig.offered, ["there", "work"]);
  assert.deepEqual(results, [["error", "work failed: its headers could not be found out"]]);
  assert.match(
    rig.lines.join("\n"),
    /^MCP server double .*: its headers could not be found out;.*\n.*answers again$/,
  );
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
  ]);
});

Deno.test("mcpTools() refuses names and addresses that are none", () => {
  for (
    const [name, url] of [["a b", "http://a/"], ["", "http://a/"], ["a", "ftp://a/"], ["a", "a"]] as const
  ) {
    assert.throws(() => mcpTools({ [name]: url }), TypeError);
  }
});

Deno.test("mcpTools() follows a redirect on its server, and takes its headers to no other", async () => {
  const elsewhere: string[] = [];
  await using other = new McpDouble(named("stolen"), {
    intercept: (request) => {
      elsewhere.push(request.headers.get("x-user") ?? "");
      return null;
    },
  });
  await using double = new McpDouble(named("read"), {
    intercept: (request) => {
      const { pathname, origin } = new URL(request.url);
      const to = pathname === "/old" ? `${origin}/mcp` : pathname === "/away" ? other.url : null;
      return to === null ? null : new Response(null, { status: 307, headers: { location: to } });
    },
  });
  const at = (path: string) => ({ url: new URL(path, double.url).href, headers: { "x-user": "ada" } });
  await using here = new Rig({ double: at("/old") }, [{ calls: [{ name: "read", input: {} }] }]);
  assert.deepEqual(await here.run(), [["ok", "read ran"]]);
  await using away = new Rig({ double: at("/away") });
  assert.deepEqual(await away.names(), []);
  assert.match(away.lines.join(), /redirect/);
  assert.deepEqual(elsewhere, []);
});

for (
  const [what, tools, line] of [
    ["too many tools", named(...Array.from({ length: 1_001 }, (_, n) => `t${n}`)), /it lists 1001 tools/],
    [
      "too long a list",
      [{ name: "long", description: "x".repeat(300_000), run: () => "" }],
      /its list of tools has \d+ characters/,
    ],
  ] as const
) {
  Deno.test(`mcpTools() goes on without a server that lists ${what}, with those of the others`, async () => {
    await using lies = new McpDouble(tools);
    await using fine = new McpDouble(named("read"));
    await using rig = new Rig({ lies: lies.url, fine: fine.url }, [{ calls: [{ name: "read", input: {} }] }]);
    assert.deepEqual(await rig.run(), [["ok", "read ran"]]);
    assert.deepEqual(rig.offered, ["read"]);
    assert.match(rig.lines.join(), line);
  });
}
