/**
 * One cut of a transcript from elsewhere applied: the summary written, the messages put together, and every promise
 * held against what came out.
 *
 * @module
 */
import { type CutPlan, type CutPolicy, pinnedMessages } from "../core/cut.ts";
import { SelvageError } from "../core/errors.ts";
import type { Violation } from "../core/record.ts";
import { verify } from "../core/verify.ts";
import { checkMessages } from "../formats/check.ts";
import type { JsonObject } from "../formats/format.ts";
import { isSystem } from "../formats/pieces.ts";
import type { Reading } from "../formats/read.ts";
import { rereadTranscript } from "../formats/reread.ts";
import { fitLedger, maxProse } from "./fit_ledger.ts";
import { pairsIn, renderLedger, type Run } from "./ledger.ts";
import type { Mended } from "./mended.ts";
import { type LedgerPair, linesOf, rawFrom } from "./wire_ledger.ts";
import { type Numbered, numberMessages, runsOf } from "./wire_numbers.ts";
import { applyTrims, type Trimmed } from "./wire_trims.ts";

/** A plan that is a cut. */
export type CutToMake = CutPlan & { readonly kind: "cut" };

/** What is to be applied. */
export interface CutToApply {
  readonly plan: CutToMake;
  /** The policy that a next run will have; `force` where the cut was forced. */
  readonly policy: CutPolicy;
  /** Prose of the caller's own. */
  readonly summary?: string;
  /** Whether what comes out has to be valid in its format. */
  readonly isChecked: boolean;
}

/** What came of it. */
export interface AppliedCut {
  readonly messages: readonly JsonObject[];
  /** Their tokens. */
  readonly tokens: number;
  /** Those of the summary among them. */
  readonly summaryTokens: number;
  /** The removed pairs. */
  readonly pairs: readonly LedgerPair[];
  readonly trims: readonly Trimmed[];
  /** The removed messages of the input. */
  readonly removed: ReadonlySet<number>;
  /** The kept messages of the input with reasoning that a provider has signed, now behind another beginning. */
  readonly signed: readonly number[];
  /** What is wrong with what came out. */
  readonly violations: readonly Violation[];
  /** Code of the first promise that does not hold; null where it may be used. */
  readonly broken: string | null;
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}

/**
 * Applies a cut.
 *
 * @param mended The transcript that is compacted.
 * @param cut The cut in it.
 * @throws SelvageError `summary_too_large`.
 */
export function applyCut(
  mended: Mended,
  { plan, policy, summary, isChecked }: CutToApply,
): AppliedCut {
  const { input, made } = mended;
  const { transcript, pieces, format } = made;
  const { from = 0 } = policy;
  const pinned = new Set(pinnedMessages(transcript, policy.pinned ?? []));
  const cut = mended.cutInInput(plan.at);
  const removed = new Set(
    range(rawFrom(input), cut).filter((at) =>
      !pinned.has(mended.placeOf(at) ?? -1) && !isSystem(input.pieces[at])
    ),
  );
  const numbered = numberMessages(input);
  const { messages: shown, trims } = applyTrims(mended, { plan: plan.trims, numbers: numbered.numbers });
  const systems = range(0, plan.at).filter((at) => isSystem(pieces[at]) && (at < from || !pinned.has(at)));
  const kept = range(from, plan.at).filter((at) => pinned.has(at));
  const raw = [...kept, ...range(plan.at, made.messages.length)];
  const below = runsOf(raw.map((at) => numbered.numbers[mended.sourceOf(at)] ?? 0));
  const { text, pairs, isRecorded, isCounted } = writeSummary(input, {
    removed,
    policy,
    summary,
    numbered,
    below,
  });
  // An empty ledger still stands in front of what must not be the first message.
  const first = raw.find((at) => !isSystem(pieces[at]));
  const isLate = format.rules.firstFromUser && made.messages[first ?? -1]?.["role"] === "assistant";
  const origins = [...systems, ...(text !== "" || isLate ? [null] : []), ...raw];
  const after = rereadTranscript(made, {
    messages: origins.map((at) =>
      (at === null ? format.userText(text || renderLedger([], { below })) : shown[at]) ?? {}
    ),
    origins,
  });

  const head = origins.length - (made.messages.length - plan.at);
  const places = new Map(origins.map((at, place) => [at, place]));
  const calls = new Map(transcript.pairs.map((pair, call) => [pair.call, call]));
  const broken = verify({
    before: transcript,
    after: after.transcript,
    at: plan.at,
    from: head,
    pinned: [...pinned].flatMap((at) => places.get(at) ?? []),
    policy,
    minProgress: 0,
    records: (record) => isRecorded(mended.callInInput(calls.get(record) ?? -1)),
  }).map(({ code }) => code as string).filter((code) =>
    // Cuts that only a repair made legal are there for the next run: for this one they are none.
    // How much smaller it has to be is for the caller to say.
    code !== "invalid" && code !== "not_smaller" &&
    !(code === "not_idempotent" &&
      (after.transcript.tokens <= policy.budget || (policy.force === true && mended.hasMoreCuts)))
  );
  // A range only says between which messages it counts: that nothing fell out of the count is seen here (C4).
  if (!isCounted) broken.push("pair_unrecorded");
  const violations = checkMessages(after);
  if (isChecked) broken.push(...violations.map(({ code }) => code));
  const front = systems.length;
  return {
    messages: after.messages,
    tokens: after.transcript.tokens,
    summaryTokens: origins[front] === null ? after.transcript.tokensBetween(front, front + 1) : 0,
    signed: [
      ...new Set(
        raw.filter((at) => pieces[at]?.some(({ isSigned }) => isSigned === true)).map(mended.sourceOf),
      ),
    ],
    violations,
    pairs,
    trims,
    removed,
    broken: broken[0] ?? null,
  };
}

/** The summary of what leaves; an empty text where there is nothing to say. */
function writeSummary(
  input: Reading,
  { removed, policy, summary, numbered, below }: {
    readonly removed: ReadonlySet<number>;
    readonly policy: CutPolicy;
    readonly summary: string | undefined;
    readonly numbered: Numbered;
    readonly below: readonly Run[];
  },
): {
  readonly text: string;
  readonly pairs: readonly LedgerPair[];
  readonly isRecorded: (call: number) => boolean;
  readonly isCounted: boolean;
} {
  const { measure, transcript } = input;
  const { reserve = 0 } = policy;
  const { numbers } = numbered;
  // Taken over wherever they stand: in front, and wherever others put something in front of one.
  const from = rawFrom(input);
  const ledgers = numbered.ledgers.filter(({ message }) => message < from || removed.has(message));
  const earlier = ledgers.flatMap((ledger) => ledger.lines);
  const { lines, pairs, refs } = linesOf(input, { removed, numbers });
  const prose = summary ?? ledgers.map((ledger) => ledger.prose).filter((text) => text !== "").join("\n\n");
  const proseTokens = prose === "" ? 0 : measure(prose) + 2;
  const limit = maxProse(reserve);
  if (summary !== undefined && proseTokens > limit) {
    throw new SelvageError(
      "summary_too_large",
      `Cannot use the summary: found ${proseTokens} tokens, wanted at most ${limit}, half of the reserve`,
      { fields: { field: "summary", tokens: proseTokens, limit } },
    );
  }
  const keepsProse = proseTokens > 0 && proseTokens <= limit;
  // One message costs a little beside its text, in our count and in the reader's.
  const room = reserve - (keepsProse ? proseTokens : 0) - 8;
  const ledger = fitLedger([...earlier, ...lines], { tokens: room, measure, below });
  const parts = [
    ...(ledger.length > 0 || keepsProse ? [renderLedger(ledger, { below })] : []),
    ...(keepsProse ? [prose] : []),
  ];
  const recorded = new Set(ledger.map((line) => line.kind === "pair" ? line.ref : ""));
  const ranges = ledger.filter((line) => line.kind === "range");
  const isRecorded = (call: number): boolean => {
    const seq = numbers[transcript.records[transcript.pairs[call]?.call ?? -1]?.message ?? -1] ?? NaN;
    return recorded.has(refs.get(call) ?? "none") ||
      ranges.some((line) => line.seq <= seq && seq <= line.to);
  };
  const isCounted = pairsIn(ledger) === pairsIn(earlier) + pairs.length;
  return { text: parts.join("\n\n"), pairs, isRecorded, isCounted };
}
