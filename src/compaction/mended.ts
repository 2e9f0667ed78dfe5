/**
 * Repair comes first: what a cut keeps is counted as it will be sent. The positions that are told are those of the
 * transcript that came in.
 *
 * @module
 */
import { Transcript } from "../core/transcript.ts";
import type { Reading } from "../formats/read.ts";
import { type Repair, type Repaired, repairTranscript } from "../formats/repair.ts";
import { rereadTranscript } from "../formats/reread.ts";

/** A transcript that is to be compacted, and the way back to what came in. */
export interface Mended {
  /** What came in. */
  readonly input: Reading;
  /** What is compacted: mended, and with no cut that the input does not have. */
  readonly made: Reading;
  /** What was mended, by messages of the input. */
  readonly repairs: readonly Repair[];
  /** Whether the repair has made cuts legal that the input does not have. */
  readonly hasMoreCuts: boolean;
  /** The cut of the input that a cut of `made` is. */
  cutInInput(cut: number): number;
  /** A message of `made` that no cut parts from what is left of a message of the input; null where nothing is. */
  placeOf(at: number): number | null;
  /** The first message of the input that a message of `made` was made of. */
  sourceOf(message: number): number;
  /** The call of the input that a call of `made` is; both count calls. */
  callInInput(call: number): number;
  /** Where a result of `made` stands in the input, and its id there. */
  resultInInput(record: number): { readonly at: number; readonly callId: string | null };
}

/** A boundary in both transcripts: what lies before it in one comes from what lies before it in the other. */
interface Boundary {
  readonly made: number;
  readonly input: number;
}

/** A transcript that is compacted as it came. */
export function asItCame(input: Reading): Mended {
  const { records } = input.transcript;
  return {
    input,
    made: input,
    repairs: [],
    hasMoreCuts: false,
    cutInInput: (cut) => cut,
    placeOf: (at) => at,
    sourceOf: (message) => message,
    callInInput: (call) => call,
    resultInInput: (record) => ({
      at: records[record]?.message ?? 0,
      callId: records[record]?.callId ?? null,
    }),
  };
}

/** A transcript that is repaired before it is compacted. */
export function mendFirst(input: Reading): Mended {
  const { messages, repairs: done, calls, sources } = repairTranscript(input);
  if (done.length === 0) return asItCame(input);
  // Where in the output a repair is to be found only holds until the cut.
  const repairs = done.map(({ to: _, ...repair }) => repair);
  const found = rereadTranscript(input, { messages, calls });
  const boundaries = boundariesOf(input, { made: found, sources });
  const hasMoreCuts = boundaries.length < found.transcript.atomCount;
  const made = hasMoreCuts ? { ...found, transcript: joinBetween(found, boundaries) } : found;
  const { records, pairs } = made.transcript;
  const isLeft = coveredBy(sources, input.messages.length);
  const answers = new Map(pairs.map(({ result }, call) => [result, call]));
  const inInput = new Map(boundaries.map(({ made, input }) => [made, input]));
  const callInInput = (call: number): number => calls[call] ?? -1;
  return {
    input,
    made,
    repairs,
    hasMoreCuts,
    callInInput,
    sourceOf: (message) => sources[message]?.from ?? message,
    cutInInput(cut) {
      const found = inInput.get(cut);
      if (found === undefined) throw new RangeError(`Cannot place the cut at ${cut}: wanted a legal one`);
      return found;
    },
    placeOf(at) {
      if (isLeft[at] !== true) return null;
      let low = 0;
      let high = boundaries.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if ((boundaries[middle]?.input ?? 0) <= at) low = middle;
        else high = middle - 1;
      }
      return boundaries[low]?.made ?? 0;
    },
    resultInInput(record) {
      const pair = input.transcript.pairs[callInInput(answers.get(record) ?? -1)];
      const found = input.transcript.records[pair?.result ?? -1];
      const { message, callId } = found ?? records[record] ?? {};
      const at = found === undefined ? sources[message ?? -1]?.from : message;
      return { at: at ?? 0, callId: callId ?? null };
    },
  };
}

/** Which messages of the input something was made of. */
function coveredBy(sources: Repaired["sources"], messages: number): readonly boolean[] {
  // How many sources begin at a message, less those that end there.
  const changes = new Int32Array(messages + 1);
  for (const { from, to } of sources) {
    changes[from] = (changes[from] ?? 0) + 1;
    changes[to] = (changes[to] ?? 0) - 1;
  }
  let open = 0;
  return Array.from({ length: messages }, (_, at) => (open += changes[at] ?? 0) > 0);
}

/** Where both transcripts come apart at atoms. The first one is the beginning of both. */
function boundariesOf(
  input: Reading,
  { made, sources }: { readonly made: Reading; readonly sources: Repaired["sources"] },
): readonly Boundary[] {
  // The first message of the input that anything from here on was made of.
  const next: number[] = [];
  for (let at = sources.length - 1; at >= 0; at--) {
    next[at] = Math.min(next[at + 1] ?? Infinity, sources[at]?.from ?? Infinity);
  }
  const boundaries: Boundary[] = [{ made: 0, input: 0 }];
  // One past the last message of the input that anything before was made of.
  let passed = sources[0]?.to ?? 0;
  for (let at = 1; at < sources.length; at++) {
    const before = input.transcript.atomAt(next[at] ?? 0)?.from ?? -1;
    const isNew = made.transcript.isLegalCut(at) && !input.transcript.isLegalCut(before);
    if (before >= passed && made.transcript.atomAt(at)?.from === at && !isNew) {
      boundaries.push({ made: at, input: before });
    }
    passed = Math.max(passed, sources[at]?.to ?? 0);
  }
  return boundaries;
}

/** The same transcript with all joined that lies between two boundaries. */
function joinBetween({ transcript, options }: Reading, boundaries: readonly Boundary[]): Transcript {
  const { records, messages } = transcript;
  const starts = new Set(boundaries.map(({ made }) => made));
  const joined = new Transcript();
  let record = 0;
  let start = 0;
  for (let message = 0; message < messages; message++) {
    const first = record;
    while (records[record]?.message === message) record++;
    if (starts.has(message)) {
      joined.joinFrom(start);
      start = message;
    }
    joined.append(records.slice(first, record));
  }
  joined.joinFrom(start);
  if (options.inFlight !== undefined) joined.abandonOpen();
  return joined;
}
