/**
 * The ledger of a transcript from elsewhere: lines for the messages that leave it.
 *
 * @module
 */
import type { Piece } from "../formats/format.ts";
import type { Reading } from "../formats/read.ts";
import type { CallStatus } from "../ports.ts";
import { clip, digestOf, firstSentence, LONG, renderArgs } from "./digest.ts";
import type { LedgerLine } from "./ledger.ts";
import { type ParsedLedger, parseLedger } from "./parse_ledger.ts";

/** One removed pair. */
export interface LedgerPair {
  /** Name of the tool. */
  readonly tool: string;
  /** JSON text; long strings are shown with both ends, their length and a hash. */
  readonly arguments: string;
  /** How the call ended; `aborted` where it has no result. */
  readonly outcome: CallStatus;
  /** What the result says, in a line. */
  readonly digest: string;
  /** Id of the call, where it has one. */
  readonly callId: string | null;
  /** Index of the call's message in the input. */
  readonly at: number;
}

/** Whether a message is one of the system: a cut leaves these where they can be seen. */
export function isSystem(message: readonly Piece[] | undefined): boolean {
  return message?.every((piece) => piece.kind === "system") === true;
}

/** The ledger that a message is, null where it is none. */
function ledgerIn(message: readonly Piece[] | undefined): ParsedLedger | null {
  const [piece] = message ?? [];
  return piece?.kind === "summary" ? parseLedger(piece.text) : null;
}

/** The first message that is still raw: those of the system, and what an earlier compaction wrote, lie before it. */
export function rawFrom({ pieces }: Reading): number {
  let from = 0;
  while (from < pieces.length && isSystem(pieces[from])) from++;
  return ledgerIn(pieces[from]) === null ? from : from + 1;
}

/** Ledgers of earlier compactions that a new one takes over: in front, and wherever others put one in front. */
export function earlierLedgers(reading: Reading, removed: ReadonlySet<number>): readonly ParsedLedger[] {
  const from = rawFrom(reading);
  return reading.pieces.flatMap((message, at) => at < from || removed.has(at) ? ledgerIn(message) ?? [] : []);
}

function outcomeOf(result: Piece | undefined): { readonly status: CallStatus; readonly text: string } {
  if (result === undefined) return { status: "aborted", text: "no result" };
  return { status: result.isError === true ? "error" : "ok", text: result.text };
}

/**
 * Writes the lines of removed messages, and the same pairs for the answer.
 *
 * @param reading The transcript that they leave.
 * @param options The removed messages, and how far the entries of an earlier ledger count.
 * @returns Lines in log order, pairs in the order of their calls, and the reference of each by its call.
 */
export function linesOf(
  reading: Reading,
  { removed, base }: { readonly removed: ReadonlySet<number>; readonly base: number },
): {
  readonly lines: readonly LedgerLine[];
  readonly pairs: readonly LedgerPair[];
  readonly refs: ReadonlyMap<number, string>;
} {
  const { transcript, pieces } = reading;
  const flat = pieces.flat();
  const lines: LedgerLine[] = [];
  const pairs: LedgerPair[] = [];
  const refs = new Map<number, string>();
  const calls = new Map<number, number>();
  for (const [index, pair] of transcript.pairs.entries()) {
    const call = transcript.records[pair.call];
    const piece = flat[pair.call];
    if (call === undefined || piece === undefined || call.approval === true || !removed.has(call.message)) {
      continue;
    }
    const place = calls.get(call.message) ?? 0;
    calls.set(call.message, place + 1);
    const seq = base + call.message;
    const ref = `e${seq}.${place}`;
    refs.set(index, ref);
    const { status, text } = outcomeOf(pair.result === null ? undefined : flat[pair.result]);
    const line = {
      tool: piece.name || "(unnamed)",
      args: renderArgs({ input: piece.input ?? {} }, []),
      status,
      digest: digestOf(text),
    };
    lines.push({ kind: "pair", seq, ref, ...line });
    const callId = piece.callId || null;
    pairs.push({
      tool: line.tool,
      arguments: line.args,
      outcome: status,
      digest: line.digest,
      callId,
      at: call.message,
    });
  }
  for (const [message, found] of pieces.entries()) {
    if (!removed.has(message)) continue;
    const seq = base + message;
    const textOf = (kind: Piece["kind"]): string =>
      found.filter((piece) => piece.kind === kind).map((piece) => piece.text || (piece.files ? "[file]" : ""))
        .join("\n").trim();
    const said = textOf("user");
    if (said !== "") lines.push({ kind: "user", seq, text: clip(said, LONG) });
    const answered = textOf("assistant");
    const isAnswer = !found.some((piece) => piece.kind === "tool_use") && answered !== "";
    if (isAnswer) lines.push({ kind: "answer", seq, text: firstSentence(answered) });
  }
  return { lines: lines.sort((a, b) => a.seq - b.seq), pairs, refs };
}
