/**
 * What a caller's word about calls means for their results.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Transcript } from "../core/transcript.ts";
import { type CallName, type Calls, unknownCall } from "./calls.ts";

/** What is to be known of calls and results beside what stands in their messages, by records. */
export interface Promises {
  /** Calls that will be answered. */
  readonly promised: ReadonlySet<number>;
  /** Results that are interim ones, as their call goes on. */
  readonly interim: ReadonlySet<number>;
  /** Interim results that nobody will follow up, and their calls: the last one is the answer. */
  readonly settled: ReadonlySet<number>;
}

/** What nobody says anything about. */
export const NO_PROMISES: Promises = { promised: new Set(), interim: new Set(), settled: new Set() };

/** The call of a name: of those of an id the last one without an answer, else the last one. */
function findCall(
  name: CallName,
  { calls, lasting, transcript }: {
    readonly calls: Calls;
    readonly lasting: ReadonlySet<number>;
    readonly transcript: Transcript;
  },
): number {
  const { records, pairs } = transcript;
  const named = calls.named(name, "inFlight");
  const found = named.findLast((call) => pairs[call]?.state !== "answered") ?? named.at(-1);
  if (found === undefined) throw unknownCall(name, "inFlight");
  const { call = 0, result = null, state } = pairs[found] ?? {};
  const record = calls.records[found] ?? call;
  if (state !== "answered" || lasting.has(record)) return record;
  const shown = typeof name === "string" ? JSON.stringify(name.slice(0, 100)) : `${name.call}`;
  throw new SelvageError(
    "call_answered",
    `Cannot take the call ${shown} of message ${
      records[call]?.message
    } as in flight: found its result in message ${
      records[result ?? -1]?.message
    }, wanted a call without one, or one that is named as long-running too`,
    { fields: { field: "inFlight", at: records[call]?.message } },
  );
}

/**
 * Finds the calls that a caller names.
 *
 * @param transcript The transcript as it is where nobody says anything.
 * @param options The calls, those that are in flight, undefined where nobody says, and records of those that run long.
 * @throws SelvageError `unknown_call`, `call_answered`.
 */
export function promisesOf(
  transcript: Transcript,
  { calls, inFlight, lasting }: {
    readonly calls: Calls;
    readonly inFlight: readonly CallName[] | undefined;
    readonly lasting: ReadonlySet<number>;
  },
): Promises {
  const promised = new Set((inFlight ?? []).map((name) => findCall(name, { calls, lasting, transcript })));
  const interim = new Set<number>();
  const settled = new Set<number>();
  if (inFlight === undefined) return NO_PROMISES;
  for (const [index, record] of transcript.records.entries()) {
    const pair = record.kind === "tool_result" ? transcript.pairOfResult(index) : null;
    if (pair === null) continue;
    const { call } = pair;
    // One that runs long and is in flight has not said its last word, whatever it has said.
    if (lasting.has(call)) {
      if (promised.has(call)) interim.add(index);
    } else if (record.interim === true && !promised.has(call)) {
      // Beside its call it is no answer: such a call is given up where it is passed over.
      if (transcript.records[call]?.message !== record.message) settled.add(index).add(call);
    }
  }
  return { promised, interim, settled };
}
