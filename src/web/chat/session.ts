/**
 * One session as the page has it: what was said, what goes on, what waits, and what the model is shown. It goes on with
 * a turn that it finds running, so that a page which was loaded again shows the same.
 *
 * @module
 */
/// <reference lib="dom" />
import {
  type Client,
  ClientError,
  type ClientTurn,
  type InspectedContext,
  type SessionDetails,
  type ShownEntry,
} from "../../client/mod.ts";
import { isRefusal } from "../../client/error.ts";
import { SESSION_ID } from "../../core/session_id.ts";
import type { Approval, CallAnswer } from "../../loop/agent.ts";
import { systemClock } from "../../loop/clock.ts";
import type { PendingCall } from "../../loop/pause.ts";
import type { Clock } from "../../ports.ts";
import { Items } from "./items.ts";
import { storedEntries } from "./entries.ts";
import { Pace } from "./pace.ts";
import { isAnswered, isGone, isTaken } from "./refusals.ts";
import { sayContent, sayError } from "./say.ts";

/** Where a session stands. */
export type Standing = "loading" | "idle" | "running" | "paused" | "locked" | "failed" | "misnamed";

/** An answer to one call. */
export type Answer = { readonly result: CallAnswer } | { readonly approval: Approval };

/** A session. */
export class Session {
  readonly name: string;
  readonly #client: Client;
  readonly #onChange: () => void;
  items = new Items();
  standing: Standing = "loading";
  /** Why it failed. */
  problem = "";
  /** What is told of the turn until it is over. */
  notice = "";
  context: InspectedContext | null = null;
  pending: readonly PendingCall[] = [];
  /** What was said to the running turn, and waits for its next step. */
  unheard: readonly string[] = [];
  /** The agent that answered last, null for a new session. */
  agent: string | null = null;
  #turn: ClientTurn | null = null;
  /** The turn that was stopped last. */
  #stopped: ClientTurn | null = null;
  #isOver = false;
  /** Whether the service has anything of it. */
  #isStored = false;
  readonly #looks: Pace;

  /** Makes it; `load()` reads what there is. */
  constructor(
    client: Client,
    { name, onChange, clock = systemClock }: {
      readonly name: string;
      readonly onChange: () => void;
      readonly clock?: Clock;
    },
  ) {
    this.#client = client;
    this.#looks = new Pace(() => this.#look(), clock);
    this.name = name;
    this.#onChange = onChange;
  }

  /** Whether the turn is to end, which takes its time while the service is away. */
  get isStopping(): boolean {
    return this.#stopped !== null && this.#stopped === this.#turn;
  }

  /** Reads what there is, and goes on with a turn that runs. */
  async load(): Promise<void> {
    // What is no name may be another address of the service: nobody is asked.
    if (!SESSION_ID.test(this.name)) return this.#set("misnamed");
    this.#set("loading");
    try {
      const details = await this.#client.sessions.get(this.name);
      const entries = await storedEntries(this.#client, this.name);
      if (this.#isOver) return;
      this.agent = details.agent;
      this.#isStored = true;
      void this.#looks.ask();
      await this.#take(details, entries);
    } catch (error) {
      if (error instanceof ClientError && error.code === "session_not_found") {
        this.items = new Items();
        this.context = null;
        this.#isStored = false;
        return this.#set("idle");
      }
      this.#fail(error);
    }
  }

  /** Looks whether another window has gone on with the session, and shows what came of it. */
  async refresh(): Promise<void> {
    const { standing } = this;
    if (!this.#isStored || (standing !== "idle" && standing !== "paused")) return;
    try {
      const { running, paused, entries, view } = await this.#client.sessions.get(this.name);
      const isShown = running === null && (paused?.pending.length ?? 0) === this.pending.length &&
        entries === this.context?.atoms.at(-1)?.to && view === this.context.view;
      if (isShown) return;
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      // What nobody can tell for now changes nothing; what is gone, or wants a key, is shown.
      if (!isRefusal(error)) return;
    }
    // Meanwhile a turn may have begun here.
    if (!this.#isOver && this.standing === standing) await this.load();
  }

  /** Begins a session that is known to be new. */
  begin(): void {
    this.#set("idle");
  }

  /** The service wants a key first. */
  lock(): void {
    this.#set("locked");
  }

  /** Leaves the session; what runs goes on. */
  close(): void {
    this.#isOver = true;
  }

  /** Sends a message: to the turn that runs, or as a new one. */
  async send(input: string, agent: string | null): Promise<void> {
    if (this.standing === "running" && this.#turn !== null) return await this.#say(this.#turn, input);
    this.notice = "";
    this.items.said(input);
    const named = this.agent ?? agent;
    await this.#play(this.#client.turn({
      session: this.name,
      input,
      // Who leaves the page comes back to it.
      onDisconnect: "continue",
      ...(named === null ? {} : { agent: named }),
    }));
  }

  /** Says something to a turn that runs: it is heard at the next step. */
  async #say(turn: ClientTurn, input: string): Promise<void> {
    this.unheard = [...this.unheard, input];
    this.#onChange();
    try {
      await turn.send(input);
    } catch (error) {
      this.#heard(input);
      this.items.note(sayError(error), "bad");
      this.#onChange();
    }
  }

  #heard(input: string): void {
    const at = this.unheard.indexOf(input);
    this.unheard = this.unheard.filter((_, index) => index !== at);
  }

  /** Ends the turn that runs or waits. */
  async stop(): Promise<void> {
    const turn = this.#turn;
    if (turn === null) return;
    this.#stopped = turn;
    this.#onChange();
    try {
      await turn.cancel();
      if (this.standing === "paused") await this.load();
    } catch (error) {
      this.#stopped = null;
      this.#fail(error);
    }
  }

  /** Answers one of the calls that wait. */
  async answer(answer: Answer): Promise<void> {
    const turn = this.#turn;
    if (turn === null) return;
    try {
      await turn.answer("result" in answer ? { results: [answer.result] } : { approvals: [answer.approval] });
    } catch (error) {
      if (isAnswered(error)) {
        // What came of the answer of somebody else is shown, and with it why this one was not taken.
        this.notice = "Already answered in another window.";
        return await this.load();
      }
      // It was not to be read: what is there now says more.
      await this.load();
      this.items.note(sayError(error), "bad");
      return this.#onChange();
    }
    const { ref } = "result" in answer ? answer.result : answer.approval;
    await this.#play(turn, { pending: this.pending.filter((call) => call.ref !== ref) });
  }

  /** Shows what is stored. Of a turn that runs only the input is taken from there: its events tell all the rest. */
  async #take({ running, paused }: SessionDetails, entries: readonly ShownEntry[]): Promise<void> {
    const items = new Items();
    const isTold = (entry: ShownEntry): boolean =>
      running !== null && entry.turn === running.turn && (entry.kind !== "user" || entry.mail !== undefined);
    for (const entry of entries) if (!isTold(entry)) items.entry(entry);
    this.items = items;
    if (paused !== null) {
      this.#turn = this.#client.follow(paused.turn);
      this.pending = paused.pending as readonly PendingCall[];
      for (const call of this.pending) items.waits(call.ref, call);
      return this.#set("paused");
    }
    this.pending = [];
    if (running === null) return this.#set("idle");
    try {
      await this.#play(this.#client.follow(running.turn), { isFollowed: true });
    } catch (error) {
      if (!isGone(error)) throw error;
      // Its events are gone: the log has what came of it.
      for (const entry of entries) if (isTold(entry)) items.entry(entry);
      this.#set("idle");
    }
  }

  /** Shows the events of a turn to its end, or to where it waits. */
  async #play(
    turn: ClientTurn,
    { isFollowed = false, pending = [] }: {
      readonly isFollowed?: boolean;
      /** Calls that still wait. */
      readonly pending?: readonly PendingCall[];
    } = {},
  ): Promise<void> {
    this.#turn = turn;
    this.pending = pending;
    this.#set("running");
    const { items } = this;
    try {
      for await (const event of turn) {
        if (this.#isOver) return;
        this.#isStored = true;
        items.event(event);
        if (event.type === "turn.started") this.agent = event.agent;
        if (event.type === "user.message") this.#heard(sayContent(event.input));
        if (!event.type.endsWith(".delta")) void this.#looks.ask();
        this.#onChange();
      }
      // It has paused before it was stopped: its end is to be read.
      if (turn.pending.length > 0 && this.isStopping) return await this.load();
      if (turn.id === null) items.note("Stopped before it began: it is not part of the session.", "plain");
      this.pending = turn.pending;
      if (this.pending.length === 0) this.notice = "";
      this.#set(this.pending.length > 0 ? "paused" : "idle");
    } catch (error) {
      if (isFollowed) throw error;
      if (!isTaken(error)) return this.#fail(error);
      // Somebody else is at it: what goes on there is shown.
      await this.load();
      this.items.note(error.message, "bad");
      this.#onChange();
    } finally {
      this.unheard = [];
      void this.#looks.ask();
    }
  }

  /** Looks at the context. */
  async #look(): Promise<void> {
    if (!this.#isStored || this.#isOver) return;
    try {
      this.context = await this.#client.sessions.context(this.name);
      if (!this.#isOver) this.#onChange();
    } catch (error) {
      // A session that has nothing stored yet has no context; whatever else is wrong, the turn itself tells.
      if (!(error instanceof ClientError)) throw error;
    }
  }

  #set(standing: Standing): void {
    this.standing = standing;
    if (!this.#isOver) this.#onChange();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    if (error instanceof ClientError && error.status === 401) return this.#set("locked");
    // What was refused before anything was stored leaves the session as it was.
    if (isRefusal(error)) {
      this.items.note(error.message, "bad");
      return this.#set("idle");
    }
    this.problem = sayError(error);
    this.#set("failed");
  }
}
