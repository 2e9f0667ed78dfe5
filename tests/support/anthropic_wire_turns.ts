/** What the Messages service refuses of messages together: calls and results, its own tools, thinking, the end. */
import { bare, isThought, type Memory, thoughtKey } from "./anthropic_wire_request.ts";
import { checkBlock, Refused } from "./anthropic_wire_blocks.ts";
import { isJson, type Json } from "./wire_json.ts";

/** A message as the service sees it: neighbours of one role joined. */
export interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: Json[];
}

/** Joins neighbours of one role, after every block was looked at by itself. */
export function readTurns(messages: readonly unknown[]): readonly Turn[] {
  if (messages.length === 0) throw new Refused("messages: at least one message is required");
  const turns: Turn[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    if (!isJson(message)) throw new Refused(`${at}: Input should be a valid dictionary`);
    const { role, content } = message;
    if (role !== "user" && role !== "assistant") {
      throw new Refused(`${at}.role: Input should be 'user' or 'assistant'`);
    }
    const blocks = readBlocks(content, { at, role });
    const last = turns.at(-1);
    // A call is answered in the next message: nothing more can be joined to the message that makes it.
    if (last?.role === role && role === "assistant") refuseOpen(last, index);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, blocks: [...blocks] });
  }
  if (turns[0]?.role !== "user") throw new Refused('messages: first message must use the "user" role');
  return turns;
}

function refuseOpen({ blocks }: Turn, index: number): void {
  const open = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
  if (open.length > 0) throw new Refused(unanswered(index - 1, open));
}

function unanswered(index: number, ids: readonly unknown[]): string {
  return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
    `${
      ids.join(", ")
    }. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

function readBlocks(
  content: unknown,
  { at, role }: { readonly at: string; readonly role: "user" | "assistant" },
): readonly Json[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  if (!Array.isArray(blocks)) throw new Refused(`${at}.content: Input should be a valid list`);
  if (blocks.length === 0 || content === "") {
    throw new Refused(`${at}: ${role} messages must have non-empty content`);
  }
  for (const [index, block] of blocks.entries()) checkBlock(block, { at: `${at}.content.${index}`, role });
  return blocks;
}

function callsOf({ blocks }: Turn): readonly unknown[] {
  return blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
}

/** Every call has its one result in the next message, results first; every result its call in the message before. */
export function checkPairs(turns: readonly Turn[]): void {
  const seen = new Set<unknown>();
  for (const [index, turn] of turns.entries()) {
    const previous = turns[index - 1];
    const owed = previous === undefined ? [] : callsOf(previous);
    if (turn.role === "assistant") {
      for (const id of callsOf(turn)) {
        if (seen.has(id)) throw new Refused("messages: `tool_use` ids must be unique");
        seen.add(id);
      }
      if (index === turns.length - 1 && callsOf(turn).length > 0) {
        throw new Refused(unanswered(index, callsOf(turn)));
      }
      continue;
    }
    const open = new Set(owed);
    let isFirst = true;
    for (const [place, { tool_use_id: id, type }] of turn.blocks.entries()) {
      if (type !== "tool_result") {
        isFirst = false;
        continue;
      }
      if (!owed.includes(id)) {
        throw new Refused(
          `messages.${index}.content.${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
        );
      }
      if (!open.delete(id)) {
        throw new Refused(
          `messages.${index}.content.${place}: each tool_use must have a single result. Found multiple ` +
            `\`tool_result\` blocks with id: ${id}`,
        );
      }
      // Anything before a result: the service does not find the result "immediately after".
      if (!isFirst) throw new Refused(unanswered(index - 1, [id]));
    }
    if (open.size > 0) throw new Refused(unanswered(index - 1, [...open]));
  }
}

/** Blocks of tools that the service runs itself. */
export function isServerBlock({ type }: Json): boolean {
  return type === "server_tool_use" || type === "container_upload" || String(type).endsWith("_tool_result");
}

/** Under which key a block of the service's own tools is remembered. */
export function serverKey(block: Json): string {
  return `${block.type} ${block.id ?? block.tool_use_id ?? block.file_id}`;
}

/** The service's own tools: each block as it was sent, each call with its result. */
export function checkServerTools(turns: readonly Turn[], memory: Memory): void {
  for (const [index, turn] of turns.entries()) {
    if (turn.role !== "assistant") continue;
    const next = turns.slice(index + 1).find(({ role }) => role === "assistant");
    const previous = turns.slice(0, index).findLast(({ role }) => role === "assistant");
    for (const [place, block] of turn.blocks.entries()) {
      if (!isServerBlock(block)) continue;
      const at = `messages.${index}.content.${place}`;
      if (memory.blocks.get(serverKey(block)) !== bare(block)) {
        throw new Refused(`${at}: Invalid \`encrypted_content\` in \`${block.type}\` block`);
      }
      if (block.type === "server_tool_use") {
        // With calls of the client's beside it, it is run when their results come; a paused one is run now.
        const where = callsOf(turn).length > 0 ? [turn, next] : [turn];
        const isAnswered = where.some((other) =>
          other?.blocks.some(({ tool_use_id: id }) => id === block.id)
        );
        const isLast = index === turns.length - 1 || (index === turns.length - 2 && callsOf(turn).length > 0);
        if (!isAnswered && !isLast) {
          throw new Refused(
            `messages.${index}: \`${block.name}\` tool use with id \`${block.id}\` was found without a ` +
              `corresponding \`${block.name}_tool_result\` block`,
          );
        }
      } else if (block.tool_use_id !== undefined) {
        const calls = [...(previous?.blocks ?? []), ...turn.blocks.slice(0, place)];
        if (!calls.some(({ id }) => id === block.tool_use_id)) {
          throw new Refused(`${at}: unexpected \`tool_use_id\` found in \`${block.type}\` blocks`);
        }
      }
    }
  }
}

/** Thinking: each block as it was sent; in the latest message, all of its answer and in its order. */
export function checkThoughts(turns: readonly Turn[], memory: Memory): void {
  for (const [index, turn] of turns.entries()) {
    for (const [place, block] of turn.blocks.entries()) {
      if (!isThought(block)) continue;
      if (memory.thoughts.get(thoughtKey(block))?.json !== bare(block)) {
        throw new Refused(
          `messages.${index}.content.${place}: Invalid \`signature\` in \`${block.type}\` block`,
        );
      }
    }
    const last = turn.blocks.at(-1);
    const isPaused = index === turns.length - 1 && last !== undefined && memory.paused.has(bare(last));
    if (turn.role === "assistant" && last !== undefined && isThought(last) && !isPaused) {
      throw new Refused(`messages.${index}: The final block in an assistant message cannot be \`thinking\`.`);
    }
  }
  const latest = turns.findLastIndex(({ role }) => role === "assistant");
  const thoughts = (turns[latest]?.blocks ?? []).filter(isThought).map((block) =>
    memory.thoughts.get(thoughtKey(block))
  );
  let expected = 0;
  for (const [at, thought] of thoughts.entries()) {
    const isWhole = thought?.place === expected &&
      (thoughts[at - 1] === undefined || expected === 0 || thoughts[at - 1]?.answer === thought.answer);
    if (!isWhole) throw new Refused(modified(latest));
    expected = expected + 1 === thought.count ? 0 : expected + 1;
  }
  if (expected !== 0) throw new Refused(modified(latest));
}

function modified(index: number): string {
  return `messages.${index}.content: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message ` +
    "cannot be modified. These blocks must remain as they were in the original response.";
}

/** With a budget, the message that is being answered must begin with thinking. */
export function checkBeginning(turns: readonly Turn[]): void {
  const asked = turns.findLastIndex(({ role, blocks }) =>
    role === "user" && !blocks.some(({ type }) => type === "tool_result")
  );
  const first = turns[asked + 1]?.blocks[0];
  if (first === undefined || isThought(first)) return;
  throw new Refused(
    `messages.${asked + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found ` +
      `\`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block ` +
      "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). To avoid this requirement, disable " +
      "`thinking`.",
  );
}

/** A message of the assistant's at the end is a prefill, which newer models refuse, unless the answer was paused. */
export function checkEnd(turns: readonly Turn[], memory: Memory): void {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return;
  const block = last.blocks.at(-1);
  if (block !== undefined && memory.paused.has(bare(block))) return;
  throw new Refused(
    "This model does not support assistant message prefill. The conversation must end with a user message.",
  );
}
