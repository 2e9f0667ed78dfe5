/**
 * Checks of what a model was asked, for tests. They know the wire rules and the form of a rendered ledger, and
 * nothing of the core.
 *
 * @module
 */
import assert from "node:assert/strict";
import { scriptedTokens } from "../../src/models/scripted.ts";
import type { Entry, ModelRequest } from "../../src/ports.ts";
import { findRefusal } from "./openai_wire_rules.ts";
import type { Json } from "./wire_json.ts";

/** References of the calls of an entry. */
export function callRefs(entry: Entry): string[] {
  if (entry.kind !== "assistant" || typeof entry.message.content === "string") return [];
  const found = entry.message.content.filter((part) => part.type === "tool-call");
  return found.map((_, index) => `e${entry.seq}.${index}`);
}

/** What is wrong with a request, by the rules that providers lay on it and by those of this project. */
export function requestProblems(request: ModelRequest): string[] {
  const problems: string[] = [];
  // Half a character never leaves an adapter: what stands for a body here has none either.
  const sent: unknown = JSON.parse(
    JSON.stringify(wireBody(request)),
    (_, value) => typeof value === "string" ? value.toWellFormed() : value,
  );
  const refusal = findRefusal(sent);
  if (refusal !== null) problems.push(refusal.message);
  if (request.messages[0]?.role !== "user") problems.push("the first message is not the user's");
  const ids = new Set<string>();
  let owed: string[] = [];
  for (const [at, { role, content }] of request.messages.entries()) {
    if (content.length === 0) problems.push(`message ${at} is empty`);
    if (role === "tool") {
      // All results, in the order of the calls, in the one message that follows the calls.
      const found = content.map(({ toolCallId }) => toolCallId);
      if (found.join() !== owed.join()) problems.push(`message ${at} answers ${found}, wanted ${owed}`);
      owed = [];
      continue;
    }
    if (owed.length > 0) problems.push(`message ${at} stands before the results of ${owed}`);
    owed = [];
    if (typeof content === "string") continue;
    for (const part of content) {
      if (part.type === "text" && part.text === "") problems.push(`message ${at} has an empty text`);
      if (part.type !== "tool-call") continue;
      if (ids.has(part.toolCallId)) problems.push(`message ${at} uses the id ${part.toolCallId} again`);
      ids.add(part.toolCallId);
      owed.push(part.toolCallId);
    }
  }
  if (owed.length > 0) problems.push(`the request ends before the results of ${owed}`);
  return problems;
}

function wireBody(request: ModelRequest): Json {
  const messages: Json[] = request.system === "" ? [] : [{ role: "system", content: request.system }];
  for (const message of request.messages) {
    if (message.role === "tool") {
      for (const { toolCallId, output } of message.content) {
        messages.push({ role: "tool", tool_call_id: toolCallId, content: JSON.stringify(output) });
      }
    } else if (typeof message.content === "string") {
      messages.push({ role: message.role, content: message.content });
    } else {
      const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };
      const texts = message.content.flatMap<Json>((part) =>
        part.type === "text" ? [{ type: "text", text: part.text }] : part.type === "file" ? [image] : []
      );
      const tools = message.content.flatMap((part) =>
        part.type !== "tool-call" ? [] : [{
          id: part.toolCallId,
          type: "function",
          function: { name: part.toolName, arguments: JSON.stringify(part.input) },
        }]
      );
      messages.push({
        role: message.role,
        content: texts.length > 0 ? texts : null,
        ...(tools.length > 0 ? { tool_calls: tools } : {}),
      });
    }
  }
  const tools = request.tools.map(({ name, description, inputSchema }) => ({
    type: "function",
    function: { name, description, parameters: inputSchema },
  }));
  return { model: "m", messages, max_tokens: request.maxOutput, ...(tools.length > 0 ? { tools } : {}) };
}

/** Tokens by which a request and its answer pass the window, by the scripted model's own count. */
export function overflow(request: ModelRequest, window: number): number {
  const { system, tools, messages, maxOutput } = request;
  return Math.max(0, scriptedTokens([system, tools, messages]) + maxOutput - window);
}

/** What a request shows of calls: those that are raw, those that the ledger has lines for, and what it counts. */
export interface Account {
  readonly shown: readonly string[];
  readonly lines: readonly string[];
  readonly inRanges: number;
  /** Last entry that a range or a line of the ledger is about, -1 where there is none. */
  readonly last: number;
}

/** Reads the account of a request from nothing but its messages. */
export function accountOf(request: ModelRequest): Account {
  const shown: string[] = [];
  const lines: string[] = [];
  let inRanges = 0;
  let last = -1;
  for (const { role, content } of request.messages) {
    if (role === "assistant" && typeof content !== "string") {
      for (const part of content) {
        if (part.type === "tool-call") shown.push(part.toolCallId.replace("_", "."));
      }
    }
    if (role !== "user" || typeof content !== "string" || !content.startsWith("[selvage ledger:")) continue;
    // Prose of a model may stand behind the ledger.
    const ledger = content.split("\n");
    const end = ledger.findIndex((line) => line.startsWith("[end of ledger;"));
    for (const line of ledger.slice(1, end)) {
      const [, from, ref, to] = line.match(/^e(\d+)(?:(\.\d+)|\.\.e(\d+))? /) ?? [];
      assert.ok(from !== undefined, `a line of the ledger has no reference: ${line}`);
      if (ref !== undefined) lines.push(`e${from}${ref}`);
      // A range of one entry has its number alone.
      if (ref === undefined) inRanges += Number(line.match(/^\S+ (\d+) calls?(?:: |; |$)/)?.[1] ?? 0);
      last = Math.max(last, Number(to ?? from));
    }
  }
  return { shown, lines, inRanges, last };
}

/** Fails unless every call that a request does not show is in its ledger: as a line of its own, or counted. */
export function assertAccounted(request: ModelRequest, entries: readonly Entry[]): void {
  const { shown, lines, inRanges, last } = accountOf(request);
  const upTo = Math.max(last, ...shown.map((ref) => Number(ref.slice(1).split(".")[0])));
  const made = entries.slice(0, upTo + 1).flatMap(callRefs);
  const known = new Set([...shown, ...lines]);
  assert.equal(known.size, shown.length + lines.length, "a call is shown and recorded, or recorded twice");
  const rest = made.filter((ref) => !known.has(ref));
  assert.equal(inRanges, rest.length, `the ranges count ${inRanges} calls, wanted those of ${rest}`);
}
