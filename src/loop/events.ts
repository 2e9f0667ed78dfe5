/**
 * What a turn tells its listeners. Every client protocol is an encoder over these events.
 *
 * @module
 */
import type { FilePart, ProviderOptions, TextPart, ToolCallPart, ToolResultPart } from "../core/message.ts";
import type { CallStatus, CompactionNote, Usage } from "../ports.ts";
import type { PendingCall } from "./pause.ts";
import type { MeterTier } from "../tokens/meter.ts";

/** Where a call stands: step of the turn, index in the step, place in the log. */
export interface CallPlace {
  /** Step of the turn, from 1. */
  readonly step: number;
  /** Index of the call in its step, from 0. */
  readonly call: number;
  /** Reference of the call, for example `e41.0`. */
  readonly ref: string;
  /** Name. */
  readonly name: string;
}

/** What happened to a compaction: as in its note, where it made a view. */
export interface CompactionEvent extends Partial<CompactionNote> {
  /** Tells the events apart. */
  readonly type: "compaction";
  /** What happened. */
  readonly phase: "started" | "applied" | "nothing" | "deferred" | "rejected" | "exhausted";
  /**
   * Why: what made an applied one due, why there is nothing to do (`within_budget`, `within_lookback`), the deferral's
   * reason, the rejection's first code.
   */
  readonly reason: string;
  /** Promises that a rejected compaction would have broken. */
  readonly violations?: readonly {
    readonly code: string;
    readonly condition: string;
    readonly message: string;
  }[];
  /** Legal cuts around the target of a deferral. */
  readonly nearest?: { readonly before: number | null; readonly after: number | null };
}

/** A compaction that made a view. */
export type AppliedEvent = CompactionEvent & { readonly phase: "applied"; readonly view: number };

/** Whether a compaction made a view. */
export function isApplied(event: CompactionEvent): event is AppliedEvent {
  return event.phase === "applied" && event.view !== undefined;
}

/** What the log keeps of a compaction that made a view. */
export function noteOf({ type: _type, phase: _phase, ...facts }: AppliedEvent): CompactionNote {
  return facts;
}

/** One event without its place in the stream. */
export type TurnEventBody =
  | {
    readonly type: "turn.started";
    readonly turn: string;
    readonly session: string;
    readonly agent: string;
    readonly model: string;
  }
  | { readonly type: "step.started"; readonly step: number }
  | {
    /** The user has said something while the turn ran: it is in the log from here on. */
    readonly type: "user.message";
    /** Reference of the entry, for example `e41`. */
    readonly ref: string;
    readonly input: string | readonly (TextPart | FilePart)[];
  }
  | { readonly type: "text.delta"; readonly step: number; readonly text: string }
  | { readonly type: "reasoning.delta"; readonly step: number; readonly text: string }
  | {
    /** Text or reasoning is whole, where the provider says so before the answer is. */
    readonly type: "part.end";
    readonly step: number;
    readonly kind: "text" | "reasoning";
    /** What the provider says of it, a signature for example. */
    readonly metadata?: ProviderOptions;
  }
  | {
    /** A part that is not streamed: a file, a call that the provider ran itself, or its result. */
    readonly type: "part";
    readonly step: number;
    readonly part: FilePart | ToolCallPart | ToolResultPart;
  }
  | (CallPlace & { readonly type: "tool.input.delta"; readonly delta: string })
  | (Omit<CallPlace, "name"> & {
    /** The arguments of a call are whole, where the provider says so before the answer is. */
    readonly type: "tool.input.end";
  })
  | (CallPlace & { readonly type: "tool.call"; readonly input: unknown })
  | (CallPlace & {
    /** What a tool tells while it works: at most 1,000 of these for a call, each of at most 8,192 characters of JSON. */
    readonly type: "tool.progress";
    readonly data: unknown;
  })
  | (CallPlace & {
    readonly type: "tool.result";
    readonly status: CallStatus;
    /** The output as the model is shown it. */
    readonly output: unknown;
    /** True where the model is shown less than the log holds. */
    readonly shortened: boolean;
    /** Where a person has not allowed the call. */
    readonly denied?: boolean;
    readonly ms: number;
  })
  | {
    readonly type: "context";
    readonly tokens: number;
    readonly tier: MeterTier;
    readonly window: number;
    readonly compactAt: number;
    readonly stopAt: number;
  }
  | CompactionEvent
  | {
    /** The turn waits for its client, or for a person: the stream ends, and goes on with the answers. */
    readonly type: "turn.paused";
    /** `approval` where any call waits for a person, which each call says for itself. */
    readonly reason: "tool" | "approval";
    readonly pending: readonly PendingCall[];
    /** Sums over the model calls of the turn so far. */
    readonly usage: Usage;
    readonly steps: number;
    /** The model that gave the last answer: with fallbacks it may be another one than `turn.started` names. */
    readonly model?: string;
  }
  | {
    readonly type: "turn.finished";
    readonly reason: "stop" | "length" | "content-filter" | "max-steps" | "aborted" | "error";
    /** Sums over the model calls of the turn. */
    readonly usage: Usage;
    readonly steps: number;
    /** The model that gave the last answer, if any has: it may be another one than `turn.started` names. */
    readonly model?: string;
  }
  | { readonly type: "error"; readonly code: string; readonly message: string; readonly retryable: boolean };

/** One event of a turn; `id` is `<turn>:<n>` with n rising from 0, and empty where no turn could begin. */
export type TurnEvent = TurnEventBody & { readonly id: string };

/** Why a turn has ended. */
export type TurnEnd = Extract<TurnEvent, { type: "turn.finished" }>["reason"];

/** The number of an event in its turn: numbers rise, and leave out some where a turn was taken over. */
export function eventNumber({ id }: { readonly id: string }): number {
  return Number(id.slice(id.lastIndexOf(":") + 1));
}
