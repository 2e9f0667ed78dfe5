/**
 * Trims of a transcript from elsewhere: kept results that are shown shortened.
 *
 * @module
 */
import type { TrimPlan } from "../core/cut.ts";
import { EditedMessages } from "../formats/edits.ts";
import type { JsonObject } from "../formats/format.ts";
import { OVERHEAD } from "../formats/price.ts";
import type { Mended } from "./mended.ts";
import { shortenOutput } from "./shorten.ts";
import type { Numbered } from "./wire_numbers.ts";

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

/**
 * Shortens planned results in their messages.
 *
 * @param mended The transcript that is compacted.
 * @param options What was planned, by records and messages of `mended.made`; the numbers of the input's messages.
 * @returns All its messages, and what was shortened by messages of the input.
 */
export function applyTrims(
  { made, resultInInput }: Mended,
  { plan, numbers }: { readonly plan: readonly TrimPlan[]; readonly numbers: Numbered["numbers"] },
): { readonly messages: readonly JsonObject[]; readonly trims: readonly Trimmed[] } {
  const edited = new EditedMessages(made.messages);
  const flat = made.pieces.flat();
  const trims: Trimmed[] = [];
  for (const { record, message, tokens } of plan) {
    const piece = flat[record];
    const before = made.transcript.records[record]?.tokens ?? 0;
    if (piece === undefined) continue;
    const { at, callId } = resultInInput(record);
    // A caller's own counts may differ from ours: its limit is translated to what we count.
    const own = made.measure(piece.text) + OVERHEAD;
    const limit = Math.floor(Math.max(0, tokens) * Math.min(1, own / Math.max(1, before)));
    const shown = shortenOutput({ type: "text", value: piece.text }, {
      tokens: limit,
      measure: made.measure,
      ref: `message ${numbers[at] ?? at} of what was compacted`,
    });
    const text = shown.type === "text" ? shown.value : "";
    edited.edit(message, (found) => made.format.withText(found, piece.part, text));
    trims.push({ at, callId, tokensBefore: before, tokensAfter: made.measure(text) + OVERHEAD });
  }
  return { messages: edited.settle(), trims };
}
