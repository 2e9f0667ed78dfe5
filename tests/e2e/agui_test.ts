import assert from "node:assert/strict";
import { AguiClient } from "../support/agui_client.ts";
import { McpDouble } from "../support/mcp_double.ts";
import { startServer } from "../support/server.ts";

Deno.test("a real server runs a long audit for a client of AG-UI, with tools of an MCP server at hand", async () => {
  await using mcp = new McpDouble([{ name: "shout", run: () => "" }]);
  await using server = await startServer({
    SELVAGE_KV: ":memory:",
    SELVAGE_WINDOW: "10000",
    SELVAGE_MAX_STEPS: "400",
    SELVAGE_MCP_SERVERS: `double=${mcp.url}`,
  });
  const short = new AguiClient(`${server.url}/agui`, { threadId: "short" });
  const end = await short.run("check 07");
  assert.deepEqual(end.outcome, { type: "success" });
  const { turn } = short.agent.state.selvage;
  const shown = await (await fetch(`${server.url}/v1/turns/${turn}/steps/1/request`)).json();
  assert.ok(shown.request.tools.some(({ name }: { name: string }) => name === "shout"));

  const long = new AguiClient(`${server.url}/agui`, { threadId: "long" });
  assert.deepEqual((await long.run("audit the workspace")).outcome, { type: "success" });
  const compactions = long.of("CUSTOM").filter(({ name, value }) =>
    name === "compaction" && value.phase === "applied"
  );
  assert.ok(compactions.length >= 5, `${compactions.length} compactions`);
  assert.equal(long.agent.state.selvage.compactions, compactions.length);
  const calls = long.of("TOOL_CALL_START").map(({ toolCallId }) => toolCallId);
  assert.ok(calls.length > 100);
  assert.deepEqual(
    long.of("TOOL_CALL_RESULT").map(({ toolCallId }) => toolCallId).toSorted(),
    calls.toSorted(),
  );

  const cut = new AguiClient(`${server.url}/agui`, { threadId: "cut" });
  cut.onEvent = ({ type }) => {
    if (type === "TOOL_CALL_RESULT") cut.agent.abortRun();
  };
  await cut.run("audit the workspace").catch(() => {});
  // The turn ends by that: the session takes the next one.
  cut.onEvent = () => {};
  assert.deepEqual((await cut.run("check 07")).outcome, { type: "success" });
});
