/** Calls of Chat Completions as they were before there were `tool_calls`. */
import { deepEqual, match } from "node:assert/strict";
import { readTranscript } from "../../src/formats/read.ts";
import { chatCall, chatResult, codesOf, mend, said, user } from "./_read.ts";

const oldCall = { role: "assistant", content: null, function_call: { name: "f", arguments: '{"a":1}' } };
const oldResult = { role: "function", name: "f", content: "ok" };

Deno.test("calls of old are pairs, told by their names", () => {
  const messages = [user(), oldCall, oldResult, said(), oldCall, oldResult, said()];
  deepEqual(codesOf(messages), []);
  deepEqual(readTranscript(messages).transcript.legalCuts, [0, 1, 3, 4, 6, 7]);
  deepEqual(mend(messages).messages, messages);
});

Deno.test("an abandoned call of old is answered as of old, and a misplaced result moves as it is", () => {
  deepEqual(mend([user(), oldCall, user("next")]).messages[2], {
    role: "function",
    name: "f",
    content: "Error: Aborted: the call did not finish",
  });
  deepEqual(mend([user(), oldCall, user("wait"), oldResult]).messages, [
    user(),
    oldCall,
    oldResult,
    user("wait"),
  ]);
  const cut = { ...oldCall, function_call: { name: "f", arguments: '{"a' } };
  deepEqual(codesOf([user(), cut, oldResult]), ["1 truncated_arguments"]);
  match(JSON.stringify(mend([user(), cut, oldResult]).messages[1]), /unparsed_arguments/);
});

Deno.test("a call of old whose result has an id becomes one of today, and the other way round", () => {
  const named = mend([user(), oldCall, chatResult("a"), said()]);
  deepEqual(named.messages[1], {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "a", type: "function", function: oldCall.function_call }],
  });
  const result = mend([user(), chatCall("a", "{}", "f"), oldResult, said()]);
  deepEqual(result.messages[2], { role: "tool", tool_call_id: "a", content: "ok" });
});
