/** Replies of which the providers' own packages and our adapters are to make the same. */
import type { ScriptedReply } from "../../src/models/scripted.ts";

/** Replies by name. */
export const REPLIES: readonly (readonly [string, ScriptedReply])[] = [
  ["a text", { text: "It is fine — 好的." }],
  ["reasoning and a call", {
    reasoning: "think — about it",
    text: "So.",
    calls: [{ name: "get", input: { q: 1 } }],
  }],
  ["16 calls", {
    calls: Array.from({ length: 16 }, (_, index) => ({
      name: `tool_${index}`,
      input: index === 0 ? {} : { text: "é😀\n".repeat(index), deep: { list: [index, null, 1.5] } },
    })),
  }],
];
