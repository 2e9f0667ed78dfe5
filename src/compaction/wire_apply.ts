/**
 * One cut of a transcript from elsewhere applied: the summary written, the messages put together, and every promise
 * held against what came out.
 *
 * @module
 */
import { type CutPlan, type CutPolicy, pinnedMessages } from "../core/cut.ts";
import { SelvageError } from "../core/errors.ts";
import { verify } from "../core/verify.ts";
import { checkMessages } from "../formats/check.ts";
import type { JsonObject } from "../formats/format.ts";
import type { Reading } from "../formats/read.ts";
import { rereadTranscript } from "../formats/reread.ts";
import { fitLedger, renderLedger } from "./ledger.ts";
import type { Mended } from "./mended.ts";
import { earlierLedgers, isSystem, type LedgerPair, linesOf, rawFrom } from "./wire_ledger.ts";
import { applyTrims, type Trimmed } from "./wire_trims.ts";

/** What is to be applied. */
export interface CutToApply {
  readonly plan: CutPlan & { readonly kind: "cut" };
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
  /** The removed pairs. */
  readonly pairs: readonly LedgerPair[];
  readonly trims: readonly Trimmed[];
  /** The removed messages of the input. */
  readonly removed: ReadonlySet<number>;
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
  const { text, pairs, isRecorded } = writeSummary(input, { removed, policy, summary });

  const { messages: shown, trims } = applyTrims(mended, plan.trims);
  const systems = range(0, plan.at).filter((at) => isSystem(pieces[at]) && (at < from || !pinned.has(at)));
  const kept = range(from, plan.at).filter((at) => pinned.has(at));
  const raw = [...kept, ...range(plan.at, made.messages.length)];
  // An empty ledger still stands in front of what must not be the first message.
  const first = raw.find((at) => !isSystem(pieces[at]));
  const isLate = format.rules.firstFromUser && made.messages[first ?? -1]?.["role"] === "assistant";
  const origins = [...systems, ...(text !== "" || isLate ? [null] : []), ...raw];
  const after = rereadTranscript(made, {
    messages: origins.map((at) =>
      (at === null ? format.userText(text || renderLedger([])) : shown[at]) ?? {}
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
    code !== "invalid" && !(code === "not_idempotent" && policy.force === true && mended.hasMoreCuts)
  );
  if (isChecked) broken.push(...checkMessages(after).map(({ code }) => code));
  return {
    messages: after.messages,
    tokens: after.transcript.tokens,
    pairs,
    trims,
    removed,
    broken: broken[0] ?? null,
  };
}

/** The summary of what leaves; an empty text where there is nothing to say. */
function writeSummary(
  input: Reading,
  { removed, policy, summary }: {
    readonly removed: ReadonlySet<number>;
    readonly policy: CutPolicy;
    readonly summary: string | undefined;
  },
): {
  readonly text: string;
  readonly pairs: readonly LedgerPair[];
  readonly isRecorded: (call: number) => boolean;
} {
  const { measure, transcript } = input;
  const { reserve = 0 } = policy;
  const ledgers = earlierLedgers(input, removed);
  const earlier = ledgers.flatMap((ledger) => ledger.lines);
  const base = earlier.reduce(
    (most, line) => Math.max(most, line.kind === "range" ? line.to : line.seq),
    -1,
  ) + 1;
  const { lines, pairs, refs } = linesOf(input, { removed, base });
  const prose = summary ?? ledgers.map((ledger) => ledger.prose).filter((text) => text !== "").join("\n\n");
  const proseTokens = prose === "" ? 0 : measure(prose) + 2;
  if (summary !== undefined && proseTokens > reserve / 2) {
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
  const ledger = fitLedger([...earlier, ...lines], { tokens: room, measure });
  const parts = [
    ...(ledger.length > 0 || keepsProse ? [renderLedger(ledger)] : []),
    ...(keepsProse ? [prose] : []),
  ];
  const recorded = new Set(ledger.map((line) => line.kind === "pair" ? line.ref : ""));
  const ranges = ledger.filter((line) => line.kind === "range");
  const isRecorded = (call: number): boolean => {
    const seq = base + (transcript.records[transcript.pairs[call]?.call ?? -1]?.message ?? NaN);
    return recorded.has(refs.get(call) ?? "none") ||
      ranges.some((line) => line.seq <= seq && seq <= line.to);
  };
  return { text: parts.join("\n\n"), pairs, isRecorded };
}
