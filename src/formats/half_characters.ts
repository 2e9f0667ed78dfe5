/**
 * Texts that were cut in the middle of a character: no service reads them.
 *
 * @module
 */
import type { Violation } from "../core/record.ts";
import { isWellFormed } from "../core/well_formed.ts";
import type { Mending } from "./mending.ts";
import type { Reading } from "./read.ts";

/** Names each message that holds one. */
export function halfCharacters({ messages }: Pick<Reading, "messages">): readonly Violation[] {
  return messages.flatMap((message, at): readonly Violation[] => {
    if (isWellFormed(message)) return [];
    const text = `Message ${at} has a text that was cut in the middle of a character`;
    return [{ code: "half_character", condition: "dialect", at, callId: null, message: text }];
  });
}

/** Says of each that it is mended; {@link repairTranscript} does it last, since other mends take texts along. */
export function reportHalves({ reading, repairs }: Pick<Mending, "reading" | "repairs">): void {
  for (const { code, at, callId } of halfCharacters(reading)) {
    const message = "Put U+FFFD in place of half a character, where a text was cut in the middle of it";
    repairs.push({ code, at, callId, message });
  }
}
