/**
 * Strict judges of two dialects, Chat Completions and Anthropic Messages, written from the rules of the providers and
 * from nothing of ours, so that they can convict our own reading, repair and compaction. Longer than most files: the
 * rules are to be read in one go, and five formats are brought to the two.
 *
 * @module
 */

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** How strict to be. */
export interface JudgeOptions {
  /** `unique`: no id twice in the transcript; `reused`: real providers reuse ids, but never inside one message. */
  readonly ids?: "unique" | "reused";
  /** Whether the arguments of calls must be JSON objects. Default true. */
  readonly whole?: boolean;
}

/** Says whether a value is a JSON object. */
function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

function isBlank(text: unknown): boolean {
  return typeof text !== "string" || text.trim() === "";
}

function isJsonObject(text: unknown): boolean {
  if (typeof text !== "string") return false;
  try {
    return isJson(JSON.parse(text));
  } catch {
    return false;
  }
}

/** Ids of the calls of one message: present, and not twice. */
function idFaults(
  ids: readonly unknown[],
  at: number,
  { seen, options }: { readonly seen: Set<unknown>; readonly options: JudgeOptions },
): string[] {
  const faults: string[] = [];
  const here = new Set<unknown>();
  for (const id of ids) {
    if (typeof id !== "string" || id === "") faults.push(`${at}: a call without an id`);
    else if (here.has(id)) faults.push(`${at}: the id ${id} twice in one message`);
    else if (options.ids === "unique" && seen.has(id)) faults.push(`${at}: the id ${id} twice`);
    here.add(id);
    seen.add(id);
  }
  return faults;
}

/**
 * What a strict Chat Completions service refuses: a call without its one result directly behind it, a result without
 * its call there, anything in between, ids that are missing or clash, a message without content and calls.
 */
export function openaiFaults(messages: readonly Json[], options: JudgeOptions = {}): readonly string[] {
  const faults: string[] = [];
  const seen = new Set<unknown>();
  let open = new Set<unknown>();
  for (const [at, message] of messages.entries()) {
    const { role, content } = message;
    if (role === "tool") {
      if (!open.delete(message["tool_call_id"])) {
        faults.push(
          `${at}: the result ${message["tool_call_id"]} answers no open call of the message before`,
        );
      }
      continue;
    }
    if (open.size > 0) faults.push(`${at}: ${[...open].join(", ")} has no result before this message`);
    open = new Set();
    if (role === "assistant") {
      const calls = list(message["tool_calls"]);
      faults.push(...idFaults(calls.map(({ id }) => id), at, { seen, options }));
      for (const call of calls) {
        const made = call["function"];
        if (!isJson(made) || isBlank(made["name"])) faults.push(`${at}: a call without a name`);
        else if (options.whole !== false && !isJsonObject(made["arguments"])) {
          faults.push(`${at}: arguments that are no JSON object`);
        }
      }
      open = new Set(calls.map(({ id }) => id));
      const isSaid = typeof message["refusal"] === "string" || isJson(message["audio"]);
      if (calls.length === 0 && (content === null || content === undefined) && !isSaid) {
        faults.push(`${at}: no content`);
      }
    } else if (role !== "user" && role !== "system" && role !== "developer") {
      faults.push(`${at}: the role ${role}`);
    } else if (typeof content !== "string" && list(content).length === 0) faults.push(`${at}: no content`);
  }
  if (open.size > 0) faults.push(`end: ${[...open].join(", ")} has no result`);
  return faults;
}

/** Messages of one role one after another, as the service joins them. Indexes are those of the first. */
interface Turn {
  readonly at: number;
  readonly role: unknown;
  readonly blocks: Json[];
}

/**
 * What a strict Anthropic Messages service refuses: all results of a message, and nothing else before them, in the
 * user message directly behind it; the first message from the user; no empty text; ids present and without clash.
 * Neighbours of one role count as one message, but not across an open call.
 */
export function anthropicFaults(messages: readonly Json[], options: JudgeOptions = {}): readonly string[] {
  const faults: string[] = [];
  const turns: Turn[] = [];
  for (const [at, { role, content }] of messages.entries()) {
    if (role !== "user" && role !== "assistant" && role !== "system") {
      faults.push(`${at}: the role ${role}`);
      continue;
    }
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : list(content);
    if (blocks.length === 0) faults.push(`${at}: no content`);
    faults.push(...textFaults(blocks, at));
    // System lines in front are the system prompt.
    if (role === "system" && turns.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role && role === "assistant" && clientCalls(last.blocks).length > 0) {
      faults.push(`${at}: an assistant message behind open calls`);
    }
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ at, role, blocks: [...blocks] });
  }
  if (turns[0] !== undefined && turns[0].role !== "user") {
    faults.push(`${turns[0].at}: first, and not from the user`);
  }

  const seen = new Set<unknown>();
  for (const [index, { at, role, blocks }] of turns.entries()) {
    const calls = clientCalls(blocks);
    if (calls.length > 0 && role !== "assistant") faults.push(`${at}: calls that are not the assistant's`);
    faults.push(...idFaults(calls.map(({ id }) => id), at, { seen, options }));
    for (const call of calls) {
      if (isBlank(call["name"])) faults.push(`${at}: a call without a name`);
      if (options.whole !== false && !isJson(call["input"])) {
        faults.push(`${at}: arguments that are no object`);
      }
    }
    const wanted = new Set<unknown>(
      index > 0 ? clientCalls(turns[index - 1]?.blocks ?? []).map(({ id }) => id) : [],
    );
    let isInFront = true;
    for (const block of blocks) {
      if (block["type"] !== "tool_result") {
        isInFront = false;
        continue;
      }
      const id = block["tool_use_id"];
      if (role !== "user") faults.push(`${at}: a result that is not in a user message`);
      if (!isInFront) faults.push(`${at}: the result ${id} is not in front`);
      if (!wanted.delete(id)) {
        faults.push(`${at}: the result ${id} answers no open call of the message before`);
      }
    }
    if (wanted.size > 0) faults.push(`${at}: ${[...wanted].join(", ")} has no result here`);
    if (index === turns.length - 1 && calls.length > 0) {
      faults.push(`end: ${calls.map(({ id }) => id).join(", ")} has no result`);
    }
  }
  return faults;
}

/** Calls that the client answers; a provider answers its own in the same message. */
function clientCalls(blocks: readonly Json[]): readonly Json[] {
  return blocks.filter((block) => block["type"] === "tool_use");
}

function textFaults(blocks: readonly Json[], at: number): string[] {
  return blocks.flatMap((block) => {
    if (block["type"] === "text") return isBlank(block["text"]) ? [`${at}: an empty text`] : [];
    const inner = block["type"] === "tool_result" ? list(block["content"]) : [];
    return inner.some(({ type, text }) => type === "text" && isBlank(text))
      ? [`${at}: an empty text in a result`]
      : [];
  });
}

/** Chat Completions as Anthropic Messages: adjacent results share one user message. */
export function chatToAnthropic(messages: readonly Json[]): readonly Json[] {
  const out: { role: unknown; content: unknown }[] = [];
  let results: Json[] = [];
  const settle = () => {
    if (results.length > 0) out.push({ role: "user", content: results });
    results = [];
  };
  for (const { role, content, tool_calls: calls, tool_call_id: id } of messages) {
    if (role === "tool") {
      results.push({ type: "tool_result", tool_use_id: id, content });
      continue;
    }
    settle();
    if (role !== "assistant" || !Array.isArray(calls)) {
      out.push({ role: role === "developer" ? "system" : role, content: content ?? "" });
      continue;
    }
    const text = typeof content === "string" && content !== ""
      ? [{ type: "text", text: content }]
      : list(content);
    out.push({ role, content: [...text, ...list(calls).map(chatCallToBlock)] });
  }
  settle();
  return out;
}

function chatCallToBlock(call: Json): Json {
  const made = isJson(call["function"]) ? call["function"] : {};
  const input = isJsonObject(made["arguments"]) ? JSON.parse(String(made["arguments"])) : made["arguments"];
  return { type: "tool_use", id: call["id"], name: made["name"], input };
}

/** A step of a conversation, whatever the format: what pairing is about, and nothing else. */
type Step =
  | { readonly kind: "text"; readonly role: "user" | "assistant" | "system"; readonly text: string }
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly kind: "result"; readonly id: string };

/** Steps of one message as Chat Completions messages: calls with the text before them, each result alone. */
function stepsToChat(steps: readonly Step[]): readonly Json[] {
  const out: Json[] = [];
  let said: { text: string; calls: Json[] } | null = null;
  const settle = () => {
    if (said !== null) {
      out.push({
        role: "assistant",
        content: said.text,
        ...(said.calls.length > 0 ? { tool_calls: said.calls } : {}),
      });
    }
    said = null;
  };
  for (const step of steps) {
    if (step.kind === "call" || (step.kind === "text" && step.role === "assistant")) {
      said ??= { text: "", calls: [] };
      if (step.kind === "text") said.text += step.text;
      else {
        said.calls.push({
          id: step.id,
          type: "function",
          function: { name: step.name, arguments: JSON.stringify(step.input) ?? "" },
        });
      }
      continue;
    }
    settle();
    out.push(
      step.kind === "result"
        ? { role: "tool", tool_call_id: step.id, content: "" }
        : { role: step.role, content: step.text },
    );
  }
  settle();
  return out;
}

function speaker(role: unknown): "user" | "assistant" | "system" {
  if (role === "assistant" || role === "model") return "assistant";
  return role === "system" || role === "developer" ? "system" : "user";
}

function plain(role: unknown, content: unknown): Step {
  return {
    kind: "text",
    role: speaker(role),
    text: typeof content === "string" ? content : JSON.stringify(content),
  };
}

function anthropicSteps({ role, content }: Json): readonly Step[] {
  if (!Array.isArray(content)) return [plain(role, content)];
  return list(content).flatMap((block): Step[] => {
    if (block["type"] === "tool_use") {
      return [{ kind: "call", id: String(block["id"]), name: String(block["name"]), input: block["input"] }];
    }
    if (block["type"] === "tool_result") return [{ kind: "result", id: String(block["tool_use_id"]) }];
    return [plain(role, block["text"] ?? block)];
  });
}

/** Items that the model makes, and those that it does not, by type. */
function responsesSteps(item: Json): readonly Step[] {
  const type = String(item["type"] ?? "message");
  const id = String(item["call_id"]);
  if (/^(function|custom_tool)_call$/.test(type)) {
    const text = String(item["arguments"] ?? item["input"]);
    const input = isJsonObject(text) ? JSON.parse(text) : text;
    return [{ kind: "call", id, name: String(item["name"]), input }];
  }
  if (/_call_output$/.test(type)) return [{ kind: "result", id }];
  if (type.startsWith("mcp_approval")) return [];
  return [plain(type === "message" ? item["role"] : "assistant", item["content"] ?? item["summary"] ?? type)];
}

function modelSteps({ role, content }: Json): readonly Step[] {
  if (!Array.isArray(content)) return [plain(role, content)];
  // What a provider runs it answers in the same message; approvals are no calls.
  const own = list(content).filter(({ type, providerExecuted }) =>
    !String(type).startsWith("tool-approval") && providerExecuted !== true
  );
  const run = new Set(
    list(content).filter((part) => part["providerExecuted"] === true).map((part) => part["toolCallId"]),
  );
  return own.filter((part) => part["type"] !== "tool-result" || !run.has(part["toolCallId"])).map(
    (part): Step => {
      const id = String(part["toolCallId"]);
      if (part["type"] === "tool-call") {
        return { kind: "call", id, name: String(part["toolName"]), input: part["input"] };
      }
      return part["type"] === "tool-result" ? { kind: "result", id } : plain(role, part["text"] ?? part);
    },
  );
}

/** A tool part of a UI message is a call, and its result once its state says so; results come behind all calls. */
function uiSteps({ role, parts }: Json): readonly Step[] {
  const steps: Step[] = [];
  let results: Step[] = [];
  for (const part of list(parts)) {
    const type = String(part["type"]);
    if (/^(tool-|dynamic-tool$)/.test(type)) {
      const id = String(part["toolCallId"]);
      const name = type === "dynamic-tool" ? String(part["toolName"]) : type.slice(5);
      steps.push({ kind: "call", id, name, input: part["input"] ?? {} });
      if (/^output-/.test(String(part["state"]))) results.push({ kind: "result", id });
    } else if (type === "step-start") {
      steps.push(...results);
      results = [];
    } else if (type === "text") {
      steps.push(...results, plain(role, part["text"]));
      results = [];
    } else if (type === "file") steps.push(plain(role, "[file]"));
  }
  return [...steps, ...results];
}

/** Parts without ids are paired by name and place: they get an id from these, per round. */
function geminiToChat(messages: readonly Json[]): readonly Json[] {
  let round = 0;
  let names: string[] = [];
  let answers: string[] = [];
  const numbered = (name: unknown, list: string[]): string => {
    list.push(String(name));
    return `${round}:${name}:${list.filter((other) => other === String(name)).length}`;
  };
  return messages.flatMap(({ role, parts }) => {
    const made = list(parts);
    if (made.some((part) => "functionCall" in part)) {
      round++;
      names = [];
      answers = [];
    }
    return stepsToChat(made.map((part): Step => {
      const call = part["functionCall"];
      const answer = part["functionResponse"];
      if (isJson(call)) {
        const id = typeof call["id"] === "string" && call["id"] !== ""
          ? call["id"]
          : numbered(call["name"], names);
        return { kind: "call", id, name: String(call["name"]), input: call["args"] };
      }
      if (isJson(answer)) {
        const id = typeof answer["id"] === "string" && answer["id"] !== ""
          ? answer["id"]
          : numbered(answer["name"], answers);
        return { kind: "result", id };
      }
      return plain(role, part["text"] ?? part);
    }));
  });
}

/**
 * A transcript of any of the five formats as Chat Completions messages, as far as pairing goes: who speaks, which
 * call, which result, in which order.
 */
export function toChat(format: string, messages: readonly Json[]): readonly Json[] {
  switch (format) {
    case "openai-chat":
      return messages;
    case "anthropic":
      return messages.flatMap((message) => stepsToChat(anthropicSteps(message)));
    case "openai-responses":
      return joinAssistants(messages.map((item) => responsesSteps(item)));
    case "ai-sdk":
      return messages.flatMap((message) =>
        stepsToChat(Array.isArray(message["parts"]) ? uiSteps(message) : modelSteps(message))
      );
    case "gemini":
      return geminiToChat(messages);
    default:
      throw new TypeError(`Cannot convert the format ${format}`);
  }
}

/** Items that the model made one after another are one message. */
function joinAssistants(items: readonly (readonly Step[])[]): readonly Json[] {
  return stepsToChat(items.flat());
}

/** Judges a transcript in both dialects, its own and the other. */
export function faultsInBoth(
  format: "openai-chat" | "anthropic",
  messages: readonly Json[],
  options: JudgeOptions = {},
): readonly string[] {
  const chat = toChat(format, messages);
  const blocks = format === "anthropic" ? messages : chatToAnthropic(messages);
  return [
    ...openaiFaults(chat, options).map((fault) => `openai ${fault}`),
    ...anthropicFaults(blocks, options).map((fault) => `anthropic ${fault}`),
  ];
}

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
  const hasCalls = (message: Json): boolean => list(message["tool_calls"]).length > 0;
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
    open = list(message["tool_calls"]).map(({ id }) => id).filter((id) =>
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
  const blocksOf = ({ content }: Json): readonly Json[] => list(content);
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
    parts: list(message["parts"]).map((part) => {
      const isOpen = /^(tool-|dynamic-tool$)/.test(String(part["type"])) &&
        !/^output-/.test(String(part["state"]));
      const comes = at === last || isPromised(promised, part["toolCallId"]);
      return isOpen && comes ? { ...part, state: "output-available", output: "settled" } : part;
    }),
  }));
}
