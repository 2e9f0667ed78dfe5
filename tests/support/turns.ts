/**
 * Turns for tests: a bench with a clock that stands still and a store in memory, and checks of what the model saw
 * and of what the log holds. The checks know the wire rules and the shape of a log, and nothing of the core.
 *
 * @module
 */
import assert from "node:assert/strict";
import * as z from "zod";
import type { Agent, TurnRequest } from "../../src/loop/agent.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { type Script, scripted, type ScriptedReply, scriptedTokens } from "../../src/models/scripted.ts";
import type {
  Commit,
  Entry,
  Model,
  ModelEvent,
  ModelRequest,
  SessionKey,
  SessionState,
  Store,
  Tool,
  ToolContext,
} from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "./clock.ts";
import { findRefusal, type Json } from "./openai_wire_rules.ts";

/** The session of a bench. */
export const KEY: SessionKey = { tenant: "local", session: "s1" };

/** Makes a tool that takes anything as `input`. */
export function tool(name: string, execute: (input: Json, context: ToolContext) => unknown): Tool {
  return defineTool({
    name,
    description: `Does ${name}`,
    input: z.record(z.string(), z.unknown()),
    execute,
  });
}

/** A text of `length` characters in words that tell where they stand, so that no two parts are the same. */
export function prose(length: number, seed = 0): string {
  let text = "";
  for (let n = seed * 1_000; text.length < length; n++) text += `word ${n} of the text, `;
  return text.slice(0, length);
}

/** Answers the given replies one after the other, then a last text for ever. */
export function replies(...list: readonly ScriptedReply[]): Script {
  let n = 0;
  return () => list[n++] ?? { text: "Done." };
}

/** A reply with one call for each input. */
export function calls(name: string, ...inputs: readonly Json[]): ScriptedReply {
  return { calls: inputs.map((input) => ({ name, input })) };
}

/** A model made of a generator. */
export function modelOf(
  stream: (request: ModelRequest, signal: AbortSignal, call: number) => AsyncIterable<ModelEvent>,
  limits: Partial<Model> = {},
): Model {
  let call = 0;
  return {
    id: "made",
    window: 128_000,
    maxOutput: 4_096,
    dialect: "scripted",
    stream: (request, signal) => stream(request, signal, call++),
    ...limits,
  };
}

/** The last event of a model that answers with a text. */
export function finish(text: string): ModelEvent {
  return {
    type: "finish",
    reason: "stop",
    message: { role: "assistant", content: [{ type: "text", text }] },
  };
}

/** What a {@link Bench} is made of. */
export interface BenchOptions {
  readonly script?: Script;
  /** In place of a script. */
  readonly model?: Model;
  readonly window?: number;
  readonly maxOutput?: number;
  readonly tools?: readonly Tool[];
  readonly agent?: Partial<Agent>;
  /** Puts something in front of the store. */
  readonly wrap?: (store: Store) => Store;
}

/** One session, its agent, and everything that its model was asked. */
export class Bench {
  readonly clock = new ManualClock();
  readonly store: Store;
  readonly agent: Agent;
  /** Requests that reached the model, copied as they were. */
  readonly requests: ModelRequest[] = [];
  /** Commits that reached the store, failed ones included. */
  readonly commits: Commit[] = [];
  #turns = 0;

  constructor(options: BenchOptions = {}) {
    const inner = memoryStore({ clock: this.clock });
    const counting: Store = withCommit(inner, (key, lease, commit) => {
      this.commits.push(commit);
      return inner.commit(key, lease, commit);
    });
    this.store = options.wrap?.(counting) ?? counting;
    const { script = replies(), window, maxOutput = 500 } = options;
    const model = options.model ??
      scripted({ script, maxOutput, ...(window === undefined ? {} : { window }) });
    const watched: Model = {
      ...model,
      stream: (request, signal) => {
        this.requests.push(structuredClone(request));
        return model.stream(request, signal);
      },
    };
    this.agent = { model: watched, tools: options.tools ?? [], ...options.agent };
  }

  /** Starts a turn. */
  start(input: TurnRequest["input"], rest: Partial<TurnRequest> = {}): AsyncGenerator<TurnEvent, void> {
    const { store, clock } = this;
    return runTurn({ agent: this.agent, session: KEY.session, input, ...rest }, {
      store,
      clock,
      newId: () => `t${this.#turns++}`,
    });
  }

  /** Runs a turn to its end. */
  async run(input: TurnRequest["input"], rest: Partial<TurnRequest> = {}): Promise<TurnEvent[]> {
    return await Array.fromAsync(this.start(input, rest));
  }

  /** The session as stored. */
  async state(): Promise<SessionState> {
    const state = await this.store.read(KEY);
    assert.ok(state, "found no session");
    return state;
  }

  /** Fails unless the session is at rest and everything that was sent and stored is in order. */
  async assertSound(): Promise<SessionState> {
    const state = await this.state();
    assert.equal(state.head.lease, undefined, "the lease is still held");
    assert.deepEqual(this.clock.sleeping, [], "a timer is left");
    assertLog(state.entries);
    for (const request of this.requests) assert.deepEqual(requestProblems(request), []);
    return state;
  }
}

/** A store whose `commit` is another one. */
export function withCommit(store: Store, commit: Store["commit"]): Store {
  return {
    read: (key) => store.read(key),
    entry: (key, seq) => store.entry(key, seq),
    acquire: (key, options) => store.acquire(key, options),
    commit,
    renew: (key, lease, ttlMs) => store.renew(key, lease, ttlMs),
    delete: (key) => store.delete(key),
    ping: () => store.ping(),
    close: () => store.close(),
  };
}

/** Events of one type. */
export function eventsOf<Type extends TurnEvent["type"]>(
  events: readonly TurnEvent[],
  type: Type,
): readonly Extract<TurnEvent, { type: Type }>[] {
  return events.filter((event): event is Extract<TurnEvent, { type: Type }> => event.type === type);
}

/** Why a turn ended. */
export function endOf(events: readonly TurnEvent[]): string {
  const last = events.at(-1);
  assert.equal(last?.type, "turn.finished", `found ${last?.type} at the end`);
  return last.reason;
}

/** Fails unless a log is numbered without a gap and each call has one result, behind it and before anything else. */
export function assertLog(entries: readonly Entry[]): void {
  let open: string[] = [];
  for (const [seq, entry] of entries.entries()) {
    assert.equal(entry.seq, seq);
    if (entry.kind === "result") {
      assert.ok(open.includes(entry.call), `entry ${seq} answers ${entry.call}, open are ${open}`);
      open = open.filter((ref) => ref !== entry.call);
      continue;
    }
    assert.deepEqual(open, [], `entry ${seq} passes over calls`);
    if (entry.kind === "assistant") open = callRefs(entry);
  }
  assert.deepEqual(open, [], "the log ends with open calls");
}

/** References of the calls of an entry. */
export function callRefs(entry: Entry): string[] {
  if (entry.kind !== "assistant" || typeof entry.message.content === "string") return [];
  const found = entry.message.content.filter((part) => part.type === "tool-call");
  return found.map((_, index) => `e${entry.seq}.${index}`);
}

/** What is wrong with a request, by the rules that providers lay on it and by those of this project. */
export function requestProblems(request: ModelRequest): string[] {
  const problems: string[] = [];
  const refusal = findRefusal(wireBody(request));
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

/** What a request shows of calls: references that are there raw, and how many the ledger counts. */
export function accountOf(request: ModelRequest): { shown: string[]; lines: string[]; inRanges: number } {
  const shown: string[] = [];
  const lines: string[] = [];
  let inRanges = 0;
  for (const { role, content } of request.messages) {
    if (role === "assistant" && typeof content !== "string") {
      for (const part of content) {
        if (part.type === "tool-call") shown.push(part.toolCallId.replace("_", "."));
      }
    }
    if (role !== "user" || typeof content !== "string" || !content.startsWith("[selvage ledger:")) continue;
    for (const line of content.split("\n").slice(1, -1)) {
      const [, ref] = line.match(/^(e\d+\.\d+) /) ?? [];
      if (ref !== undefined) lines.push(ref);
      inRanges += Number(line.match(/^e\d+\.\.e\d+ (\d+) calls?\b/)?.[1] ?? 0);
    }
  }
  return { shown, lines, inRanges };
}

/** Fails unless every call that a request does not show is in its ledger: as a line of its own, or counted. */
export function assertAccounted(request: ModelRequest, entries: readonly Entry[]): void {
  const { shown, lines, inRanges } = accountOf(request);
  const seqOf = (ref: string): number => Number(ref.slice(1).split(".")[0]);
  const last = Math.max(-1, ...[...shown, ...lines].map(seqOf));
  if (last < 0) return assert.equal(inRanges, 0, "a range counts calls, and nothing shows which");
  const made = entries.slice(0, last + 1).flatMap(callRefs);
  const known = new Set([...shown, ...lines]);
  assert.equal(known.size, shown.length + lines.length, "a call is shown and recorded, or recorded twice");
  const rest = made.filter((ref) => !known.has(ref));
  assert.equal(inRanges, rest.length, `the ranges count ${inRanges} calls, wanted those of ${rest}`);
}

/** Runs something while what it reports with `console.error` is collected instead of shown. */
export async function reporting<T>(run: () => Promise<T>): Promise<{ result: T; reports: unknown[] }> {
  const reports: unknown[] = [];
  const report = console.error;
  console.error = (...args: unknown[]) => void reports.push(args[0]);
  try {
    return { result: await run(), reports };
  } finally {
    console.error = report;
  }
}
