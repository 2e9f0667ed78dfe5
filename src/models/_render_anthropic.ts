/**
 * Canonical messages as the body of a Messages request. Private to the adapters.
 *
 * `messages` comes last in the body and every message is encoded once: a step of the loop costs the encoding of
 * what is new plus one copy of the bytes, however long the history has grown. Cache marks are spliced into the
 * copy, so that the bytes kept of a message stay the same wherever it stands.
 */
import type { Message } from "../core/message.ts";
import { isForced } from "../core/settings.ts";
import type { ModelRequest, ToolSchema } from "../ports.ts";
import {
  assistantBlocks,
  type Block,
  isThinking,
  resultBlock,
  textBlock,
  userBlocks,
} from "./_blocks_anthropic.ts";
import { COMMA, concat, encodeItems, encodeText } from "./_bytes.ts";
import { toJson } from "./_json.ts";
import type { AssistantPart } from "./_parts.ts";
import { messagesSettings } from "./_settings.ts";
import { NO_TEXT } from "./_texts.ts";

/** What the body holds beside the request. */
export interface MessagesBodyOptions {
  readonly model: string;
  /** Tokens for thinking; `adaptive` leaves them to the model. */
  readonly thinking?: number | "adaptive";
  /** True where the model checks that nothing before its thinking has changed. */
  readonly isBound: boolean;
  readonly providerTools: readonly Readonly<Record<string, unknown>>[];
  /** Whether to mark the prefix for the provider's cache. */
  readonly cache: boolean;
  /** What the provider has said of this answer before it paused. */
  readonly paused: readonly AssistantPart[];
}

/** A request body. */
export interface MessagesBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** True where it uses what only {@link BINDING_BETA} allows. */
  readonly isBinding: boolean;
}

/** The name under which the service lets requests say what becomes of thinking whose prefix has changed. */
export const BINDING_BETA = "thinking-binding-controls-2026-08-01";

/** The fewest tokens of thinking that the service takes. */
export const MIN_THINKING_TOKENS = 1_024;

/** Blocks of one message: as bytes with commas between them. */
interface Encoded {
  readonly role: "user" | "assistant";
  readonly bytes: Uint8Array;
  /** Results: in a user message they come first. */
  readonly isResults: boolean;
  /** Results that belong into the next user message. */
  readonly results: Uint8Array;
  readonly startsWithThinking: boolean;
  readonly hasThinking: boolean;
}

/** Messages of one role in a row, which are one on the wire. */
interface Group {
  readonly role: "user" | "assistant";
  readonly results: Uint8Array[];
  readonly rest: Uint8Array[];
  readonly startsWithThinking: boolean;
}

const NOTHING = new Uint8Array();
const START = {
  user: encodeText('{"role":"user","content":['),
  assistant: encodeText('{"role":"assistant","content":['),
};
const END = encodeText("]}");
const MARK = { cache_control: { type: "ephemeral" } } as const;
const MARK_END = encodeText(`,${JSON.stringify(MARK).slice(1)}`);

// Messages are values: one that was sent is never edited, so that its bytes stay true for as long as it lives.
const encoded = new WeakMap<Message, Encoded>();

/** Makes the bytes of a streaming request. */
export function encodeMessagesBody(request: ModelRequest, options: MessagesBodyOptions): MessagesBody {
  const messages = request.messages.filter(({ role }) => role !== "system").map(encodeMessage);
  if (options.paused.length > 0) messages.push(encodeAssistant(options.paused, true));
  const groups = groupMessages(messages);
  const hasThinking = messages.some((message) => message.hasThinking);
  const thinking = thinkingOf(request, { ...options, hasThinking, groups });
  const head = toJson({
    model: options.model,
    max_tokens: request.maxOutput,
    stream: true,
    ...(thinking === undefined ? {} : { thinking }),
    ...toolsOf(request.tools, options),
    ...systemOf(request, options.cache),
    ...messagesSettings(request.settings ?? {}, {
      isThinking: thinking !== undefined || options.isBound,
      hasTools: request.tools.length + options.providerTools.length > 0,
    }),
  });
  const pieces = [encodeText(`${head.slice(0, -1)},"messages":[`)];
  const marked = options.cache ? lastUserGroups(groups) : [];
  for (const [index, group] of groups.entries()) {
    if (index > 0) pieces.push(COMMA);
    pushGroup(pieces, group, { isMarked: marked.includes(group) });
  }
  pieces.push(END);
  return { bytes: concat(pieces), isBinding: thinking !== undefined && "block_binding" in thinking };
}

function encodeMessage(message: Message): Encoded {
  const known = encoded.get(message);
  if (known !== undefined) return known;
  const made = message.role === "assistant"
    ? encodeAssistant(message.content, false)
    : encodeUser(message.role === "tool" ? message.content.map(resultBlock) : userBlocks(message.content), {
      isResults: message.role === "tool",
    });
  encoded.set(message, made);
  return made;
}

function encodeUser(blocks: readonly Block[], { isResults }: { readonly isResults: boolean }): Encoded {
  const bytes = encodeItems(blocks);
  return { role: "user", bytes, isResults, results: NOTHING, startsWithThinking: false, hasThinking: false };
}

function encodeAssistant(content: Parameters<typeof assistantBlocks>[0], isPaused: boolean): Encoded {
  const { blocks, results } = assistantBlocks(content, { isPaused });
  const [first] = blocks;
  return {
    role: "assistant",
    bytes: encodeItems(blocks),
    isResults: false,
    results: encodeItems(results),
    startsWithThinking: first !== undefined && isThinking(first),
    hasThinking: blocks.some(isThinking),
  };
}

/** Makes roles alternate, the user first, each result directly behind its call. */
function groupMessages(messages: readonly Encoded[]): readonly Group[] {
  const groups: Group[] = [];
  const groupOf = (role: Group["role"], startsWithThinking = false): Group => {
    const last = groups.at(-1);
    if (last?.role === role) return last;
    const group = { role, results: [], rest: [], startsWithThinking };
    groups.push(group);
    return group;
  };
  // Results of tools that another provider has run, until the user message that takes them comes.
  let owed: Uint8Array[] = [];
  const settle = (): void => {
    if (owed.length > 0) groupOf("user").results.push(...owed);
    owed = [];
  };
  if (messages[0]?.role !== "user") groupOf("user").rest.push(encodeItems([textBlock(NO_TEXT)]));
  for (const { role, bytes, isResults, results, startsWithThinking } of messages) {
    if (bytes.length === 0) continue;
    if (role === "user") settle();
    const group = groupOf(role, startsWithThinking);
    (isResults ? group.results : group.rest).push(bytes);
    if (results.length > 0) owed.push(results);
  }
  settle();
  return groups;
}

/**
 * What to ask of thinking. With a budget, the service wants the message that is being answered to begin with
 * thinking; where it does not (another model has made it, or its thinking is gone) it takes the request only
 * without. Models that bind thinking to its prefix are asked to leave out what a compaction has cut loose.
 */
function thinkingOf(
  { maxOutput, settings }: ModelRequest,
  { groups, hasThinking, isBound, thinking }: MessagesBodyOptions & {
    readonly groups: readonly Group[];
    readonly hasThinking: boolean;
  },
): Block | undefined {
  if (isBound) {
    // These think unless told otherwise, and by nobody's budget: asking for it changes nothing else.
    if (thinking === undefined && !hasThinking) return undefined;
    return { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
  }
  // The service takes a forced call without thinking only.
  if (isForced(settings?.toolChoice)) return undefined;
  if (thinking === undefined || thinking === "adaptive") return thinking && { type: thinking };
  const budget = thinking < maxOutput ? thinking : Math.floor(maxOutput / 2);
  if (budget < MIN_THINKING_TOKENS || !isThought(groups)) return undefined;
  return { type: "enabled", budget_tokens: budget };
}

/** Whether the message that is being answered, from its first step on, begins with thinking. */
function isThought(groups: readonly Group[]): boolean {
  const asked = groups.findLastIndex(({ role, results }) => role === "user" && results.length === 0);
  return groups[asked + 1]?.startsWithThinking ?? true;
}

function toolsOf(
  tools: readonly ToolSchema[],
  { cache, providerTools }: MessagesBodyOptions,
): { readonly tools?: readonly Block[] } {
  const all: Block[] = [...providerTools, ...tools.map(renderTool)];
  const last = all.pop();
  if (last === undefined) return {};
  return { tools: [...all, cache ? { ...last, ...MARK } : last] };
}

function renderTool({ name, description, inputSchema }: ToolSchema): Block {
  return { name, ...(description === "" ? {} : { description }), input_schema: inputSchema };
}

/** Every system text goes to the top: whether the service takes others depends on model and version. */
function systemOf(
  { system, messages }: ModelRequest,
  cache: boolean,
): { readonly system?: readonly Block[] } {
  const later = messages.flatMap((message) => message.role === "system" ? [message.content] : []);
  const text = [system, ...later].filter((part) => part.trim() !== "").join("\n\n");
  if (text === "") return {};
  return { system: [cache ? { ...textBlock(text), ...MARK } : textBlock(text)] };
}

/**
 * The ends of this request and of the one before. The service looks back from a mark over 20 blocks only: a step
 * of many calls would put the end of the last request out of its sight.
 */
function lastUserGroups(groups: readonly Group[]): readonly Group[] {
  return groups.filter(({ role }) => role === "user").slice(-2);
}

function pushGroup(pieces: Uint8Array[], group: Group, { isMarked }: { readonly isMarked: boolean }): void {
  pieces.push(START[group.role]);
  const all = [...group.results, ...group.rest];
  for (const [index, piece] of all.entries()) {
    if (index > 0) pieces.push(COMMA);
    // The mark goes before the brace that closes the last block.
    if (isMarked && index === all.length - 1) pieces.push(piece.subarray(0, -1), MARK_END);
    else pieces.push(piece);
  }
  pieces.push(END);
}
