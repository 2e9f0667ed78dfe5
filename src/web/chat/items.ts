/**
 * What a conversation shows: out of a stored log, and out of the events of a turn, the same items.
 *
 * @module
 */
import type { ShownEntry, TurnEvent } from "../../client/mod.ts";
import { glance, sayContent, sayOutput, sayValue } from "./say.ts";

/** Where a call stands. */
export type CallState = "writing" | "running" | "waiting" | "ok" | "error" | "aborted";

/** One thing that is shown. An item is never changed: another one takes its place. */
export type Item =
  | { readonly kind: "user"; readonly id: string; readonly text: string; readonly isPinned: boolean }
  | { readonly kind: "text" | "reasoning"; readonly id: string; readonly text: string }
  | {
    readonly kind: "call";
    readonly id: string;
    readonly name: string;
    /** The arguments as JSON, as far as they are there. */
    readonly args: string;
    readonly state: CallState;
    readonly output: string | null;
    /** Whether the model is shown less than the log has. */
    readonly isShortened: boolean;
    readonly ms: number | null;
    /** What the tool told last while it worked. */
    readonly progress: string | null;
  }
  | { readonly kind: "compaction"; readonly id: string; readonly mark: Mark }
  | { readonly kind: "note"; readonly id: string; readonly tone: "plain" | "bad"; readonly text: string };

/** A compaction, or why there was none, at a step of the session. */
export interface Mark {
  readonly phase: "applied" | "deferred" | "rejected" | "exhausted";
  /** The step of the session that it came behind. */
  readonly step: number;
  readonly pairs: number;
  readonly method: string | null;
  readonly tokensBefore: number | null;
  readonly tokensAfter: number | null;
  readonly reason: string;
  /** Set where this settles an earlier deferral. */
  readonly resolved: string | null;
}

/** What calls came to, in a word. */
const STATES: Readonly<Record<CallState, string>> = {
  writing: "being written",
  running: "running",
  waiting: "waiting",
  ok: "done",
  error: "failed",
  aborted: "aborted",
};

/** Characters of what an entry holds. */
const GLANCE = 60;

const ENDS: Readonly<Record<string, string>> = {
  length: "The answer was cut off: it had reached its largest size.",
  "content-filter": "The provider held the answer back.",
  "max-steps": "The turn ended: it had used all its steps.",
  aborted: "The turn was stopped.",
};

type CallItem = Extract<Item, { readonly kind: "call" }>;
type CompactionFacts = Omit<Extract<TurnEvent, { readonly type: "compaction" }>, "id" | "type" | "phase">;

/** The items of a session, taken in one by one. */
export class Items {
  readonly #items: Item[] = [];
  readonly #calls = new Map<string, number>();
  /** Tokens that each step of the session came to, null where nobody has told. */
  readonly points: (number | null)[] = [];
  /** Compactions, deferrals and rejections. */
  readonly marks: Mark[] = [];
  /** Whether any step was read from the log, which keeps of compactions only those that were applied. */
  isFromLog = false;
  /** What entries hold, by number: places of their items. */
  readonly #places = new Map<number, number[]>();
  #next = 0;

  /** All of them, in order. */
  get all(): readonly Item[] {
    return this.#items;
  }

  /** What an entry holds, in a few words; empty where nobody has told which items are of it. */
  holds(seq: number): string {
    const told = (this.#places.get(seq) ?? []).map((at) => {
      const item = this.#items[at];
      if (item?.kind === "call") return `${item.name} ${STATES[item.state]}`;
      return item !== undefined && "text" in item
        ? `“${glance(item.text.slice(0, 4 * GLANCE), GLANCE)}”`
        : "";
    });
    return told.slice(0, 3).join(", ") + (told.length > 3 ? ` and ${told.length - 3} more` : "");
  }

  /** Takes in an entry of the log. */
  entry(entry: ShownEntry): void {
    if (entry.compacted !== undefined) this.#mark("applied", entry.compacted);
    if (entry.kind === "user") {
      const { ref, message: { content }, pinned = false } = entry;
      return this.#push({ kind: "user", id: ref, text: sayContent(content), isPinned: pinned });
    }
    if (entry.kind === "result") {
      const { call, status, output, ms, cap } = entry;
      return this.#call(call, {
        state: status,
        output: sayOutput(output),
        ms,
        isShortened: cap !== undefined,
        name: entry.toolName,
      });
    }
    const { usage, message: { content }, calls = [], ref } = entry;
    this.isFromLog = true;
    this.points.push(usage === undefined ? null : usage.inputTokens + usage.outputTokens);
    for (const part of typeof content === "string" ? [{ type: "text", text: content } as const] : content) {
      if (part.type === "text" && part.text !== "") this.#place(entry.seq);
      if (part.type === "text" || part.type === "reasoning") this.#say(part.type, part.text);
      else if (part.type === "file") this.#say("text", sayContent([part]));
      else if (part.type === "tool-result") this.#say("text", sayOutput(part.output));
      this.#close();
    }
    for (const { ref, name, input } of calls) {
      this.#call(ref, { name, args: sayValue(input), state: "running" });
    }
    if (entry.reason === "length" || entry.reason === "content-filter") this.#end(entry.reason, ref);
  }

  /** Takes in an event. */
  event(event: TurnEvent): void {
    switch (event.type) {
      case "user.message":
        return this.#push({ kind: "user", id: event.ref, text: sayContent(event.input), isPinned: false });
      case "step.started":
        this.#close();
        this.points.push(null);
        this.#isCounted = false;
        return;
      case "text.delta":
        return this.#say("text", event.text);
      case "reasoning.delta":
        return this.#say("reasoning", event.text);
      case "part.end":
        return this.#close();
      case "part":
        this.#close();
        if (event.part.type === "file") this.#say("text", sayContent([event.part]));
        return this.#close();
      case "tool.input.delta": {
        const args = this.#known(event.ref)?.args ?? "";
        return this.#call(event.ref, { name: event.name, args: args + event.delta, state: "writing" });
      }
      case "tool.call":
        return this.#call(event.ref, { name: event.name, args: sayValue(event.input), state: "running" });
      case "tool.progress":
        return this.#call(event.ref, { name: event.name, progress: sayValue(event.data) });
      case "tool.result": {
        const { ref, name, status, output, shortened, ms, denied } = event;
        const said = denied === true ? "Not allowed" : sayValue(output);
        return this.#call(ref, {
          name,
          state: status,
          output: said,
          isShortened: shortened,
          ms,
          progress: null,
        });
      }
      case "context":
        return this.#point(event);
      case "compaction":
        if (event.phase !== "started" && event.phase !== "nothing") this.#mark(event.phase, event);
        return;
      case "turn.paused":
        for (const { ref, name, input } of event.pending) this.waits(ref, { name, input });
        return;
      case "turn.finished":
        return this.#end(event.reason, event.id);
      case "error":
        return this.note(event.message, "bad");
    }
  }

  /** A call waits for somebody. */
  waits(ref: string, { name, input }: { readonly name: string; readonly input: unknown }): void {
    this.#call(ref, { name, args: sayValue(input), state: "waiting" });
  }

  /** What the user says, before the service has told of it. */
  said(text: string): void {
    this.#push({ kind: "user", id: this.#id(), text, isPinned: false });
  }

  /** Says something in between. */
  note(text: string, tone: "plain" | "bad"): void {
    this.#push({ kind: "note", id: this.#id(), tone, text });
  }

  #id(): string {
    return `n${this.#next++}`;
  }

  #known(ref: string): CallItem | undefined {
    return this.#items[this.#calls.get(ref) ?? -1] as CallItem | undefined;
  }

  #push(item: Item): void {
    const seq = item.id.match(/^e(\d+)(?:\.\d+)?$/)?.[1];
    if (seq !== undefined) this.#place(Number(seq));
    this.#items.push(item);
    this.#isOpen = false;
  }

  /** The item that comes next is of an entry. */
  #place(seq: number): void {
    const places = this.#places.get(seq);
    if (places === undefined) this.#places.set(seq, [this.#items.length]);
    else places.push(this.#items.length);
  }

  /** Whether the last item is text that goes on. */
  #isOpen = false;

  #close(): void {
    this.#isOpen = false;
  }

  #say(kind: "text" | "reasoning", text: string): void {
    if (text === "") return;
    const last = this.#items.at(-1);
    if (this.#isOpen && last?.kind === kind) {
      this.#items[this.#items.length - 1] = { ...last, text: last.text + text };
      return;
    }
    this.#items.push({ kind, id: this.#id(), text });
    this.#isOpen = true;
  }

  #call(ref: string, change: Partial<CallItem> & { readonly name: string }): void {
    const known = this.#known(ref);
    if (known !== undefined) {
      this.#items[this.#calls.get(ref) ?? 0] = { ...known, ...change };
      return;
    }
    this.#calls.set(ref, this.#items.length);
    this.#push({
      kind: "call",
      id: ref,
      args: "",
      state: "running",
      output: null,
      isShortened: false,
      ms: null,
      progress: null,
      ...change,
    });
  }

  /** Whether the last point was counted. */
  #isCounted = false;

  /** Takes a count where the step has one, else the lowest of its bounds: it is nearest to what is billed. */
  #point({ tokens, tier }: { readonly tokens: number; readonly tier: string }): void {
    const last = this.points.length - 1;
    if (last < 0) return;
    if (tier !== "bound") this.#isCounted = true;
    else if (this.#isCounted) return;
    this.points[last] = tier === "bound" ? Math.min(tokens, this.points[last] ?? Infinity) : tokens;
  }

  #mark(phase: Mark["phase"], facts: CompactionFacts): void {
    const { reason, pairs = 0, method = null, tokensBefore = null, tokensAfter = null, resolved = null } =
      facts;
    const step = this.points.length;
    const mark: Mark = { phase, step, pairs, method, tokensBefore, tokensAfter, reason, resolved };
    this.marks.push(mark);
    this.#push({ kind: "compaction", id: this.#id(), mark });
  }

  #end(reason: string, id: string): void {
    const text = ENDS[reason];
    if (text !== undefined) this.#push({ kind: "note", id: `end ${id}`, tone: "plain", text });
  }
}
