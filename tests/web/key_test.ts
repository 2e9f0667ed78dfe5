/** Keys as somebody pastes them. */
import { equal } from "node:assert/strict";
import { keyOf } from "../../src/web/chat/key.ts";

Deno.test("keyOf() takes away what is around a key, and refuses what no header can carry", () => {
  for (
    const [text, key] of [
      ["sk-1_a.b+/=~!", "sk-1_a.b+/=~!"],
      [" \tsk-1\n", "sk-1"],
      ["\u200bsk-1\ufeff", "sk-1"],
      ["\u200b \u2060sk-1\u00a0\u200d", "sk-1"],
      ["\u200b", ""],
      ["", ""],
      ["“sk-1”", null],
      ["sk\u200b-1", null],
      ["ѕk-1", null],
      ["clé", null],
      ["a\nb", null],
      ["a\u0000b", null],
    ] as const
  ) equal(keyOf(text), key, JSON.stringify(text));
});
