/**
 * The log of a session: entries that are only ever appended.
 *
 * @module
 */
import type { AssistantMessage, Message, ToolOutput } from "../core/message.ts";
import type { CompactionSettings, ModelSettings } from "../core/settings.ts";
import type { Usage } from "../core/usage.ts";
import type { FinishReason } from "./model.ts";
import type { ToolSchema } from "./tool.ts";

/** How a call ended. */
export type CallStatus = "ok" | "error" | "aborted";

/** What a client's protocol says of a message beside its content: models never see it. */
export interface ClientNote {
  /** Id of the message. */
  readonly id?: string;
  /** What the client keeps with it. */
  readonly metadata?: unknown;
  /** Its parts, where they say more than the content does. */
  readonly parts?: readonly unknown[];
}

/** What a compaction came to. Numbers of entries and tokens. */
export interface CompactionNote {
  /** Number of the view that it made. */
  readonly view: number;
  /** What made it due. */
  readonly reason: string;
  /** Which way the cut was found. */
  readonly method?: "near" | "trim" | "forward";
  /** First entry that stays raw. */
  readonly cut?: number;
  /** Tokens kept beyond the target, negative where less is kept. */
  readonly distance?: number;
  /** Pairs that went into the ledger. */
  readonly pairs?: number;
  /** Tokens of the context before. */
  readonly tokensBefore?: number;
  /** Tokens of the context after. */
  readonly tokensAfter?: number;
  /** Set where it settled an earlier deferral. */
  readonly resolved?: "step" | "turn";
  /** What the summary is made of. */
  readonly summary?: "ledger" | "ledger+prose";
  /** Why the summarizer's prose is not in it, where one was asked. */
  readonly summaryFailure?: string;
}

/** What every entry has. */
export interface EntryBase {
  /** Position in the log, from 0. `e41` is the entry with `seq` 41, `e41.0` its first call. */
  readonly seq: number;
  /** Id of the turn. */
  readonly turn: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** What its client says of the message that it belongs to. */
  readonly client?: ClientNote;
  /** The compaction that was applied right before it. */
  readonly compacted?: CompactionNote;
}

/** A message from the user. */
export interface UserEntry extends EntryBase {
  /** Tells the entries apart. */
  readonly kind: "user";
  /** What the user said. */
  readonly message: Extract<Message, { role: "user" }>;
  /** Kept verbatim in every view until released. */
  readonly pinned?: boolean;
  /** Instructions of the caller for the turn, after the agent's own. */
  readonly instructions?: string;
  /** How the model is to answer in the turn. */
  readonly settings?: ModelSettings;
  /** When compaction is due in the turn, and what it aims at, in place of what the agent says. */
  readonly compaction?: CompactionSettings;
  /** What was said while the turn ran: the number of the message, from 0. */
  readonly mail?: number;
  /** Tools that the client brought along for this turn, and runs itself. */
  readonly clientTools?: readonly ToolSchema[];
}

/** What the model said in one step, its calls included. */
export interface AssistantEntry extends EntryBase {
  /** Tells the entries apart. */
  readonly kind: "assistant";
  /** Step of the turn, from 1. */
  readonly step: number;
  /** What the model said. */
  readonly message: AssistantMessage;
  /** Why the answer ended. */
  readonly reason: FinishReason;
  /** The model that answered. */
  readonly model: string;
  /** Names what the model was shown before it; signed reasoning holds under no other prefix (C6). */
  readonly prefix?: string;
  /** What the provider billed for it. */
  readonly usage?: Usage;
}

/** What a person has said to a call. */
export interface ApprovalNote {
  /** Whether it may be run. */
  readonly approved: boolean;
  /** Why. */
  readonly reason?: string;
}

/** The answer to one call, named by position: pairing holds by construction. */
export interface ResultEntry extends EntryBase {
  /** Tells the entries apart. */
  readonly kind: "result";
  /** Step of the turn, from 1. */
  readonly step: number;
  /** Reference of the call, for example `e41.0`. */
  readonly call: string;
  /** Name of the tool. */
  readonly toolName: string;
  /** How the call ended. */
  readonly status: CallStatus;
  /** What the tool answered. */
  readonly output: ToolOutput;
  /** Tokens to which the result is shown shortened from the start; the output itself is whole. */
  readonly cap?: number;
  /** Milliseconds that the call took. */
  readonly ms: number;
  /** What a person has said to the call, where one was asked. */
  readonly approval?: ApprovalNote;
}

/** One stored item of a session's log; never edited, never lost. */
export type Entry = UserEntry | AssistantEntry | ResultEntry;
