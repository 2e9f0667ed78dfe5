/**
 * What the page of the doctor asks its worker, and what that answers: plain data, so that it can be sent between them.
 *
 * @module
 */
import type { CompactedTranscript } from "../../compaction/wire.ts";
import type { Violation } from "../../core/record.ts";
import type { CheckDocument } from "../../formats/describe.ts";
import type { Repair } from "../../formats/repair.ts";

/** Something that is wrong, and the line of the file that it is in, where messages have lines. */
export type Fault = Violation & { readonly line: number | null };

/** What was found in one transcript of a file. */
export interface Findings {
  /** What cannot be read in it; the rest is empty then. */
  readonly error: string | null;
  readonly document: Omit<CheckDocument, "violations" | "notices"> | null;
  /** The first of the violations. */
  readonly faults: readonly Fault[];
  readonly faultCount: number;
  /** Counts of messages, calls, tokens; tokens are estimated. */
  readonly messages: number;
  readonly calls: number;
  readonly tokens: number;
  /** The first changes that a repair makes. */
  readonly repairs: readonly Repair[];
  readonly repairCount: number;
  /** What is still wrong after a repair. */
  readonly left: number;
  /** What wrapped the messages: a log, of which only the messages can be written. */
  readonly wrapper: string | null;
}

/** What was found in a file. */
export interface Opened {
  readonly kind: "opened";
  readonly name: string;
  readonly transcripts: readonly Findings[];
}

/** A compaction that was tried. */
export interface Preview extends
  Pick<
    CompactedTranscript,
    "outcome" | "cut" | "tokens" | "reason" | "nearest"
  > {
  readonly kind: "preview";
  readonly pairs: number;
  readonly trims: number;
  /** The ledger as a model reads it; null without one. */
  readonly summary: string | null;
  /** Tokens of the summary. */
  readonly summaryTokens: number;
}

/** A part of a message, shortened to what can be read. */
export interface ShownPart {
  readonly kind: string;
  readonly name: string | null;
  readonly callId: string | null;
  readonly text: string;
  /** Characters that are left out. */
  readonly hidden: number;
}

/** Messages with their parts. */
export interface Shown {
  readonly kind: "shown";
  readonly messages: readonly {
    readonly at: number;
    readonly line: number | null;
    readonly parts: readonly ShownPart[];
  }[];
}

/** A file to be saved. */
export interface Written {
  readonly kind: "written";
  readonly name: string;
  readonly blob: Blob;
}

/** What the page asks. */
export type Ask =
  | { readonly kind: "open"; readonly name: string; readonly source: Blob | string }
  | { readonly kind: "preview"; readonly transcript: number; readonly budget: number }
  | { readonly kind: "show"; readonly transcript: number; readonly from: number; readonly to: number }
  /** The whole file repaired; with a budget, one transcript of it compacted too. */
  | { readonly kind: "write"; readonly transcript?: number; readonly budget?: number };

/** What the worker answers. */
export type Answer = Opened | Preview | Shown | Written | {
  readonly kind: "failed";
  readonly message: string;
};
