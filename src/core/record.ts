/**
 * Records: the typed parts of messages, which is all that the core needs to know of a transcript.
 *
 * @module
 */

/** What a record is. */
export type RecordKind =
  | "system"
  | "user"
  | "assistant"
  | "reasoning"
  | "tool_use"
  | "tool_result"
  | "summary";

/** One typed part of a message. */
export interface TranscriptRecord {
  /** What the record is. */
  readonly kind: RecordKind;
  /** Index of the message it is part of; the records of a message stand together, in message order. */
  readonly message: number;
  /** Tokens that the record costs. */
  readonly tokens: number;
  /** Id that ties a result to its call. Ids may repeat, be empty or be missing: pairing is by occurrence. */
  readonly callId?: string;
  /** Name of the tool, for calls and results. */
  readonly name?: string;
  /** On a call: it will be answered although later messages pass it over (a person or a client owes the answer). */
  readonly inFlight?: boolean;
  /** On a call: interim results may come before the last one; it is never passed over. */
  readonly longRunning?: boolean;
  /** On a call: it asks a person for an approval; the answer is its result. Such a pair is no tool call. */
  readonly approval?: boolean;
  /** On a result: the call goes on, another result will follow. */
  readonly interim?: boolean;
  /** The message goes on with the assistant message before it, whose calls it does not pass over. */
  readonly joins?: boolean;
  /** On reasoning that is a message of its own: it stays with the message that follows it. */
  readonly sticks?: boolean;
}

/** A call and, if there is one, the result that answers it. Indexes count records. */
export interface Pair {
  /** Record index of the call. */
  readonly call: number;
  /** Record index of the result, null where there is none. */
  readonly result: number | null;
  /** `in_flight`: the running turn will answer it. `abandoned`: nobody will. */
  readonly state: "answered" | "in_flight" | "abandoned";
}

/** The smallest run of messages that stays together. */
export interface Atom {
  /** First message. */
  readonly from: number;
  /** One past the last message. */
  readonly to: number;
  /** `stray`: results that answer nothing. */
  readonly kind: "system" | "user" | "assistant" | "summary" | "stray";
  /** True while one of its calls is in flight. */
  readonly open: boolean;
  /** Tokens of its messages. */
  readonly tokens: number;
}

/** Codes of what can be wrong with a transcript. */
export type ViolationCode =
  | "missing_result"
  | "orphan_result"
  | "duplicate_result"
  | "misplaced_result"
  | "duplicate_call_id"
  | "empty_call_id"
  | "invalid_call_id"
  | "mismatched_name"
  | "truncated_arguments"
  | "invalid_arguments"
  | "reasoning_severed"
  | "results_not_first"
  | "first_not_user"
  | "empty_text";

/** One thing that is wrong, and the condition it breaks. */
export interface Violation {
  /** Stable code. */
  readonly code: ViolationCode;
  /** C1 forward totality, C2 backward totality, C3 contiguity, or a rule of providers that these do not imply. */
  readonly condition: "C1" | "C2" | "C3" | "dialect";
  /** Message index. */
  readonly at: number;
  /** Id of the call, where it has one. */
  readonly callId: string | null;
  /** A sentence for people. */
  readonly message: string;
}
