/**
 * What a tool is to the model and to the loop.
 *
 * @module
 */

import type { Message } from "../core/message.ts";

/** A tool as the model is told about it. */
export interface ToolSchema {
  /** Name. */
  readonly name: string;
  /** What it does, for the model. */
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** What a tool gets beside its input. */
export interface ToolContext {
  /** Aborts when the turn is cancelled or the tool's time is up. */
  readonly signal: AbortSignal;
  /** Session. */
  readonly session: string;
  /** Tenant. */
  readonly tenant: string;
  /** User of the tenant. */
  readonly user?: string;
  /** Reference of the call, for example `e41.0`. */
  readonly call?: string;
  /** What the model was sent in the step that asked for the call. */
  readonly messages?: () => readonly Message[];
}

/** Input that passed, or a sentence on why it did not. */
export type ToolInput =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

/** A tool of an agent. Made by `defineTool()`. */
export interface Tool extends ToolSchema {
  /** Argument names that a ledger line always keeps, to 400 characters. */
  readonly verbatimArgs: readonly string[];
  /** Milliseconds before a call is answered with an error. */
  readonly timeoutMs?: number;
  /** `none`: a call that a crash cut off is run again, rather than closed as aborted. Default `some`. */
  readonly sideEffect?: "none" | "some";
  /**
   * What stays verbatim through compactions: the newest result that is no error (`latest`), or all that have room,
   * the newest first (`always`). Their room is a quarter of what a compaction aims at; where the round of the newest
   * has none, its ledger line holds it. Default `normal`: none.
   */
  readonly retain?: "latest" | "always" | "normal";
  /** What a summary says of a result, in a line. Default: both ends, sizes, exit codes and counts. */
  readonly digest?: (text: string) => string;
  /** Checks the arguments of a call. */
  parse(input: unknown): ToolInput;
  /**
   * Runs the tool on checked input. A string becomes text, a list of text and file parts stays one, anything else
   * becomes JSON. A tool without it is run by the client: the turn pauses for its answer.
   */
  execute?(input: unknown, context: ToolContext): unknown;
  /** Whether a person has to allow a call before it is run; decided once a call, on checked input. */
  needsApproval?(input: unknown, context: ToolContext): boolean | Promise<boolean>;
}
