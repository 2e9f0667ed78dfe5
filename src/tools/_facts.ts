/** The facts behind the units of the demo workspace: a pure function of the unit's number. */

/** Units in the workspace. */
export const UNITS = 36;

/** What there is to know of a unit; the model has to find it out from the files. */
export interface UnitFacts {
  /** Two digits, `00` to `35`. */
  readonly unit: string;
  readonly service: string;
  /** Path of the source file that holds the constant. */
  readonly source: string;
  readonly constant: string;
  /** What the constant limits. */
  readonly meaning: string;
  /** The value in the source as generated. */
  readonly found: number;
  /** The value that the README asks for. */
  readonly wanted: number;
  /** What a passed check answers with. */
  readonly code: string;
}

const SERVICES = [
  ...[
    "intake",
    "bobbin",
    "shuttle",
    "heddle",
    "reed",
    "warp",
    "weft",
    "treadle",
    "creel",
    "beam",
    "lease",
    "temple",
  ],
  ...[
    "pirn",
    "carder",
    "comber",
    "spindle",
    "skein",
    "hank",
    "fuller",
    "tenter",
    "napper",
    "shearer",
    "dyer",
    "mordant",
  ],
  ...[
    "rinser",
    "dryer",
    "calender",
    "grader",
    "folder",
    "packer",
    "labeler",
    "weigher",
    "porter",
    "ledger",
    "loader",
  ],
  ...["dispatch"],
] as const;

const KINDS = [
  { file: "limits", constant: "MAX_WAITING", meaning: "Jobs that may wait at once", scale: 8 },
  {
    file: "retry",
    constant: "RETRY_DELAY_MS",
    meaning: "Milliseconds before a failed job is tried again",
    scale: 250,
  },
  { file: "cache", constant: "CACHE_TTL_S", meaning: "Seconds that an answer stays fresh", scale: 30 },
  { file: "batch", constant: "BATCH_SIZE", meaning: "Jobs that are handed on together", scale: 5 },
  {
    file: "timeout",
    constant: "JOB_TIMEOUT_MS",
    meaning: "Milliseconds before a job is given up",
    scale: 500,
  },
  { file: "page", constant: "PAGE_SIZE", meaning: "Rows of one page of the job list", scale: 10 },
  { file: "quota", constant: "DAILY_QUOTA", meaning: "Jobs that one customer may hand in a day", scale: 100 },
  {
    file: "sample",
    constant: "SAMPLE_COUNT",
    meaning: "Samples that the running mean looks back on",
    scale: 4,
  },
  { file: "buffer", constant: "BUFFER_BYTES", meaning: "Bytes that are held before a flush", scale: 1024 },
] as const;

/** The 32-bit FNV-1a hash of a text. */
export function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

/** A stream of numbers below `n` that depends on the seed alone. */
export function dice(seed: string): (n: number) => number {
  let state = hash(seed);
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

/** The item at an index, counted round and round. */
export function pick<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}

/** The facts of a unit, from its number (0 to 35). */
export function unitFacts(number: number): UnitFacts {
  const unit = String(number).padStart(2, "0");
  const kind = pick(KINDS, number * 5);
  const roll = dice(`units/${unit}`);
  const wanted = (2 + roll(30)) * kind.scale;
  // Never the wanted value: a unit that needs no fix could be sealed without one.
  const found = wanted + (1 + roll(9)) * kind.scale * (roll(2) === 0 && wanted > 10 * kind.scale ? -1 : 1);
  return {
    unit,
    service: pick(SERVICES, number),
    source: `units/${unit}/${kind.file}.ts`,
    constant: kind.constant,
    meaning: kind.meaning,
    found,
    wanted,
    code: hash(`seal of ${unit}`).toString(16).toUpperCase().padStart(8, "0").slice(0, 6),
  };
}
