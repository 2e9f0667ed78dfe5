/**
 * The turns of a minute as a bucket: it fills up steadily, each turn takes one, and what did not start gives it back.
 *
 * @module
 */

const MINUTE_MS = 60_000;

/** Milliseconds for which a turn that several requests may ask for is known in the bucket. */
const SHARED_MS = 15_000;

/** Such turns that are known at a time. */
const MOST_SHARED = 100;

/** A turn of a request that may be sent again: it is taken once, for all who start it. */
interface SharedTurn {
  /** Requests that count on it, those whose process died among them. */
  readonly requests: number;
  /** When the last of them came, in milliseconds since the epoch. */
  readonly at: number;
}

/** What is left of the turns of a minute. */
export interface Bucket {
  readonly left: number;
  /** When that was, in milliseconds since the epoch. */
  readonly at: number;
  /** Turns, by id, that several requests may ask for and that were taken lately. */
  readonly shared?: Readonly<Record<string, SharedTurn>>;
}

/** What a bucket of a caller with so many turns a minute holds now. */
export function filled(
  before: Bucket | undefined,
  { limit, now }: { readonly limit: number; readonly now: number },
): Required<Bucket> {
  // A clock that went back takes nothing away.
  const at = Math.max(now, before?.at ?? now);
  const passed = at - (before?.at ?? at);
  const left = Math.min(limit, (before?.left ?? limit) + passed * limit / MINUTE_MS);
  const lately = Object.entries(before?.shared ?? {}).filter(([, turn]) => turn.at + SHARED_MS > at);
  return { left, at, shared: Object.fromEntries(lately.slice(-MOST_SHARED)) };
}

/**
 * Takes a turn out of a bucket.
 *
 * @param bucket As it is now.
 * @param turn Its id, where several requests may ask for it; else null.
 * @returns The bucket then, and whether the turn was charged or had been before; null where none is left.
 */
export function take(
  { left, at, shared }: Required<Bucket>,
  turn: string | null,
): { readonly bucket: Required<Bucket>; readonly isCharged: boolean } | null {
  const requests = turn === null ? 0 : shared[turn]?.requests ?? 0;
  const isCharged = requests === 0;
  if (isCharged && left < 1 - 1e-9) return null;
  const known = turn === null ? shared : { ...shared, [turn]: { requests: requests + 1, at } };
  return { bucket: { left: isCharged ? left - 1 : left, at, shared: known }, isCharged };
}

/**
 * Gives a turn back that did not start for the request that took it; the last one who counted on it is it that does.
 *
 * @param bucket As it is now.
 * @param taken The turn as in {@link take}, whether that charged it, and the turns a minute.
 */
export function giveBack(
  { left, at, shared }: Required<Bucket>,
  { turn, isCharged, limit }: {
    readonly turn: string | null;
    readonly isCharged: boolean;
    readonly limit: number;
  },
): Required<Bucket> {
  const more = { left: Math.min(limit, left + 1), at };
  if (turn === null) return { ...more, shared };
  const { [turn]: own, ...others } = shared;
  // Known no more: who has paid gets it back.
  if (own === undefined) return isCharged ? { ...more, shared } : { left, at, shared };
  if (own.requests === 1) return { ...more, shared: others };
  return { left, at, shared: { ...shared, [turn]: { ...own, requests: own.requests - 1 } } };
}

/** Headers that say how many of the turns a minute are left. */
export function limitHeaders(limit: number, left: number): Readonly<Record<string, string>> {
  return {
    "ratelimit-policy": `"turns";q=${limit};w=60`,
    ratelimit: `"turns";r=${Math.floor(left + 1e-9)};t=${Math.ceil((limit - left) * 60 / limit)}`,
  };
}
