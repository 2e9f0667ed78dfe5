/**
 * Tools of the client: the model is told about them, and a turn waits for whoever runs them.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Tool, ToolSchema } from "../ports.ts";
import type { ReadyAgent } from "./agent.ts";
import { budgetOf } from "./measures.ts";
import { firstTwice } from "./ready.ts";
import { toolsOf } from "./recall.ts";
import { ownTools } from "./tool_set.ts";

/** A tool that the client runs: its schema is the client's own, and checked by it. */
function clientTool({ name, description, inputSchema }: ToolSchema): Tool {
  return {
    name,
    description,
    inputSchema,
    verbatimArgs: [],
    parse: (value) => ({ ok: true, value }),
  };
}

/**
 * An agent with the tools that a client brought along. One that the agent leaves to its clients anyway is the agent's:
 * a client that declares it says that it runs it.
 *
 * @param agent The agent.
 * @param clientTools The client's tools.
 * @throws SelvageError `bad_client_tools` where two tools have one name, or the tools leave no room for messages.
 */
export function withClientTools(agent: ReadyAgent, clientTools: readonly ToolSchema[] = []): ReadyAgent {
  const left = ownTools(agent.tools).filter(({ execute }) => execute === undefined).map(({ name }) => name);
  const brought = clientTools.filter(({ name }) => !left.includes(name));
  if (brought.length === 0) return agent;
  const twice = firstTwice([...toolsOf(agent), ...brought].map(({ name }) => name));
  if (twice !== undefined) {
    throw new SelvageError(
      "bad_client_tools",
      `Cannot use the client's tools: found two tools called ${JSON.stringify(twice)}, those of the agent ` +
        "included, wanted one of each name",
      { fields: { field: "clientTools" } },
    );
  }
  const own = { ...agent, tools: [...ownTools(agent.tools), ...brought.map(clientTool)] };
  try {
    budgetOf(own);
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    // The agent by itself fits: that was seen to when the app was made.
    throw new SelvageError(
      "bad_client_tools",
      "Cannot use the client's tools: found descriptions and schemas that leave nothing of the window for messages, " +
        "wanted fewer or shorter ones",
      { cause: error, fields: { field: "clientTools" } },
    );
  }
  return own;
}
