/**
 * Compaction of a transcript from elsewhere: the selector, the ledger and the verification of the loop, on
 * messages in their own format.
 *
 * Over 300 lines: one compaction is planned, written, verified and undone here, and half of it is its public types.
 *
 * @module
 */
import {
  type CutMethod,
  type CutPlan,
  type CutPolicy,
  pinnedMessages,
  selectCut,
  summaryReserve,
} from "../core/cut.ts";
import { SelvageError } from "../core/errors.ts";
import { verify } from "../core/verify.ts";
import { checkMessages } from "../formats/check.ts";
import { draftOf, type JsonObject, type Piece, settleDrafts } from "../formats/format.ts";
import { type Reading, readTranscript } from "../formats/read.ts";
import { type Repair, repairTranscript } from "../formats/repair.ts";
import { rereadTranscript } from "../formats/reread.ts";
import type { CallStatus } from "../ports.ts";
import { clip, digestOf, firstSentence, LONG, renderArgs } from "./digest.ts";
import { fitLedger, type LedgerLine, renderLedger } from "./ledger.ts";
import { parseLedger } from "./parse_ledger.ts";
import { shortenOutput } from "./shorten.ts";

/** How to compact. */
export interface CompactTranscriptOptions {
  /** Tokens of messages to keep, the reserve for the summary included, system messages left out. */
  readonly budget: number;
  /** Default `full`. */
  readonly policy?: "full" | "backward";
  /** Share of the budget by which a cut may keep more. Default 0.15. */
  readonly lookback?: number;
  /** Share of the budget by which a cut may keep less. Default 0.15. */
  readonly lookahead?: number;
  /** Tokens kept free for the summary. Default 15 % of the budget, 300 to 4,000. */
  readonly summaryReserve?: number;
  /** Messages that stay verbatim. */
  readonly pinned?: readonly number[];
  /**
   * Takes the best legal cut there is where none keeps to the budget: for a context that has to shrink now. What
   * comes out may be over the budget; a second run then finds no other cut.
   */
  readonly force?: boolean;
  /** Prose of the caller's own, put behind the ledger. */
  readonly summary?: string;
  /** Mends what is broken in the messages that are kept. Default true. */
  readonly repair?: boolean;
  /** Gives the cut and the ledger, and changes nothing. */
  readonly plan?: boolean;
}

/** Tokens to which a result may be shortened where a cut cannot be had otherwise: a note takes about 40. */
const LEAST_TRIM = 64;

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

/** A result that is shown shortened. */
export interface Trimmed {
  /** Index of the result's message in the input. */
  readonly at: number;
  /** Id of the call, where it has one. */
  readonly callId: string | null;
  /** Tokens of the whole result. */
  readonly tokensBefore: number;
  /** Tokens of what is shown of it. */
  readonly tokensAfter: number;
}

/** What a compaction came to. */
export interface CompactedTranscript {
  /** `deferred`: no legal cut now, one may come. `refused`: no cut can help. */
  readonly outcome: "compacted" | "nothing" | "deferred" | "refused";
  /** The transcript from now on. */
  readonly messages: readonly JsonObject[];
  /** The first message of the input that stays raw, how it was found, tokens beyond the budget; null without a cut. */
  readonly cut:
    | {
      readonly at: number;
      readonly method: CutMethod;
      readonly distance: number;
      readonly lookbackUsed: number;
    }
    | null;
  /** Tokens of messages, system messages left out. */
  readonly tokens: { readonly before: number; readonly after: number; readonly budget: number };
  /** The removed pairs. */
  readonly ledger: readonly LedgerPair[];
  /** Results that are shown shortened. */
  readonly trims: readonly Trimmed[];
  /** What was mended. */
  readonly repairs: readonly Repair[];
  /** Why nothing was removed, where it was due. */
  readonly reason: string | null;
  /** The legal cuts around the target of a compaction that was deferred or refused. */
  readonly nearest: { readonly before: number | null; readonly after: number | null } | null;
  /** With `plan`: the messages that the cut would summarise. */
  readonly toSummarise?: readonly JsonObject[];
}

/** Reads a transcript so that summaries of earlier compactions are known as such. */
export function isLedger(text: string): boolean {
  return parseLedger(text) !== null;
}

function outcomeOf(pieces: readonly Piece[]): { readonly status: CallStatus; readonly text: string } {
  const [result] = pieces;
  if (result === undefined) return { status: "aborted", text: "no result" };
  return { status: result.isError === true ? "error" : "ok", text: result.text };
}

/** The ledger lines of removed messages, and the same pairs for the answer. */
function linesOf(
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
  for (const pair of transcript.pairs) {
    const call = transcript.records[pair.call];
    const piece = flat[pair.call];
    if (call === undefined || piece === undefined || call.approval === true || !removed.has(call.message)) {
      continue;
    }
    const index = calls.get(call.message) ?? 0;
    calls.set(call.message, index + 1);
    const seq = base + call.message;
    const ref = `e${seq}.${index}`;
    refs.set(pair.call, ref);
    const result = pair.result === null ? undefined : flat[pair.result];
    const { status, text } = outcomeOf(result === undefined ? [] : [result]);
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
      found.filter((piece) => piece.kind === kind).map((piece) => piece.text || "[file]").join("\n").trim();
    const said = textOf("user");
    if (said !== "") lines.push({ kind: "user", seq, text: clip(said, LONG) });
    const answered = textOf("assistant");
    const isAnswer = !found.some((piece) => piece.kind === "tool_use") && answered !== "";
    if (isAnswer) lines.push({ kind: "answer", seq, text: firstSentence(answered) });
  }
  return { lines: lines.sort((a, b) => a.seq - b.seq), pairs, refs };
}

/** Shortens planned results in their messages. */
function applyTrims(
  reading: Reading,
  plan: CutPlan & { readonly kind: "cut" },
): { readonly messages: readonly JsonObject[]; readonly trims: readonly Trimmed[] } {
  const messages = [...reading.messages];
  const flat = reading.pieces.flat();
  const trims: Trimmed[] = [];
  const drafts = new Map<number, JsonObject>();
  for (const { record, message, tokens } of plan.trims) {
    const piece = flat[record];
    const before = reading.transcript.records[record]?.tokens ?? 0;
    const original = messages[message];
    if (original !== undefined && !drafts.has(message)) {
      drafts.set(message, draftOf(original));
      messages[message] = drafts.get(message) ?? original;
    }
    const found = messages[message];
    if (piece === undefined || found === undefined) continue;
    // A caller's own counts may differ from ours: its limit is translated to what we count.
    const own = reading.measure(piece.text) + 4;
    const limit = Math.floor(Math.max(0, tokens) * Math.min(1, own / Math.max(1, before)));
    const ref = piece.callId || `message ${message}`;
    const shown = shortenOutput({ type: "text", value: piece.text }, {
      tokens: limit,
      measure: reading.measure,
      ref,
    });
    const text = shown.type === "text" ? shown.value : "";
    messages[message] = reading.format.withText(found, piece.part, text);
    trims.push({
      at: message,
      callId: piece.callId || null,
      tokensBefore: before,
      tokensAfter: reading.measure(text) + 4,
    });
  }
  settleDrafts(drafts.values());
  return { messages, trims };
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}

/**
 * Compacts a transcript.
 *
 * @param reading The transcript as it was read; pass `isSummary: isLedger` when reading, so that an earlier
 *   compaction is gone on with instead of summarised as if somebody had said it. Where it was read with the default
 *   for `thinking` and no cut is found, it is tried again with `steps`, then with `ignore`.
 * @param options Budget and policy, in tokens as `reading.measure` counts them.
 * @returns The outcome. Only `compacted` removes messages; `nothing`, `deferred` and `refused` give back the
 *   transcript, repaired where that is asked for. A second run on what came out answers `nothing`.
 * @throws SelvageError `bad_budget`, `bad_pin`, `summary_blank`, `summary_too_large`.
 *
 * @example
 * ```ts
 * import { compactTranscript, readTranscript } from "@selvage/selvage/core";
 *
 * const messages = Array.from({ length: 40 }, (_, index) => ({
 *   role: index % 2 === 0 ? "user" : "assistant",
 *   content: `Message ${index}: ${"word ".repeat(200)}`,
 * }));
 * const { outcome, cut } = compactTranscript(readTranscript(messages), { budget: 4_000 });
 * console.log(outcome, cut?.method);
 * ```
 */
export function compactTranscript(reading: Reading, options: CompactTranscriptOptions): CompactedTranscript {
  const { transcript, format, measure, messages: input, pieces } = reading;
  const { budget } = options;
  if (!(budget > 0)) {
    throw new SelvageError(
      "bad_budget",
      `Cannot compact: found a budget of ${budget} tokens, wanted more than 0`,
      { fields: { field: "budget" } },
    );
  }
  for (const pin of options.pinned ?? []) {
    if (!Number.isInteger(pin) || pin < 0 || pin >= input.length) {
      const wanted = input.length === 0 ? "no pin, as there is no message" : `0 to ${input.length - 1}`;
      throw new SelvageError("bad_pin", `Cannot pin message ${pin}: wanted ${wanted}`, {
        fields: { field: "pinned", at: pin },
      });
    }
  }
  if (options.summary !== undefined && options.summary.trim() === "") {
    throw new SelvageError(
      "summary_blank",
      "Cannot use the summary: found only white space, wanted text or no summary",
      { fields: { field: "summary" } },
    );
  }
  const isSystem = (at: number): boolean => pieces[at]?.every((piece) => piece.kind === "system") === true;
  let from = 0;
  while (from < input.length && isSystem(from)) from++;
  const earlier = pieces[from]?.[0]?.kind === "summary" ? parseLedger(pieces[from]?.[0]?.text ?? "") : null;
  if (earlier !== null) from++;
  const reserve = options.summaryReserve ?? summaryReserve(budget);
  // Pins keep whole atoms; one for each is enough.
  const pins = [...new Set((options.pinned ?? []).map((pin) => transcript.atomAt(pin)?.from ?? pin))];
  const policy: CutPolicy = {
    budget,
    reserve,
    from,
    ...(options.policy === undefined ? {} : { kind: options.policy }),
    ...(options.lookback === undefined ? {} : { lookback: options.lookback }),
    ...(options.lookahead === undefined ? {} : { lookahead: options.lookahead }),
    ...(pins.length === 0 ? {} : { pinned: pins }),
  };
  const first = selectCut(transcript, policy);
  // A whole loop with signed reasoning is too wide. Next best is a tail that begins with such reasoning; and any
  // legal cut is better than a context that grows until nothing fits.
  const isSigned = pieces.some((message) => message.some((piece) => piece.isSigned === true));
  if (first.kind === "defer" && isSigned && (reading.options.thinking ?? "auto") === "auto") {
    const again = (thinking: "steps" | "ignore", force: boolean): CompactedTranscript =>
      compactTranscript(readTranscript(input, { ...reading.options, thinking }), { ...options, force });
    const inFront = again("steps", false);
    return inFront.cut === null ? again("ignore", options.force === true) : inFront;
  }
  // Nobody comes back here after the next step: rather than keep far too little, or give up, results are shortened
  // to the least that still says what was left out.
  const isPoor = first.kind === "defer" || (first.kind === "cut" && first.method === "forward");
  const second = isPoor && options.policy !== "backward"
    ? selectCut(transcript, { ...policy, trimFloor: LEAST_TRIM })
    : first;
  const isForced = second.kind === "defer" && options.force === true;
  const plan = isForced ? selectCut(transcript, { ...policy, trimFloor: LEAST_TRIM, force: true }) : second;
  const before = transcript.tokens;

  /** The transcript as it is, repaired where that is asked for. */
  const unchanged = (
    outcome: CompactedTranscript["outcome"],
    rest: Partial<Pick<CompactedTranscript, "reason" | "nearest">> = {},
  ): CompactedTranscript => {
    const isAsItWas = options.repair === false || options.plan === true;
    const repaired = isAsItWas ? { messages: input, repairs: [] } : repairTranscript(reading);
    return {
      outcome,
      messages: repaired.messages,
      cut: null,
      tokens: { before, after: before, budget },
      ledger: [],
      trims: [],
      repairs: repaired.repairs,
      reason: null,
      nearest: null,
      ...rest,
    };
  };
  if (plan.kind === "nothing") return unchanged("nothing");
  if (plan.kind === "defer") {
    const { reason, nearest } = plan;
    // An open call will be answered, and then a cut may be there; a pin or one wide atom stays what it is.
    return unchanged(
      reason === "open_call" ? "deferred" : isHopeless(reading, policy, plan) ? "refused" : "deferred",
      { reason, nearest },
    );
  }

  const pinned = new Set(pinnedMessages(transcript, pins));
  const removed = new Set(range(from, plan.at).filter((at) => !pinned.has(at) && !isSystem(at)));
  const base = (earlier?.lines ?? []).reduce(
    (most, line) => Math.max(most, line.kind === "range" ? line.to : line.seq),
    -1,
  ) + 1;
  const { lines, pairs, refs } = linesOf(reading, { removed, base });
  const prose = options.summary?.trim() ?? earlier?.prose ?? "";
  const proseTokens = prose === "" ? 0 : measure(prose) + 2;
  if (options.summary !== undefined && proseTokens > reserve / 2) {
    throw new SelvageError(
      "summary_too_large",
      `Cannot use the summary: found ${proseTokens} tokens, wanted at most ${
        Math.floor(reserve / 2)
      }, half of the reserve`,
      { fields: { field: "summary", tokens: proseTokens, limit: Math.floor(reserve / 2) } },
    );
  }
  const keepsProse = proseTokens > 0 && proseTokens <= reserve / 2;
  // One message costs a little beside its text, in our count and in the reader's.
  const room = reserve - (keepsProse ? proseTokens : 0) - 8;
  const ledger = fitLedger([...(earlier?.lines ?? []), ...lines], { tokens: room, measure });
  const text = keepsProse ? `${renderLedger(ledger)}\n\n${prose}` : renderLedger(ledger);

  const { messages: shown, trims } = applyTrims(reading, plan);
  const systems = range(0, plan.at).filter(isSystem);
  const kept = range(from, plan.at).filter((at) => pinned.has(at) && !isSystem(at));
  const summary = ledger.length > 0 ? [null] : [];
  const origins = [...systems, ...summary, ...kept, ...range(plan.at, input.length)];
  const joined = origins.map((at) => (at === null ? format.userText(text) : shown[at]) ?? {});
  const isRepaired = options.repair !== false;
  const reread = rereadTranscript(reading, { messages: joined, origins });
  const { calls, messages: made, repairs } = isRepaired
    ? repairTranscript(reread)
    : { calls: undefined, messages: joined, repairs: [] };
  const after = rereadTranscript(reread, { messages: made, ...(calls === undefined ? {} : { calls }) });

  const head = origins.length - (input.length - plan.at);
  const placed = { from: head, pinned: range(head - kept.length, head) };
  const recorded = new Set(ledger.map((line) => line.kind === "pair" ? line.ref : ""));
  const ranges = ledger.filter((line) => line.kind === "range");
  const broken = verify({
    before: transcript,
    after: reread.transcript,
    at: plan.at,
    ...placed,
    policy: { ...policy, force: isForced },
    minProgress: 0,
    records: (call) => {
      const seq = base + (transcript.records[call]?.message ?? NaN);
      return recorded.has(refs.get(call) ?? "none") ||
        ranges.some((line) => line.seq <= seq && seq <= line.to);
    },
  }).filter((rejection) => rejection.code !== "invalid").map((rejection) => rejection.code as string);
  if (isRepaired) {
    broken.push(...checkMessages(after).map((violation) => violation.code));
    // C5, on what the caller gets: results that a repair added count as well.
    const next = selectCut(after.transcript, { ...policy, ...placed }).kind;
    if (next !== "nothing" && !(isForced && next === "defer")) broken.push("not_idempotent");
  }
  if (broken.length > 0) return unchanged("refused", { reason: `rejected:${broken[0]}` });

  const cut = {
    at: plan.at,
    method: plan.method,
    distance: plan.distance,
    lookbackUsed: plan.method === "near" ? Math.max(0, plan.distance) : 0,
  };
  const result = {
    outcome: "compacted" as const,
    cut,
    tokens: { before, after: after.transcript.tokens, budget },
    ledger: pairs,
    trims,
    repairs: repairs.map((repair) => ({ ...repair, at: origins[repair.at] ?? plan.at })),
    reason: null,
    nearest: null,
  };
  if (options.plan === true) {
    return {
      ...result,
      messages: input,
      repairs: [],
      toSummarise: range(from, plan.at).filter((at) => removed.has(at)).map((at) => input[at] ?? {}),
    };
  }
  return { ...result, messages: made };
}

/** Whether what always stays is over the budget already, so that no later cut can help. */
function isHopeless(
  reading: Reading,
  policy: CutPolicy,
  plan: CutPlan & { readonly kind: "defer" },
): boolean {
  if (plan.reason === "pinned_too_big") return true;
  const { transcript } = reading;
  const last = transcript.atomStart(transcript.atomCount - 1);
  return (policy.reserve ?? 0) + transcript.tokensBetween(last, transcript.messages) >
    policy.budget * (1 + (policy.lookback ?? 0.15));
}
