/**
 * A check and a repair agree: whatever a repair changes a check has named, by the same code at the same message, as a
 * violation or as a notice; and each change says what was done, and where it is to be found.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { FormatName, JsonObject } from "../../src/formats/format.ts";
import { checkMessages, noticesOf } from "../../src/formats/check.ts";
import { readTranscript } from "../../src/formats/read.ts";
import { repairTranscript } from "../../src/formats/repair.ts";
import { rereadTranscript } from "../../src/formats/reread.ts";
import { formatOf, FORMATS } from "../property/_shapes.ts";
import { brokenOf } from "../property/_transcripts.ts";
import { runs } from "../support/runs.ts";

/** What a repair changes is among what a check names, and is all of it. */
function assertAgree(messages: readonly JsonObject[], format: FormatName): void {
  const reading = readTranscript(messages, { format });
  const found = [...checkMessages(reading), ...noticesOf(reading)];
  const named = new Set(found.map(({ code, at }) => `${code} at ${at}`));
  const repaired = repairTranscript(reading);
  for (const { code, at, message, to } of repaired.repairs) {
    assert(named.has(`${code} at ${at}`), `${code} at ${at} is not among ${[...named].join(", ")}`);
    assert.match(message, /^[A-Z]/);
    assert(to === null || (to !== undefined && to >= 0 && to < repaired.messages.length), `to ${to}`);
  }
  assert.equal(repaired.repairs.length > 0, found.length > 0, [...named].join(", "));
  const after = rereadTranscript(reading, { messages: repaired.messages, calls: repaired.calls });
  assert.deepEqual([...checkMessages(after), ...noticesOf(after)], []);
}

Deno.test("checkMessages() names what repairTranscript() changes of calls without an id, some of whose results have one", () => {
  for (const calls of [2, 3]) {
    for (const results of [["a"], ["a", ""], ["", "a"], ["a", "b"], ["a", "b", ""]]) {
      const call = { functionCall: { id: "", name: "read", args: {} } };
      assertAgree([
        { role: "user", parts: [{ text: "Go." }] },
        { role: "model", parts: Array.from({ length: calls }, () => structuredClone(call)) },
        {
          role: "user",
          parts: results.slice(0, calls).map((id) => ({
            functionResponse: { ...(id === "" ? {} : { id }), name: "read", response: { output: "x" } },
          })),
        },
      ], "gemini");
    }
  }
});

Deno.test("checkMessages() names reasoning that waits behind a call which a repair answers", () => {
  const user = { type: "message", role: "user", content: "Go." };
  const call = { type: "function_call", call_id: "a", name: "read", arguments: '{"path": "a' };
  const other = { type: "function_call", call_id: "b", name: "read", arguments: "{}" };
  const reasoning = { type: "reasoning", id: "rs1", summary: [], encrypted_content: "EqQB" };
  const early = { type: "function_call_output", call_id: "b", output: "x" };
  const hosted = { type: "mcp_call", id: "m", server_label: "s", name: "run", arguments: '{"a": "b' };
  const tails = [
    [call, reasoning],
    [call, reasoning, reasoning],
    [call, other, reasoning],
    [other, reasoning, call, reasoning],
    [early, other, reasoning],
    [hosted, reasoning],
  ];
  for (const items of tails) assertAgree([user, ...structuredClone(items)], "openai-responses");
});

Deno.test.each(FORMATS.map((shape) => ({ shape })))(
  "checkMessages() names whatever repairTranscript() changes, in $shape",
  ({ shape }) => {
    fc.assert(
      fc.property(brokenOf(shape), ({ messages }) => assertAgree(messages, formatOf(shape))),
      runs(150),
    );
  },
);
