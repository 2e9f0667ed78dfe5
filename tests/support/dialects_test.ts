/** The judges see every way in which a pair is severed, and let whole transcripts pass. */
import { deepEqual, ok } from "node:assert/strict";
import { settleChat } from "./dialect_settled.ts";
import { chatToAnthropic } from "./dialect_shapes.ts";
import { anthropicFaults, faultsInBoth, openaiFaults } from "./dialects.ts";
import type { Json } from "./wire_json.ts";

const call = (id: string): Json => ({
  id,
  type: "function",
  function: { name: "read", arguments: '{"path":"a"}' },
});
const calls = (...ids: string[]): Json => ({ role: "assistant", content: null, tool_calls: ids.map(call) });
const result = (id: string): Json => ({ role: "tool", tool_call_id: id, content: `result of ${id}` });
const said = (role: string, content: string): Json => ({ role, content });
const WHOLE: readonly Json[] = [
  said("system", "Be careful."),
  said("user", "Read both."),
  calls("a", "b"),
  result("b"),
  result("a"),
  said("assistant", "Done."),
  said("user", "Again."),
  calls("c"),
  result("c"),
];

Deno.test("faultsInBoth() finds nothing in a whole transcript", () => {
  deepEqual(faultsInBoth("openai-chat", WHOLE, { ids: "unique" }), []);
  deepEqual(faultsInBoth("anthropic", chatToAnthropic(WHOLE), { ids: "unique" }), []);
});

Deno.test.each([
  { what: "a dropped result", messages: WHOLE.toSpliced(3, 1) },
  { what: "a dropped call", messages: WHOLE.with(2, calls("a")) },
  { what: "a call turned into prose", messages: WHOLE.with(7, said("assistant", "I read c.")) },
  { what: "a doubled result", messages: WHOLE.toSpliced(4, 0, result("b")) },
  { what: "a result behind the next answer", messages: WHOLE.toSpliced(4, 1).toSpliced(5, 0, result("a")) },
  { what: "a tail that begins with a result", messages: WHOLE.slice(4) },
  { what: "user text between a call and its result", messages: WHOLE.toSpliced(8, 0, said("user", "Hm.")) },
  {
    what: "an answer between a call and its result",
    messages: WHOLE.toSpliced(8, 0, said("assistant", "Hm.")),
  },
  { what: "an id twice in one message", messages: WHOLE.with(2, calls("a", "a")) },
  { what: "a call without an id", messages: WHOLE.with(7, calls("")) },
  { what: "no result at the end", messages: WHOLE.slice(0, 8) },
])("both judges see $what", ({ messages }) => {
  ok(openaiFaults(messages).length > 0);
  ok(anthropicFaults(chatToAnthropic(messages)).length > 0);
});

Deno.test("anthropicFaults() sees an answer that comes first, an empty text and text before results", () => {
  const blocks = chatToAnthropic(WHOLE);
  ok(anthropicFaults(blocks.slice(4)).length > 0);
  ok(anthropicFaults(blocks.with(1, said("user", " "))).length > 0);
  const results = blocks[3]?.["content"];
  ok(Array.isArray(results));
  const late = { role: "user", content: [{ type: "text", text: "Hm." }, ...results] };
  ok(anthropicFaults(blocks.with(3, late)).length > 0);
});

Deno.test("openaiFaults() takes ids that come again only where they may be reused", () => {
  const again = [...WHOLE, calls("a"), result("a")];
  deepEqual(openaiFaults(again), []);
  ok(openaiFaults(again, { ids: "unique" }).length > 0);
});

Deno.test("settleChat() answers what is open at the very end, and what is promised, and nothing else", () => {
  deepEqual(openaiFaults(settleChat(WHOLE.slice(0, 8))), []);
  const passedOver = WHOLE.toSpliced(3, 1);
  ok(openaiFaults(settleChat(passedOver)).length > 0);
  deepEqual(openaiFaults(settleChat(passedOver, new Set(["b"]))), []);
});
