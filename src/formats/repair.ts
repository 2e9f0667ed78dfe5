/**
 * Repair: explicit, and every change reported. What is not broken comes back as the object that came in; calls
 * in flight are never touched.
 *
 * @module
 */
import type { ViolationCode } from "../core/record.ts";
import { assemble, placesIn } from "./assemble.ts";
import type { JsonObject } from "./format.ts";
import { mendIds } from "./mend_ids.ts";
import { mendPairs } from "./mend_pairs.ts";
import { mendArguments, mendBlanks, mendReasoning, mendTexts } from "./mend_parts.ts";
import { mendStrays } from "./mend_strays.ts";
import { Mending } from "./mending.ts";
import type { Reading } from "./read.ts";

/** What a repair mended: the code of the violation that it was. */
export type RepairCode = ViolationCode;

/** One change. */
export interface Repair {
  /** What was mended. */
  readonly code: RepairCode;
  /** Index of the message in the input. */
  readonly at: number;
  /** Id of the call, where it has one. */
  readonly callId: string | null;
  /** A sentence that says what was done. */
  readonly message: string;
  /** Index of the message in the output that holds what came of it; null where nothing is left. */
  readonly to?: number | null;
}

/** A repaired transcript. */
export interface Repaired {
  /** The mended transcript; what was whole is the object that came in. */
  readonly messages: readonly JsonObject[];
  /** Each change. */
  readonly repairs: readonly Repair[];
  /** Which calls are left, in order: their indexes among the calls of the input. */
  readonly calls: readonly number[];
  /** Where each message comes from: the first message of the input that it was made of, and one past the last. */
  readonly sources: readonly { readonly from: number; readonly to: number }[];
}

/**
 * Repairs a transcript.
 *
 * @param reading The transcript as it was read.
 * @returns The messages, and each change with the message of the input that it mended: an abandoned call gets
 *   one error result, a misplaced result moves behind its call, a second or orphan result becomes a marked user
 *   text, ids that are empty or clash are rewritten on both sides.
 *
 * @example
 * ```ts
 * import { readTranscript, repairTranscript } from "@selvage/selvage/core";
 *
 * const { messages, repairs } = repairTranscript(readTranscript([
 *   { role: "user", content: "Run it." },
 *   { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: { name: "run", arguments: "{}" } }] },
 *   { role: "user", content: "Stop." },
 * ]));
 * console.log(repairs[0]?.code, messages.length); // missing_result 4
 * ```
 */
export function repairTranscript(reading: Reading): Repaired {
  const mending = new Mending(reading);
  mendIds(mending);
  mendArguments(mending);
  mendBlanks(mending);
  mendPairs(mending);
  mendStrays(mending);
  mendReasoning(mending);
  mendTexts(mending);
  const made = assemble(mending);
  const places = placesIn(made);
  return {
    messages: made.map(({ message }) => message),
    repairs: mending.repairs.sort((a, b) => a.at - b.at).map((repair) => ({
      ...repair,
      to: places.get(repair.at) ?? null,
    })),
    calls: [...reading.transcript.pairs.keys()].filter((index) => mending.hasCall(index)),
    sources: made.map(({ from, to }) => ({ from, to })),
  };
}
