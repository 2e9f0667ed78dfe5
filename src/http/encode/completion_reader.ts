/**
 * What the events of a turn come to in Chat Completions, whether streamed or not. Tools that the service runs never
 * appear as calls, which clients would run; they and compactions are notes beside the answer.
 *
 * @module
 */
import { inputText } from "../../formats/call_input.ts";
import type { TurnEvent, TurnEventBody } from "../../loop/events.ts";
import type { Usage } from "../../ports.ts";
import type { Problem } from "../problem.ts";

/** What is the same in all chunks of a response. */
export interface CompletionOptions {
  readonly turn: string;
  /** The model that was asked for. */
  readonly model: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** Names what answers: agent, tools, model. */
  readonly fingerprint: string;
  /** Names of the tools that the client runs: it is told of their calls as such, and of nothing else. */
  readonly clientTools: ReadonlySet<string>;
  /** Whether the last chunk tells what it cost. */
  readonly includesUsage?: boolean;
  /** Whether the answer is JSON: what is said before a tool is used is no part of it then. */
  readonly isJson?: boolean;
  /** What earlier responses of the turn have told as their cost. */
  readonly billed?: Usage;
}

/** A call for the client. */
export interface CompletionCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** What a chunk adds to the answer. */
export interface Delta {
  readonly content?: string;
  readonly reasoning_content?: string;
}

/** Why an answer ended. */
export type Ending = "stop" | "length" | "tool_calls" | "content_filter";

/** What becomes of one event. Events of steps that the client has sent itself, which count as step 0, become nothing. */
export type Part =
  | { readonly kind: "delta"; readonly delta: Delta }
  | { readonly kind: "call"; readonly index: number; readonly call: CompletionCall }
  | { readonly kind: "note"; readonly note: Readonly<Record<string, unknown>> }
  | { readonly kind: "end"; readonly ending: Ending; readonly usage: Usage }
  | { readonly kind: "error"; readonly problem: Problem };

/** What stands between the texts of two steps. */
const BETWEEN = "\n\n";

/** The id of a call, by which its result finds the turn that waits for it. */
export function callId(turn: string, ref: string): string {
  return `call_${turn}_${ref.replace(".", "_")}`;
}

/** The turn and the reference of a call's id; null where it is none of ours. */
export function placeOfCall(id: string): { readonly turn: string; readonly ref: string } | null {
  const [, turn, entry, call] = id.match(/^call_(.{1,200})_(e\d{1,15})_(\d{1,9})$/s) ?? [];
  return turn === undefined ? null : { turn, ref: `${entry}.${call}` };
}

/** Reads the events of one response one by one. */
export class CompletionReader {
  readonly #options: CompletionOptions;
  /** Texts of the running step, where they are held back. */
  #held = "";
  #hasText = false;
  /** Whether the running step has said something. */
  #isSaying = false;
  #isOver = false;
  #problem: Problem | null = null;

  constructor(options: CompletionOptions) {
    this.#options = options;
  }

  /** What an event comes to. */
  *read(event: TurnEvent): Generator<Part> {
    switch (event.type) {
      case "step.started":
        this.#held = "";
        this.#isSaying = false;
        return;
      case "reasoning.delta":
        return yield { kind: "delta", delta: { reasoning_content: event.text } };
      case "text.delta": {
        if (this.#options.isJson === true) this.#held += event.text;
        else yield this.#say(event.text);
        return;
      }
      case "tool.call": {
        const { step, call, ref, name, input } = event;
        if (this.#isOurs(event)) yield noteOf({ type: event.type, step, call, ref, name, input });
        return;
      }
      case "tool.progress": {
        const { id: _, ...progress } = event;
        return yield noteOf(progress);
      }
      case "tool.result": {
        const { step, call, ref, name, status, ms } = event;
        if (this.#isOurs(event)) yield noteOf({ type: event.type, step, call, ref, name, status, ms });
        return;
      }
      case "compaction": {
        const { id: _, ...compaction } = event;
        return yield noteOf(compaction);
      }
      case "error":
        this.#problem = {
          code: event.code,
          detail: event.message,
          fields: { retryable: event.retryable },
        };
        return;
      case "turn.paused":
        return yield* this.#pause(event);
      case "turn.finished":
        return yield* this.#end(event);
      case "turn.started":
      case "part":
      case "part.end":
      case "tool.input.delta":
      case "user.message":
      case "tool.input.end":
      case "context":
        return;
      default:
        event satisfies never;
    }
  }

  /** What an end without a last event comes to. */
  *end(): Generator<Part> {
    if (this.#isOver) return;
    yield {
      kind: "error",
      problem: this.#problem ?? {
        code: "turn_suspended",
        detail: "The turn has left this process before its end; ask again",
      },
    };
  }

  /** Whether a call is news to the client: not one that it runs, nor one that its history came with. */
  #isOurs({ step, name }: { readonly step: number; readonly name: string }): boolean {
    return step > 0 && !this.#options.clientTools.has(name);
  }

  #say(text: string): Part {
    const between = this.#hasText && !this.#isSaying ? BETWEEN : "";
    this.#hasText = this.#isSaying = true;
    return { kind: "delta", delta: { content: between + text } };
  }

  *#end({ reason, usage }: Extract<TurnEvent, { type: "turn.finished" }>): Generator<Part> {
    this.#isOver = true;
    if (reason === "error" || reason === "aborted") {
      const problem = this.#problem ??
        { code: "turn_aborted", detail: "The turn was cancelled before its end" };
      return yield { kind: "error", problem };
    }
    if (this.#held !== "") yield this.#say(this.#held);
    // The protocol has no word for it, and nothing else that tells of an answer that is not whole.
    if (reason === "max-steps") yield noteOf({ type: "turn.finished", reason });
    const ending = reason === "content-filter" ? "content_filter" : reason === "stop" ? "stop" : "length";
    yield { kind: "end", ending, usage: this.#costOf(usage) };
  }

  /** A call for the client is told when its answer is whole, and no part of it can turn out to be void any more. */
  *#pause({ reason, pending, usage }: Extract<TurnEvent, { type: "turn.paused" }>): Generator<Part> {
    this.#isOver = true;
    const calls = pending.filter((call) => call.reason === "tool");
    // Whom a call waits for that no client runs is said, and the way to answer is another one.
    if (calls.length < pending.length) {
      yield noteOf({ type: "turn.paused", turn: this.#options.turn, reason, pending });
    }
    for (const [index, { ref, name, input }] of calls.entries()) {
      const id = callId(this.#options.turn, ref);
      yield {
        kind: "call",
        index,
        call: { id, type: "function", function: { name, arguments: inputText(input) } },
      };
    }
    yield { kind: "end", ending: calls.length > 0 ? "tool_calls" : "stop", usage: this.#costOf(usage) };
  }

  #costOf(usage: Usage): Usage {
    const { billed } = this.#options;
    if (billed === undefined) return usage;
    return {
      inputTokens: usage.inputTokens - billed.inputTokens,
      outputTokens: usage.outputTokens - billed.outputTokens,
      cachedTokens: (usage.cachedTokens ?? 0) - (billed.cachedTokens ?? 0),
    };
  }
}

function noteOf(note: Readonly<Record<string, unknown>> & Pick<TurnEventBody, "type">): Part {
  return { kind: "note", note };
}
