/** A session whose agent has the tools of MCP servers, and such servers. */
import assert from "node:assert/strict";
import type { TurnRequest } from "../../src/loop/agent.ts";
import { ownTools } from "../../src/loop/tool_set.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import { type McpServer, mcpTools } from "../../src/tools/mcp.ts";
import type { DoubleTool } from "../support/mcp_double.ts";
import { Bench, endOf, eventsOf, KEY, replies } from "../support/turns.ts";

/** A session whose agent has the tools of servers. */
export class Rig implements AsyncDisposable {
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
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!await isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Tools that say that they ran. */
export function named(...names: readonly string[]): readonly DoubleTool[] {
  return names.map((name) => ({ name, run: () => `${name} ran` }));
}
