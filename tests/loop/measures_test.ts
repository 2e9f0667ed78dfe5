import { equal, notEqual } from "node:assert/strict";
import { fixedTokens, schemasOf } from "../../src/loop/measures.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Tool } from "../../src/ports.ts";
import { tool } from "../support/turns.ts";

Deno.test("schemasOf() is the same list for an agent under limits or with other instructions, and another for other tools", () => {
  const tools: Tool[] = [tool("one", () => 1), tool("two", () => 2)];
  const agent = { model: scripted({ script: () => ({ text: "" }) }), system: "é".repeat(30), tools };
  const schemas = schemasOf(agent);
  const tokens = fixedTokens(agent);
  equal(schemasOf({ ...agent, maxSteps: 3 }), schemas);
  equal(schemasOf({ ...agent, system: "é".repeat(60) }), schemas);
  equal(fixedTokens({ ...agent, system: "é".repeat(60) }), tokens + 20);
  equal(fixedTokens(agent), tokens);
  notEqual(schemasOf({ ...agent, recall: false }), schemas);
  equal(schemasOf({ ...agent, recall: false }).length, 2);
  tools.pop();
  equal(schemasOf(agent).length, 2);
  const { tools: _, ...bare } = agent;
  equal(schemasOf(bare), schemasOf({ ...bare }));
  equal(schemasOf(bare).length, 1);
});
