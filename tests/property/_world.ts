/**
 * One session and the processes that run its turns, for properties: who answers, what lands and who dies is said from
 * outside, step by step. A process that dies takes everything with it that it had not stored.
 * Over 300 lines: what is true after every step is to be read in one place.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Agent } from "../../src/loop/agent.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { recallTool } from "../../src/loop/recall.ts";
import { resumeTurn, runTurn } from "../../src/loop/turn.ts";
import { callsOf } from "../../src/compaction/context.ts";
import { checkTranscript } from "../../src/core/check.ts";
import type { TextPart, ToolCallPart } from "../../src/core/message.ts";
import { readTranscript } from "../../src/formats/read.ts";
import { scriptedTokens } from "../../src/models/scripted.ts";
import { ChatEncoder } from "../../src/models/_render_chat.ts";
import { encodeMessagesBody } from "../../src/models/_render_anthropic.ts";
import type { Entry, Lease, ModelRequest, Store } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { boundTokens } from "../../src/tokens/measure.ts";
import { findRefusal as findMessagesRefusal } from "../support/anthropic_wire_rules.ts";
import { ManualClock } from "../support/clock.ts";
import { findRefusal as findChatRefusal } from "../support/openai_wire_rules.ts";
import { accountOf, assertAccounted, overflow, requestProblems } from "../support/requests.ts";
import { assertLog, finish, KEY, modelOf, tool, withCommit } from "../support/turns.ts";

/** What a model is to answer: calls of these numbers, or with none a text. */
type Reply = readonly number[];

/** A call that a tool works on. */
interface Pending {
  readonly n: number;
  readonly land: (result: string | Error) => void;
}

/** One process with one turn. */
interface Process {
  readonly stop: AbortController;
  readonly events: TurnEvent[];
  readonly pending: Pending[];
  /** Answers the model's request; null while none is open. */
  answer: ((reply: Reply) => void) | null;
  isDead: boolean;
  isLeaving: boolean;
  isOver: boolean;
  /** What kept the turn from starting. */
  refusal: unknown;
}

/** Settings of a {@link World}. */
export interface WorldOptions {
  readonly window: number;
  readonly policy: "full" | "backward";
  /** Milliseconds that a summarizer needs; null for none. */
  readonly summaryMs: number | null;
}

const MAX_OUTPUT = 1_000;
/** Characters of a page that is recalled. */
const PAGE = 8_000;

/** The session, and the process that runs its turn now. */
export class World {
  readonly #options: WorldOptions;
  readonly #clock = new ManualClock();
  readonly #store: Store = memoryStore({ clock: this.#clock });
  readonly #decoder = new TextDecoder();
  #process: Process | null = null;
  /** The turn that a dead process has left. */
  #left: string | null = null;
  #turns = 0;
  #calls = 0;
  /** Results by the number of their call, as tools gave them. */
  readonly #given = new Map<number, string>();
  /** Inputs that are pinned, and that of the turn in hand. */
  readonly #pins: string[] = [];
  #task: { readonly text: string; readonly pin: boolean } | null = null;
  /** Requests that were not looked at yet. */
  #asked: { readonly request: ModelRequest; readonly task: string; readonly pins: readonly string[] }[] = [];
  #log: readonly Entry[] = [];
  /** Compactions that were applied, and pairs that were found again by a reference of a ledger. */
  compactions = 0;
  recalled = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
  }

  /** What the session is doing. */
  get state(): "idle" | "running" | "left" {
    return this.#process !== null ? "running" : this.#left !== null ? "left" : "idle";
  }

  /** Whether a model waits to be told its answer. */
  get isAsked(): boolean {
    return this.#process?.answer !== null && this.#process !== null;
  }

  /** Calls that tools work on. */
  get pending(): number {
    return this.#process?.pending.length ?? 0;
  }

  /** A user says something: a new turn, which closes the one that was left. */
  async say(text: string, pin: boolean): Promise<void> {
    this.#left = null;
    this.#task = { text, pin };
    const id = `t${this.#turns++}`;
    this.#start((agent, stop, store) =>
      runTurn({ agent, session: KEY.session, input: text, pin, signal: stop }, {
        store,
        clock: this.#clock,
        newId: () => id,
      })
    );
    // A lease of a dead process has to run out first.
    for (let n = 0; n < 60 && this.#process?.events.length === 0 && !this.#process.isOver; n++) {
      await this.#clock.advance(200);
    }
    await this.#settle();
  }

  /** Another process goes on with the turn that was left. */
  async takeOver(): Promise<void> {
    const turn = this.#left;
    assert.ok(turn !== null);
    await this.#clock.advance(10_001);
    this.#left = null;
    this.#start((agent, signal, store) =>
      resumeTurn({ agent, session: KEY.session, turn, signal }, { store, clock: this.#clock })
    );
    await this.#settle();
  }

  /** The model answers: so many calls, or with none a last text. */
  async answer(calls: number): Promise<void> {
    const process = this.#process;
    const answer = process?.answer;
    assert.ok(process && answer);
    process.answer = null;
    answer(Array.from({ length: calls }, () => this.#calls++));
    await this.#settle();
  }

  /** One of the calls lands. */
  async land(which: number, result: string | Error): Promise<void> {
    const pending = this.#process?.pending ?? [];
    const [call] = pending.splice(which % pending.length, 1);
    assert.ok(call);
    if (typeof result === "string") this.#given.set(call.n, result);
    call.land(result);
    await this.#settle();
  }

  /** The turn is cancelled. */
  async cancel(): Promise<void> {
    this.#process?.stop.abort(new DOMException("Enough", "AbortError"));
    await this.#settle();
  }

  /** Whoever reads the turn goes away after its next event. */
  async leave(): Promise<void> {
    if (this.#process !== null) this.#process.isLeaving = true;
    await this.#settle();
  }

  /** The process dies. */
  async crash(): Promise<void> {
    if (this.#process === null) return;
    this.#process.isDead = true;
    this.#process = null;
    const { head } = await this.#read();
    this.#left = head.lease?.turn ?? null;
    if (this.#left === null) this.#endTask();
  }

  /** Time goes by. */
  async wait(ms: number): Promise<void> {
    await this.#clock.advance(ms);
    await this.#settle();
  }

  /** Brings the session to rest, and goes on with it once more. */
  async end(): Promise<void> {
    if (this.state === "left") await this.takeOver();
    await this.cancel();
    await this.wait(1_000);
    assert.equal(this.state, "idle", "a cancelled turn goes on");
    await this.say("Still there?", false);
    assert.ok(this.isAsked || this.#process === null);
    if (this.isAsked) await this.answer(0);
    await this.check();
    assert.equal(this.state, "idle");
    const { head, entries } = await this.#read();
    assert.equal(head.lease, undefined);
    assertLog(entries);
  }

  /** Fails unless everything is true that has to be true after each step. */
  async check(): Promise<void> {
    const { entries } = await this.#read();
    assert.deepEqual(entries.slice(0, this.#log.length), this.#log, "the log is append-only");
    this.#log = entries;
    if (this.state === "idle") assertLog(entries);
    for (const entry of entries) this.#checkResult(entry);
    for (const { request, task, pins } of this.#asked.splice(0)) {
      assert.deepEqual(this.#problems(request), []);
      assert.equal(overflow(request, this.#options.window), 0, "a request does not fit the window");
      const said = request.messages.flatMap(({ role, content }) => role === "user" ? [content] : []);
      for (const text of [task, ...pins]) {
        assert.ok(said.includes(text), `not verbatim: ${text.slice(0, 60)}`);
      }
      assertAccounted(request, entries);
      for (const ref of accountOf(request).lines) this.#recall(ref);
    }
  }

  /** What any provider, or the core itself, would find wrong with a request. */
  #problems(request: ModelRequest): readonly string[] {
    const chat = new ChatEncoder({ model: "m", limitName: "max_tokens" }).encode(request);
    const { bytes } = encodeMessagesBody(request, {
      model: "m",
      isBound: false,
      providerTools: [],
      cache: true,
      paused: [],
    });
    const memory = { thoughts: new Map(), blocks: new Map(), paused: new Set<string>() };
    const limits = { maxOutput: MAX_OUTPUT, betas: [], isBound: false };
    const messages = request.messages as unknown as readonly Record<string, unknown>[];
    const { transcript } = readTranscript(messages, { format: "ai-sdk", measure: boundTokens });
    return [
      ...requestProblems(request),
      findChatRefusal(JSON.parse(this.#decoder.decode(chat)))?.message,
      findMessagesRefusal(JSON.parse(this.#decoder.decode(bytes)), memory, limits),
      ...checkTranscript(transcript).map(({ message }) => message),
    ].filter((problem) => problem !== undefined && problem !== null);
  }

  /** Finds the originals of a pair that a ledger names, as a model would. */
  #recall(ref: string): void {
    const asked = this.#log[Number.parseInt(ref.slice(1))];
    assert.ok(asked?.kind === "assistant", `${ref} names no answer`);
    const call = callsOf(asked).find((found) => found.ref === ref);
    assert.ok(call !== undefined, `${ref} names no call`);
    const results = this.#log.filter((entry) => entry.kind === "result" && entry.call === ref);
    assert.equal(results.length, 1, `${ref} has ${results.length} results`);
    const context = { session: KEY.session, tenant: KEY.tenant, signal: new AbortController().signal };
    const page = String(recallTool(() => this.#log).execute?.({ ref, limit: PAGE }, context));
    assert.ok(page.includes(JSON.stringify(call.input)), `${ref} does not give its arguments`);
    const [result] = results;
    if (result?.kind === "result" && result.status === "ok" && result.output.type === "text") {
      assert.ok(page.includes(result.output.value.slice(0, PAGE / 2)), `${ref} does not give its result`);
    }
    this.recalled++;
  }

  /** A result is in the log as its tool gave it, whatever is shown of it. */
  #checkResult(entry: Entry): void {
    if (entry.kind !== "result" || entry.status !== "ok") return;
    const asked = this.#log[Number.parseInt(entry.call.slice(1))];
    const call = asked && callsOf(asked).find(({ ref }) => ref === entry.call);
    const { n } = (call?.input ?? {}) as { n?: number };
    assert.ok(n !== undefined && this.#given.has(n), `nobody gave ${entry.call}`);
    assert.equal(entry.output.type === "text" ? entry.output.value : null, this.#given.get(n));
  }

  #start(
    turn: (agent: Agent, stop: AbortSignal, store: Store) => AsyncGenerator<TurnEvent, void>,
  ): void {
    const process: Process = {
      stop: new AbortController(),
      events: [],
      pending: [],
      answer: null,
      isDead: false,
      isLeaving: false,
      isOver: false,
      refusal: null,
    };
    this.#process = process;
    const events = turn(this.#agent(process), process.stop.signal, this.#mortal(process));
    void (async () => {
      try {
        for await (const event of events) {
          if (process.isDead) return await new Promise<never>(() => {});
          process.events.push(event);
          if (event.type === "compaction" && event.phase === "applied") this.compactions++;
          if (process.isLeaving) break;
        }
      } catch (error) {
        process.refusal = error;
      }
      process.isOver = true;
    })();
  }

  /** A store that hears of a process for as long as it lives. */
  #mortal(process: Process): Store {
    const store = this.#store;
    const live = <Result>(run: () => Promise<Result>): Promise<Result> =>
      process.isDead ? new Promise(() => {}) : run();
    return {
      ...withCommit(store, (key, lease: Lease, commit) => live(() => store.commit(key, lease, commit))),
      renew: (key, lease, ttlMs) => live(() => store.renew(key, lease, ttlMs)),
      acquire: (key, request) => live(() => store.acquire(key, request)),
    };
  }

  #agent(process: Process): Agent {
    const { window, policy, summaryMs } = this.#options;
    const model = modelOf(async function* (request) {
      process.pending.length = 0;
      see(request);
      const reply = await new Promise<Reply>((resolve) => process.answer = resolve);
      const content: (TextPart | ToolCallPart)[] = reply.length === 0
        ? [{ type: "text", text: "That is done. Anything else?" }]
        : reply.map((n) => ({
          type: "tool-call",
          toolCallId: "same for all",
          toolName: "work",
          input: { n, path: `src/part_${n}.ts` },
        }));
      const { system, tools, messages } = request;
      yield {
        type: "finish",
        reason: reply.length === 0 ? "stop" : "tool-calls",
        message: { role: "assistant", content },
        usage: {
          inputTokens: scriptedTokens([system, tools, messages]),
          outputTokens: scriptedTokens(content),
        },
      };
    }, { window, maxOutput: MAX_OUTPUT });
    const see = (request: ModelRequest): void => {
      if (process.isDead) return;
      this.#asked.push({
        request: structuredClone(request),
        task: this.#task?.text ?? assert.fail("a model is asked without a turn"),
        pins: [...this.#pins],
      });
    };
    const work = tool("work", ({ n }) =>
      new Promise<string>((resolve, reject) => {
        const land = (result: string | Error): void =>
          typeof result === "string" ? resolve(result) : reject(result);
        process.pending.push({ n: Number(n), land });
      }));
    const clock = this.#clock;
    return {
      model,
      tools: [work],
      toolConcurrency: 16,
      toolTimeoutMs: 3_600_000,
      maxSteps: 200,
      compaction: { policy },
      ...(summaryMs === null ? {} : {
        summarizer: modelOf(async function* (_, signal) {
          await clock.sleep(summaryMs, signal);
          yield finish(JSON.stringify({ narrative: "Work was done.", outcomes: {} }));
        }),
      }),
    };
  }

  /** Lets everything happen that can, and sees whether the turn is over. */
  async #settle(): Promise<void> {
    for (let n = 0; n < 2; n++) await this.#clock.advance(0);
    const process = this.#process;
    if (process === null || !process.isOver) return;
    this.#process = null;
    const { refusal } = process;
    // Pins may leave no room for an input; a window this small may be full. Nothing else keeps a session back.
    if (refusal !== null) {
      assert.equal((refusal as { code?: string }).code, "input_too_large", String(refusal));
    } else this.#endTask();
    const allowed = ["context_exhausted", "turn_lost"];
    for (const event of process.events) {
      if (event.type === "error") assert.ok(allowed.includes(event.code), `${event.code}: ${event.message}`);
    }
    this.#task = null;
  }

  #endTask(): void {
    if (this.#task?.pin === true) this.#pins.push(this.#task.text);
    this.#task = null;
  }

  async #read() {
    return await this.#store.read(KEY) ??
      { head: { lease: undefined }, entries: [] as readonly Entry[], view: null };
  }
}
