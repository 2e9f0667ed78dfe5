/** MCP servers that change, fall silent, die, come back, send elsewhere or tell callers apart. */
import assert from "node:assert/strict";
import { ownTools } from "../../src/loop/tool_set.ts";
import { McpDouble } from "../support/mcp_double.ts";
import { calls } from "../support/turns.ts";
import { named, Rig, until } from "./_mcp_rig.ts";

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

Deno.test("mcpTools() tries a server again that was down when the clock was set back", async () => {
  await using double = new McpDouble(named("there"));
  await double.die();
  await using rig = new Rig({ down: double.url }, []);
  await rig.run();
  double.start();
  const { clock } = rig.bench;
  const now = clock.now.bind(clock);
  clock.now = () => now() - 3_600_000;
  await rig.run();
  assert.deepEqual(rig.offered, ["there"]);
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

Deno.test("mcpTools() says each reason once, whichever callers have it in turn, and once that it is over", async () => {
  let isLocked = true;
  await using double = new McpDouble(named("work"), {
    intercept: ({ headers }) =>
      isLocked && headers.get("x-token")?.startsWith("old") ? new Response(null, { status: 401 }) : null,
  });
  const tokens: Record<string, string> = { acme: "good" };
  const headers = ({ tenant }: { readonly tenant: string }) => {
    const token = tokens[tenant];
    if (token === undefined) throw new Error("the vault is shut");
    return { "x-token": token };
  };
  await using rig = new Rig({ double: { url: double.url, headers } });
  const { clock } = rig.bench;
  const list = async (...tenants: readonly string[]) => {
    const found: number[] = [];
    for (const tenant of tenants) {
      const session = crypto.randomUUID();
      found.push(ownTools(await rig.mcp.tools({ tenant, session })).length);
    }
    return found;
  };
  const said = () => rig.lines.splice(0).map((line) => line.replace(/^MCP server double \(\S+\): /, ""));
  const SHUT = "its headers could not be found out; turns go on without it until it answers";
  const REFUSED = "the server answered with HTTP 401; turns go on without it until it answers";
  // Callers without headers beside one that has them.
  assert.deepEqual(await list("beta", "acme", "beta", "acme", "gamma", "acme"), [0, 1, 0, 1, 0, 1]);
  assert.deepEqual(said(), [SHUT]);
  // Another reason while the first one holds for somebody.
  tokens["gamma"] = "old";
  assert.deepEqual(await list("gamma", "acme", "beta", "gamma"), [0, 1, 0, 0]);
  assert.deepEqual(said(), [REFUSED]);
  // The first is over, then the other.
  tokens["beta"] = "good";
  assert.deepEqual(await list("beta", "acme"), [1, 1]);
  const OPEN = "no longer so: its headers could not be found out; it still fails for another reason";
  assert.deepEqual(said(), [OPEN]);
  isLocked = false;
  await clock.advance(60_000);
  assert.deepEqual(await list("gamma", "acme", "beta"), [1, 1, 1]);
  assert.deepEqual(said(), ["answers again"]);
  // One reason that turns into another, of the same caller.
  isLocked = true;
  assert.deepEqual(await list("delta"), [0]);
  tokens["delta"] = "older";
  assert.deepEqual(await list("delta"), [0]);
  assert.deepEqual(said(), [SHUT, REFUSED, OPEN]);
  // Who fails and is not heard of again hides nobody who fails later.
  await clock.advance(600_001);
  assert.deepEqual(await list("epsilon"), [0]);
  await clock.advance(600_001);
  assert.deepEqual(await list("acme", "zeta"), [1, 0]);
  assert.deepEqual(said(), [SHUT, SHUT]);
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
