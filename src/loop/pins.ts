/**
 * Pins that are set between turns: what a user wants the model to see to the letter, whatever is compacted.
 *
 * @module
 */
import { entryTokens } from "../compaction/context.ts";
import { parseRef } from "../compaction/originals.ts";
import { pinnedEntries, wholeAtoms, withPins } from "../compaction/pins.ts";
import { SelvageError } from "../core/errors.ts";
import { plural } from "../files/words.ts";
import type { Entry, SessionHead } from "../ports.ts";
import { atRest, readAtRest, type RestPlace } from "./at_rest.ts";
import type { MeasuredSession } from "./measured.ts";

/** Share of the largest input that pins may take together: the rest is for what a user says next. */
const PINS_SHARE = 0.5;

/** Entries of one session that are pinned, or let go, after they were said. */
const MAX_PINS = 500;

/** One pin. */
export interface Pin {
  /** `e3`, or the call of a result: `e41.0`. */
  readonly ref: string;
  readonly kind: "user" | "result";
  /** All that it keeps: a result stays with its call, and with the others of its round. */
  readonly entries: readonly string[];
}

/** The pins of a session. */
export interface Pins {
  readonly pins: readonly Pin[];
  /** Tokens that they take together, as the provider counts. */
  readonly tokens: number;
  /** The most that they may take. */
  readonly limit: number;
}

/**
 * Lists the pins of a session.
 *
 * @throws SelvageError `session_not_found`.
 */
export async function listPins(place: RestPlace): Promise<Pins> {
  const session = await readAtRest(place);
  return await pinsOf(session, session.head.pins);
}

/**
 * Pins an entry of the user or a result, or lets it go. What an earlier compaction has summarised is shown again, to
 * the letter, behind the summary; what is let go stays until a later compaction records it.
 *
 * @param place The session, and where it is.
 * @param request The ref, and whether it is to be pinned.
 * @returns The pins of the session from now on.
 * @throws SelvageError `entry_not_found`, `bad_pin` for what cannot be pinned, `pinned_too_big` where pins would take
 *   more than they may, or there would be over 500; what {@link atRest} throws.
 */
export async function setPin(
  place: RestPlace,
  { ref: asked, pinned }: { readonly ref: string; readonly pinned: boolean },
): Promise<Pins> {
  return await atRest(place, async (session) => {
    const { context, head, meter } = session;
    const ref = pinnable(context.entries, asked);
    const pins = withPin(head.pins, { ref, pinned, entries: context.entries });
    const answer = await pinsOf(session, pins);
    const { tokens, limit } = answer;
    if (pinned && tokens > limit) {
      // Pins keep whole atoms: who pins one small result may not know what goes along with it.
      const own = wholeAtoms(context.entries, [pinnedSeq(context.entries, ref)]);
      const calls = own.filter((seq) => context.entries[seq]?.kind === "result").length;
      const along = calls > 1 ? ` and the ${plural(calls - 1, "other call")} of its round` : "";
      throw new SelvageError(
        "pinned_too_big",
        `Cannot pin ${ref}: found pins of ${tokens} tokens with it${along}, wanted at most ${limit}`,
        { fields: { tokens, limit, ref, ...(calls > 0 ? { calls } : {}) } },
      );
    }
    const seqs = pinnedEntries(context.entries, pins);
    const view = withPins(context.view, context.entries, seqs);
    if (view === context.view) return { change: { pins }, answer };
    await context.apply(view);
    meter.invalidate();
    return { change: { pins, view: { version: view.version, value: view } }, answer };
  });
}

/** The number of the entry that a pin names. */
function pinnedSeq(entries: readonly Entry[], ref: string): number {
  return entries.find((entry) => entry.kind === "result" && entry.call === ref)?.seq ?? Number(ref.slice(1));
}

async function pinsOf(
  { context, budget, meter }: MeasuredSession,
  pins: MeasuredSession["head"]["pins"],
): Promise<Pins> {
  const { entries } = context;
  const measure = await context.measure();
  const seqs = pinnedEntries(entries, pins);
  const tokens = wholeAtoms(entries, seqs).reduce((sum, seq) => {
    const entry = entries[seq];
    return entry === undefined ? sum : sum + entryTokens(entry, measure);
  }, 0);
  return {
    pins: seqs.flatMap((seq) => {
      const entry = entries[seq];
      if (entry === undefined || entry.kind === "assistant") return [];
      const ref = entry.kind === "result" ? entry.call : `e${seq}`;
      return [{ ref, kind: entry.kind, entries: wholeAtoms(entries, [seq]).map((member) => `e${member}`) }];
    }),
    tokens: Math.ceil(tokens * meter.factor),
    limit: Math.floor(budget.maxInput * PINS_SHARE),
  };
}

/** What the head says of pins: only what the log does not say by itself, as the head is written with every commit. */
function withPin(
  before: SessionHead["pins"],
  { ref, pinned, entries }: {
    readonly ref: string;
    readonly pinned: boolean;
    readonly entries: readonly Entry[];
  },
): NonNullable<SessionHead["pins"]> {
  const { [ref]: _, ...others } = before ?? {};
  const entry = entries[Number(ref.slice(1))];
  const isByItself = entry?.kind === "user" && entry.pinned === true;
  if (pinned === isByItself) return others;
  if (Object.keys(others).length >= MAX_PINS) {
    throw new SelvageError(
      "pinned_too_big",
      `Cannot ${
        pinned ? "pin" : "let go of"
      } ${ref}: found ${MAX_PINS} entries pinned or let go in this session, ` +
        "wanted fewer",
      { fields: { limit: MAX_PINS, ref } },
    );
  }
  return { ...others, [ref]: pinned };
}

/** The ref under which an entry is pinned. */
function pinnable(entries: readonly Entry[], asked: string): string {
  const shown = JSON.stringify(asked.slice(0, 40));
  const ref = parseRef(asked);
  const bad = (found: string): SelvageError =>
    new SelvageError(
      "bad_pin",
      `Cannot pin ${shown}: found ${found}, wanted a message of the user (e3) or a call with its result (e41.0)`,
      { fields: { field: "ref" } },
    );
  if (ref === null || ref.kind === "range") throw bad(ref === null ? "no ref" : "a range");
  const entry = ref.kind === "call"
    ? entries.find((found) => found.kind === "result" && found.call === ref.ref)
    : entries[ref.seq];
  if (entry === undefined) {
    throw new SelvageError(
      "entry_not_found",
      `Cannot pin ${shown}: the log has no such entry, or no result yet`,
    );
  }
  if (entry.kind === "assistant") throw bad("a message of the assistant");
  return entry.kind === "result" ? entry.call : `e${entry.seq}`;
}
