/**
 * How an agent's requests are measured before a provider has billed any.
 *
 * @module
 */
import type { ToolSchema } from "../ports.ts";
import { loadCounter, utf8Length } from "../tokens/counter.ts";
import type { TextMeasure } from "../tokens/measure.ts";
import type { Agent } from "./agent.ts";

/** The exact counter as a plain function; its data is loaded when something first needs it. */
export async function loadMeasure(): Promise<TextMeasure> {
  const counter = await loadCounter("o200k_base");
  return (text) => counter.count(text);
}

/** The agent's tools as a model is told about them. */
export function schemasOf(agent: Agent): readonly ToolSchema[] {
  return (agent.tools ?? []).map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema,
  }));
}

/** Tokens of system text and schemas before any bill: JSON and prose have more than three bytes a token. */
export function fixedTokens(agent: Agent): number {
  return Math.ceil(utf8Length((agent.system ?? "") + JSON.stringify(schemasOf(agent))) / 3);
}
