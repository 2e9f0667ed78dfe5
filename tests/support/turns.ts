/**
 * Turns for tests: a bench with a clock that stands still and a store in memory, and a check of what the log holds.
 *
 * @module
 */
import assert from "node:assert/strict";
import * as z from "zod";
import type { Agent, AnswerRequest, ReadyAgent, TurnPorts, TurnRequest } from "../../src/loop/agent.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { answerTurn, runTurn } from "../../src/loop/turn.ts";
import { type Script, scripted, type ScriptedReply } from "../../src/models/scripted.ts";
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
import type { Json } from "./wire_json.ts";
import { callRefs, requestProblems } from "./requests.ts";

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

/** Makes a tool that works until it is let go, or its turn ends. */
export function waitingTool(name = "slow"): { readonly tool: Tool; readonly finish: () => void } {
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = tool(name, (_, { signal }) => {
    const stopped = new Promise((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason), { once: true })
    );
    return Promise.race([promise, stopped]);
  });
  return { tool: waiting, finish: () => resolve("done") };
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
  readonly agent: ReadyAgent;
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
    // No bench has tools that are found out for each turn: a test brings them along with its request.
    this.agent = { model: watched, tools: options.tools ?? [], ...options.agent } as ReadyAgent;
  }

  /** Starts a turn. */
  start(
    input: TurnRequest["input"],
    rest: Partial<TurnRequest> = {},
    ports: Pick<TurnPorts, "onError"> = {},
  ): AsyncGenerator<TurnEvent, void> {
    const { store, clock } = this;
    return runTurn({ agent: this.agent, session: KEY.session, input, ...rest }, {
      store,
      clock,
      newId: () => `t${this.#turns++}`,
      ...ports,
    });
  }

  /** Runs a turn to its end. */
  async run(input: TurnRequest["input"], rest: Partial<TurnRequest> = {}): Promise<TurnEvent[]> {
    return await Array.fromAsync(this.start(input, rest));
  }

  /** Answers calls of a paused turn, by default the first, and runs it on. */
  async answer(answers: Partial<AnswerRequest>): Promise<TurnEvent[]> {
    const { agent, store, clock } = this;
    return await Array.fromAsync(
      answerTurn({ agent, session: KEY.session, turn: "t0", ...answers }, { store, clock }),
    );
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
    read: (key, options) => store.read(key, options),
    entry: (key, seq) => store.entry(key, seq),
    acquire: (key, options) => store.acquire(key, options),
    commit,
    renew: (key, lease, ttlMs) => store.renew(key, lease, ttlMs),
    events: (key, turn, from) => store.events(key, turn, from),
    list: (owner, options) => store.list(owner, options),
    delete: (key, options) => store.delete(key, options),
    claim: (owner, name, claim) => store.claim(owner, name, claim),
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

/** Codes of the errors that a turn has told. */
export function errorsOf(events: readonly TurnEvent[]): string[] {
  return eventsOf(events, "error").map(({ code }) => code);
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
