/**
 * How a transcript from elsewhere is to be compacted: what a caller may say, and the policy that it comes to.
 *
 * @module
 */
import { type CutPolicy, summaryReserve } from "../core/cut.ts";
import { SelvageError } from "../core/errors.ts";
import {
  anything,
  listOf,
  number,
  oneOf,
  optionsOf,
  requireOptions,
  text,
  yesOrNo,
} from "../core/options.ts";
import type { Reading } from "../formats/read.ts";
import type { Mended } from "./mended.ts";
import { isLedgerAt, rawFrom } from "./wire_ledger.ts";

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
  /** Tokens kept free for the summary. Default 15 % of the budget, 300 to 4,000, at most a third of it. */
  readonly summaryReserve?: number;
  /** Messages that stay verbatim; ledgers of earlier compactions go into the new one all the same. */
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

const share = number("a share of the budget, 0 or more", { least: 0 });
const rules = optionsOf<CompactTranscriptOptions>({
  // What is wrong with these two has codes of its own.
  budget: anything,
  pinned: listOf("a list of positions", anything),
  policy: oneOf("full", "backward"),
  lookback: share,
  lookahead: share,
  summaryReserve: number("tokens, 0 or more", { least: 0, most: Number.MAX_SAFE_INTEGER }),
  force: yesOrNo,
  summary: text,
  repair: yesOrNo,
  plan: yesOrNo,
}, ["budget"]);

/**
 * Complains about options that cannot be meant.
 *
 * @throws {TypeError} For one that is unknown or of another kind.
 * @throws {SelvageError} `bad_budget`, `bad_pin`, `summary_blank`.
 */
export function refuseOptions({ messages }: Reading, options: CompactTranscriptOptions): void {
  requireOptions("compact the transcript", options, rules);
  const { budget, pinned = [], summary } = options;
  if (!(budget > 0)) {
    throw new SelvageError(
      "bad_budget",
      `Cannot compact: found a budget of ${budget} tokens, wanted more than 0`,
      { fields: { field: "budget" } },
    );
  }
  for (const pin of pinned) {
    if (!Number.isInteger(pin) || pin < 0 || pin >= messages.length) {
      const wanted = messages.length === 0 ? "no pin, as there is no message" : `0 to ${messages.length - 1}`;
      throw new SelvageError("bad_pin", `Cannot pin message ${pin}: wanted ${wanted}`, {
        fields: { field: "pinned", at: pin },
      });
    }
  }
  if (summary !== undefined && summary.trim() === "") {
    throw new SelvageError(
      "summary_blank",
      "Cannot use the summary: found only white space, wanted text or no summary",
      { fields: { field: "summary" } },
    );
  }
}

/** The policy in positions of what is compacted. */
export function policyOf({ input, made, placeOf }: Mended, options: CompactTranscriptOptions): CutPolicy {
  const from = rawFrom(made);
  // Pins keep whole atoms; one for each is enough. What lies before the raw messages stays as it is anyway, and what
  // an earlier ledger records goes into the next one.
  const pins = (options.pinned ?? []).filter((pin) => !isLedgerAt(input, pin));
  const atoms = pins.map((pin) => made.transcript.atomAt(placeOf(pin) ?? -1));
  const pinned = [...new Set(atoms.flatMap((atom) => atom !== null && atom.to > from ? [atom.from] : []))];
  return {
    budget: options.budget,
    reserve: options.summaryReserve ?? summaryReserve(options.budget),
    from,
    ...(options.policy === undefined ? {} : { kind: options.policy }),
    ...(options.lookback === undefined ? {} : { lookback: options.lookback }),
    ...(options.lookahead === undefined ? {} : { lookahead: options.lookahead }),
    ...(pinned.length === 0 ? {} : { pinned }),
  };
}
