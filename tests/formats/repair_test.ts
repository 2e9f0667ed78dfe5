/** What is wrong in one format or in all, by its code, and what becomes of it. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { compactTranscript } from "../../src/compaction/wire.ts";
import { checkMessages, noticesOf } from "../../src/formats/check.ts";
import type { JsonObject } from "../../src/formats/format.ts";
import { readTranscript } from "../../src/formats/read.ts";
import { repairTranscript } from "../../src/formats/repair.ts";
import {
  chatCall,
  chatResult,
  codesOf,
  contents,
  functionCall,
  functionCalled,
  functionOutput,
  item,
  mend,
  model,
  modelCall,
  modelResult,
  said,
  ui,
  uiText,
  use,
  used,
  user,
} from "./_read.ts";

const abandoned: Readonly<Record<string, { readonly call: JsonObject; readonly output: JsonObject }>> = {
  custom_tool_call: {
    call: { name: "sh", input: "ls" },
    output: {
      type: "custom_tool_call_output",
      call_id: "c",
      output: "Error: Aborted: the call did not finish",
    },
  },
  local_shell_call: {
    call: { id: "lsh", action: { type: "exec", command: ["ls"] } },
    output: {
      type: "local_shell_call_output",
      call_id: "c",
      id: "c",
      output: "Error: Aborted: the call did not finish",
      status: "incomplete",
    },
  },
  shell_call: {
    call: { action: { commands: ["ls"] } },
    output: {
      type: "shell_call_output",
      call_id: "c",
      output: [{
        stdout: "",
        stderr: "Error: Aborted: the call did not finish",
        outcome: { type: "exit", exit_code: 1 },
      }],
    },
  },
  apply_patch_call: {
    call: { operation: { type: "delete_file", path: "a" } },
    output: {
      type: "apply_patch_call_output",
      call_id: "c",
      status: "failed",
      output: "Error: Aborted: the call did not finish",
    },
  },
  function_call: {
    call: { name: "run", arguments: "{}" },
    output: { type: "function_call_output", call_id: "c", output: "Error: Aborted: the call did not finish" },
  },
};
for (const [type, { call, output }] of Object.entries(abandoned)) {
  Deno.test(`an abandoned ${type} is answered in its own shape`, () => {
    const { messages } = mend([item("user"), { type, call_id: "c", ...call }, item("user", "next")]);
    deepEqual(messages[2], output);
  });
}

Deno.test("an abandoned computer_call is answered with a screenshot, as it has to be", () => {
  const call = { type: "computer_call", call_id: "c", action: { type: "wait" }, pending_safety_checks: [] };
  const [, , answer] = mend([item("user"), call, item("user", "next")]).messages;
  equal(answer?.["type"], "computer_call_output");
  equal(answer?.["status"], "incomplete");
  const { type, image_url: url } = answer?.["output"] as { type: string; image_url: string };
  equal(type, "computer_screenshot");
  match(url, /^data:image\/png;base64,/);
  // It costs what a picture costs, not what its text is long.
  equal(readTranscript([answer ?? {}], { format: "openai-responses" }).pieces[0]?.[0]?.files, 1);
});

Deno.test("a local_shell_call_output is told by the id of its call, or by its call_id", () => {
  const call = { type: "local_shell_call", id: "lsh", call_id: "c", action: {} };
  for (const names of [{ id: "lsh" }, { id: "c" }, { call_id: "c" }, { id: "lso", call_id: "c" }]) {
    const messages = [item("user"), call, { type: "local_shell_call_output", output: "{}", ...names }];
    deepEqual(codesOf(messages), []);
    deepEqual(readTranscript(messages).transcript.legalCuts, [0, 1, 3]);
  }
});

const asking = {
  type: "tool-pay",
  toolCallId: "a",
  state: "approval-requested",
  input: {},
  approval: { id: "q" },
};

Deno.test("an abandoned UI call keeps no question for approval that nobody has answered", () => {
  const mended = (part: JsonObject): JsonObject => {
    const { messages } = mend([ui("user", uiText()), ui("assistant", part), ui("user", uiText("next"))]);
    return (messages[1]?.["parts"] as readonly JsonObject[])[0] ?? {};
  };
  const open = mended(asking);
  equal(open["state"], "output-error");
  ok(!("approval" in open));
  const responded = { ...asking, state: "approval-responded" };
  const granted = mended({ ...responded, approval: { id: "q", approved: true } });
  deepEqual([granted["state"], granted["approval"]], ["output-error", { id: "q", approved: true }]);
  const denied = mended({ ...responded, approval: { id: "q", approved: false } });
  deepEqual([denied["state"], denied["errorText"]], ["output-denied", undefined]);
});

for (const id of [undefined, null, ""]) {
  Deno.test(`a call whose id is ${JSON.stringify(id)} is named, and gets one with its result`, () => {
    const messages = [user(), chatCall(id), chatResult(id), said()];
    deepEqual(codesOf(messages), ["1 empty_call_id"]);
    const { messages: mended, repairs } = mend(messages);
    deepEqual(repairs.map(({ code, message }) => `${code}: ${message}`), [
      "empty_call_id: Gave the call and its result the id call_1_1",
    ]);
    deepEqual(mended[2]?.["tool_call_id"], "call_1_1");
  });
}

const shapes: Readonly<Record<string, readonly [found: JsonObject, mended: JsonObject]>> = {
  "openai-chat, a list": [chatCall("a", "[1]"), chatCall("a", '{"arguments":[1]}')],
  "openai-chat, an object": [chatCall("a", { b: 1 }), chatCall("a", '{"b":1}')],
  "openai-chat, nothing": [chatCall("a", null), chatCall("a", "{}")],
  "openai-responses, an object": [
    { ...functionCall("a"), arguments: { b: 1 } },
    functionCall("a", '{"b":1}'),
  ],
  "anthropic, a list": [use("a", [1]), use("a", { arguments: [1] })],
  "anthropic, JSON text": [use("a", '{"b":1}'), use("a", { b: 1 })],
  "ai-sdk, JSON text": [modelCall("a", '{"b":1}'), modelCall("a", { b: 1 })],
};
for (const [name, [found, wanted]] of Object.entries(shapes)) {
  Deno.test(`arguments in another shape are named, and written in the one of the format: ${name}`, () => {
    const isItem = found["type"] === "function_call";
    const result = isItem
      ? functionOutput("a")
      : name.startsWith("anthropic")
      ? used("a")
      : name.startsWith("ai-sdk")
      ? modelResult("a")
      : chatResult("a");
    const messages = [isItem ? item("user") : user(), found, result];
    deepEqual(codesOf(messages), ["1 invalid_arguments"]);
    deepEqual(mend(messages).messages[1], wanted);
  });
}

Deno.test("arguments that end too early are a violation once the call is done, and a notice while it waits", () => {
  const cut = chatCall("a", '{"path": "x');
  deepEqual(codesOf([user(), cut, chatResult("a")]), ["1 truncated_arguments"]);
  deepEqual(codesOf([user(), cut, user()]), ["1 missing_result", "1 truncated_arguments"]);
  const open = readTranscript([user(), cut]);
  deepEqual(codesOf([user(), cut]), []);
  deepEqual(noticesOf(open).map(({ code, at }) => `${at} ${code}`), ["1 truncated_arguments"]);
  equal(mend([user(), cut]).messages.length, 3);
});

Deno.test("text arguments of AI SDK tools are no broken JSON", () => {
  deepEqual(codesOf([user(), modelCall("a", "ls -l"), modelResult("a")]), []);
});

Deno.test("Anthropic ids are letters, digits, _ and -, on both sides", () => {
  const messages = [user(), use("fn:30.1"), used("fn:30.1"), use("fn_30_1"), used("fn_30_1"), said()];
  deepEqual(codesOf(messages), ["1 invalid_call_id"]);
  const ids = readTranscript(mend(messages).messages).pieces.flat().flatMap(({ callId }) => callId ?? []);
  deepEqual(ids, ["fn_30_1_1", "fn_30_1_1", "fn_30_1", "fn_30_1"]);
  deepEqual(mend([user(), use("a:b"), used("a:b")]).messages, [user(), use("a_b"), used("a_b")]);
});

Deno.test("an id that comes again in a later message is no fault, and stays", () => {
  const messages = [user(), use("a"), used("a", "1"), use("a"), used("a", "2"), said()];
  deepEqual(codesOf(messages), []);
  deepEqual(mend(messages).messages, messages);
  deepEqual(codesOf([user(), chatCall("a"), chatResult("a"), chatCall("a"), chatResult("a")]), []);
});

Deno.test("a result of a tool that Anthropic runs stands in the assistant's message, and nowhere else", () => {
  const run = said([{ type: "server_tool_use", id: "srv", name: "web_search", input: {} }]);
  const hits = { type: "web_search_tool_result", tool_use_id: "srv", content: [] };
  for (const result of [hits, { type: "tool_result", tool_use_id: "srv", content: "hits" }]) {
    const messages = [user(), run, user([result]), said()];
    deepEqual(codesOf(messages), ["2 misplaced_result"]);
    ok(!JSON.stringify(mend(messages).messages).includes("srv"));
  }
  // After a pause the answer goes on in a second message.
  deepEqual(codesOf([user(), run, said([hits, { type: "text", text: "x" }])]), []);
  const own = [user(), use("a"), user([{ ...hits, tool_use_id: "a" }]), said()];
  deepEqual(codesOf(own), ["2 misplaced_result"]);
  equal((mend(own).messages[2]?.["content"] as readonly JsonObject[])[0]?.["type"], "tool_result");
});

Deno.test("an approval that was left behind moves along with the result of its call, in front of it", () => {
  const call = { type: "tool-call", toolCallId: "a", toolName: "run", input: {} };
  const asked = said([call, { type: "tool-approval-request", approvalId: "q", toolCallId: "a" }]);
  const answer = {
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId: "q", approved: true }],
  };
  const messages = [user(), asked, user("wait"), answer, modelResult("a"), said()];
  deepEqual(codesOf(messages), ["1 missing_result", "3 misplaced_result", "4 misplaced_result"]);
  const { messages: mended, repairs } = mend(messages);
  deepEqual(repairs.map(({ callId }) => callId), ["q", "a"]);
  deepEqual(mended.map(({ role }) => role), ["user", "assistant", "tool", "user", "assistant"]);
  deepEqual((mended[2]?.["content"] as readonly JsonObject[]).map(({ type }) => type), [
    "tool-approval-response",
    "tool-result",
  ]);
});

Deno.test("a result names the tool of its call", () => {
  const messages = [user(), modelCall("a"), modelResult("a", "ok", "other"), said()];
  deepEqual(codesOf(messages), ["2 mismatched_name"]);
  deepEqual(mend(messages).messages[2], modelResult("a"));
  const gemini = [
    contents({ text: "go" }),
    model(functionCalled("f", "a")),
    contents({ functionResponse: { name: "g", id: "a", response: { output: "ok" } } }),
  ];
  deepEqual(codesOf(gemini), ["2 mismatched_name"]);
  match(JSON.stringify(mend(gemini).messages[2]), /"name":"f"/);
});

Deno.test("the text of an orphan result passes over no open call, also where one beside it may be passed over", () => {
  const messages = [
    item("user"),
    functionCall("a"),
    functionCall("b"),
    item("system"),
    functionOutput("", "text"),
  ];
  for (const longRunning of [["a"], ["b"]]) {
    const { messages: mended } = repairTranscript(
      readTranscript(messages, { format: "openai-responses", longRunning }),
    );
    deepEqual(mended.map(({ call_id, role }) => call_id ?? role), ["user", "user", "a", "b", "system"]);
    const after = readTranscript(mended, { format: "openai-responses", longRunning });
    deepEqual([...checkMessages(after), ...noticesOf(after)], []);
  }
});

Deno.test("an orphan result that holds nothing but an image leaves a mark", () => {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBOR" } };
  const { messages } = mend([user(), used("a", [image]), said()]);
  match(JSON.stringify(messages), /\[selvage: a result without its call \(a\)\] \[a file left out\]/);
});

Deno.test("a Gemini response says what its text says, without its name", () => {
  const response = (found: JsonObject): string | undefined =>
    readTranscript([contents({ functionResponse: { name: "f", response: found } })]).pieces[0]?.[0]?.text;
  equal(response({ output: 'say "hi"' }), 'say "hi"');
  equal(response({ result: "x" }), "x");
  equal(response({ output: "x", more: 1 }), '{"output":"x","more":1}');
});

Deno.test("each repair says in a sentence what was done, and where that is", () => {
  const { repairs } = mend([user(), chatCall("a"), user("wait"), chatResult("a"), chatResult("b"), said()]);
  deepEqual(repairs.map(({ at, to, message }) => `${at} -> ${to}: ${message}`), [
    "3 -> 2: Moved the result behind its call in message 1",
    "4 -> 4: Took out the result, and kept its text as a user text after the round",
  ]);
});

Deno.test("a call gets the same id from a repair and from a compaction", () => {
  const rounds = Array.from(
    { length: 6 },
    () => [user("word ".repeat(200)), chatCall("a"), chatResult("a")],
  );
  const messages = [...rounds.flat(), user(), chatCall(""), chatResult(""), said()];
  const idIn = (found: readonly JsonObject[]): unknown => found.at(-2)?.["tool_call_id"];
  const { outcome, messages: compacted } = compactTranscript(readTranscript(messages), { budget: 900 });
  equal(outcome, "applied");
  deepEqual([idIn(mend(messages).messages), idIn(compacted)], ["call_19_1", "call_19_1"]);
});
