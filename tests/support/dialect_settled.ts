/** Transcripts with the results that are still to come, as the judges see them once a round is over. */
import { clientCalls } from "./dialects.ts";
import { type Json, objectsOf } from "./wire_json.ts";

/** Whether a call is among those that will be answered; a repair may have numbered ids that clashed. */
function isPromised(promised: ReadonlySet<string>, id: unknown): boolean {
  return promised.has(String(id)) || promised.has(String(id).replace(/_\d+$/, ""));
}

/** Whether nothing but results follows the last message with calls: then its calls are still on their way. */
function lastRound(
  messages: readonly Json[],
  isCallMessage: (message: Json) => boolean,
  isResults: (message: Json) => boolean,
): number {
  const at = messages.findLastIndex(isCallMessage);
  return at >= 0 && messages.slice(at + 1).every(isResults) ? at : -1;
}

/**
 * Chat Completions messages with a result for each call that will still be answered: those open at the very end, and
 * those that are named.
 */
export function settleChat(
  messages: readonly Json[],
  promised: ReadonlySet<string> = new Set(),
): readonly Json[] {
  const hasCalls = (message: Json): boolean => objectsOf(message["tool_calls"]).length > 0;
  const last = lastRound(messages, hasCalls, ({ role }) => role === "tool" || role === "system");
  const out: Json[] = [];
  let open: unknown[] = [];
  const settle = () => {
    out.push(...open.map((id) => ({ role: "tool", tool_call_id: id, content: "settled" })));
    open = [];
  };
  for (const [at, message] of messages.entries()) {
    if (message["role"] === "tool") open = open.filter((id) => id !== message["tool_call_id"]);
    else settle();
    out.push(message);
    if (!hasCalls(message)) continue;
    open = objectsOf(message["tool_calls"]).map(({ id }) => id).filter((id) =>
      at === last || isPromised(promised, id)
    );
  }
  settle();
  return out;
}

/** The same for Anthropic Messages: the results go behind those that are there. */
export function settleAnthropic(
  messages: readonly Json[],
  promised: ReadonlySet<string> = new Set(),
): readonly Json[] {
  const blocksOf = ({ content }: Json): readonly Json[] => objectsOf(content);
  const isResult = ({ type }: Json): boolean => type === "tool_result";
  const hasCalls = (message: Json): boolean => clientCalls(blocksOf(message)).length > 0;
  const isResults = (message: Json): boolean => {
    if (message["role"] === "system") return true;
    return message["role"] === "user" && blocksOf(message).length > 0 && blocksOf(message).every(isResult);
  };
  const last = lastRound(messages, hasCalls, isResults);
  const out: Json[] = [];
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at];
    if (message === undefined) continue;
    out.push(message);
    if (!hasCalls(message)) continue;
    // Neighbours of one role are one message: results may be spread over them.
    let end = at + 1;
    while (messages[end]?.["role"] === "user") end++;
    const users = messages.slice(at + 1, end);
    const there = users.flatMap(blocksOf).filter(isResult);
    const open = clientCalls(blocksOf(message)).map(({ id }) => id)
      .filter((id) => at === last || isPromised(promised, id))
      .filter((id) => !there.some((block) => block["tool_use_id"] === id))
      .map((id) => ({ type: "tool_result", tool_use_id: id, content: "settled" }));
    const behind = users.findLastIndex((user) => blocksOf(user).some(isResult));
    const host = users[behind];
    if (open.length === 0) continue;
    out.push(...users.slice(0, Math.max(0, behind)));
    if (host === undefined) out.push({ role: "user", content: open });
    else {
      const blocks = blocksOf(host);
      out.push({
        ...host,
        content: [...blocks.filter(isResult), ...open, ...blocks.filter((block) => !isResult(block))],
      });
      at += behind + 1;
    }
  }
  return out;
}

/** The same for UI messages, where a call holds its answer: that of the last assistant message are still to come. */
export function settleUi(
  messages: readonly Json[],
  promised: ReadonlySet<string> = new Set(),
): readonly Json[] {
  const isAssistant = ({ role }: Json): boolean => role === "assistant";
  const last = lastRound(messages, isAssistant, ({ role }) => role === "system");
  return messages.map((message, at) => ({
    ...message,
    parts: objectsOf(message["parts"]).map((part) => {
      const isOpen = /^(tool-|dynamic-tool$)/.test(String(part["type"])) &&
        !/^output-/.test(String(part["state"]));
      const comes = at === last || isPromised(promised, part["toolCallId"]);
      return isOpen && comes ? { ...part, state: "output-available", output: "settled" } : part;
    }),
  }));
}
