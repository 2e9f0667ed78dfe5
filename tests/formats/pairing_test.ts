/** Which result answers which call where ids do not say it, and which calls are open. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { openCalls } from "../../src/formats/check.ts";
import { describeTranscript } from "../../src/formats/describe.ts";
import type { JsonObject } from "../../src/formats/format.ts";
import { type ReadOptions, readTranscript } from "../../src/formats/read.ts";
import {
  chatCall,
  chatResult,
  codesOf,
  contents,
  functionCall,
  functionCalled,
  functionOutput,
  functionResponse,
  item,
  mend,
  model,
  modelCall,
  modelResult,
  refusal,
  said,
  ui,
  uiText,
  use,
  used,
  user,
} from "./_read.ts";

/** Results by the arguments of the calls that they answer. */
function answersIn(messages: readonly JsonObject[]): readonly string[] {
  const { transcript, pieces } = readTranscript(messages);
  const flat = pieces.flat();
  return transcript.pairs.map(({ call, result }) => `${flat[call]?.text} ${flat[result ?? -1]?.text}`);
}

const twoCalls = (first: string, second: string): readonly JsonObject[] => [
  item("user"),
  functionCall(first, '{"e":"1+1"}'),
  functionCall(second, '{"e":"2+2"}'),
  functionOutput(first, "2"),
  functionOutput(second, "4"),
  item("assistant", "2 and 4"),
];

Deno.test("calls of one Responses step that share an id are answered first in, first out", () => {
  const messages = twoCalls("x", "x");
  deepEqual(codesOf(messages), ["2 duplicate_call_id"]);
  deepEqual(answersIn(messages), ['{"e":"1+1"} 2', '{"e":"2+2"} 4']);
  const { messages: mended } = mend(messages);
  deepEqual(answersIn(mended), ['{"e":"1+1"} 2', '{"e":"2+2"} 4']);
  deepEqual(mended.map((found) => found["call_id"]), [undefined, "x", "x_2", "x", "x_2", undefined]);
});

Deno.test("calls of one Responses step without an id are answered first in, first out", () => {
  const messages = twoCalls("", "");
  deepEqual(codesOf(messages), ["1 empty_call_id", "2 empty_call_id"]);
  const { messages: mended } = mend(messages);
  deepEqual(answersIn(mended), ['{"e":"1+1"} 2', '{"e":"2+2"} 4']);
});

Deno.test("calls a, b, a of one Responses step are answered in their order", () => {
  const messages = [
    item("user"),
    functionCall("a", '{"n":1}'),
    functionCall("b", '{"n":2}'),
    functionCall("a", '{"n":3}'),
    functionOutput("a", "1"),
    functionOutput("b", "2"),
    functionOutput("a", "3"),
  ];
  deepEqual(codesOf(messages), ["3 duplicate_call_id"]);
  deepEqual(answersIn(mend(messages).messages), ['{"n":1} 1', '{"n":2} 2', '{"n":3} 3']);
});

const oneSided: Readonly<Record<string, readonly JsonObject[]>> = {
  "openai-chat, result": [user(), chatCall("a"), chatResult("", "r"), said()],
  "openai-chat, call": [user(), chatCall(null), chatResult("a", "r"), said()],
  "anthropic, result": [user(), use("a"), used("", "r"), said()],
  "anthropic, call": [user(), use(""), used("a", "r"), said()],
  "openai-responses, result": [item("user"), functionCall("a"), functionOutput("", "r"), item("assistant")],
  "openai-responses, call": [item("user"), functionCall(""), functionOutput("a", "r"), item("assistant")],
  "ai-sdk, result": [user(), modelCall("a"), modelResult("", "r"), said()],
  "ai-sdk, call": [user(), modelCall(""), modelResult("a", "r"), said()],
  "gemini, result": [
    contents({ text: "go" }),
    model(functionCalled("f", "a")),
    contents(functionResponse("f", "r")),
    model({ text: "done" }),
  ],
  "gemini, call": [
    contents({ text: "go" }),
    model(functionCalled("f")),
    contents(functionResponse("f", "r", "a")),
    model({ text: "done" }),
  ],
};
for (const [name, messages] of Object.entries(oneSided)) {
  Deno.test(`a pair is whole though only one side has an id: ${name} without one`, () => {
    const { transcript } = readTranscript(messages);
    deepEqual(transcript.pairs.map(({ state }) => state), ["answered"]);
    deepEqual(transcript.legalCuts, [0, 1, 3, 4]);
    deepEqual(codesOf(messages), [`${name.endsWith("call") ? 1 : 2} empty_call_id`]);
    const mended = mend(messages);
    equal(mended.messages.length, 4);
    const [call, result] = readTranscript(mended.messages).pieces.slice(1, 3).map(([piece]) => piece);
    deepEqual([call?.callId, result?.callId, result?.text], ["a", "a", "r"]);
  });
}

Deno.test("results without ids are told by the names of their calls, in order", () => {
  const messages = [
    contents({ text: "go" }),
    model(functionCalled("f", "1"), functionCalled("g", "2"), functionCalled("f", "3")),
    contents(functionResponse("g", "b"), functionResponse("f", "a"), functionResponse("f", "c")),
  ];
  const ids = readTranscript(mend(messages).messages).pieces[2]?.map(({ callId }) => callId);
  deepEqual(ids, ["2", "1", "3"]);
});

const early: Readonly<Record<string, readonly JsonObject[]>> = {
  "openai-chat": [user(), chatResult("a", "r"), chatCall("a"), user("next")],
  anthropic: [user(), used("a", "r"), use("a"), user("next")],
  "openai-responses": [item("user"), functionOutput("a", "r"), functionCall("a"), item("user")],
  "ai-sdk": [user(), modelResult("a", "r"), modelCall("a"), user("next")],
  gemini: [
    contents({ text: "go" }),
    contents(functionResponse("f", "r", "a")),
    model(functionCalled("f", "a")),
    contents({ text: "next" }),
  ],
};
for (const [name, messages] of Object.entries(early)) {
  Deno.test(`a result in front of its call is moved behind it: ${name}`, () => {
    deepEqual(codesOf(messages), ["1 misplaced_result", "2 missing_result"]);
    ok(!readTranscript(messages).transcript.isLegalCut(2));
    const { messages: mended, repairs } = mend(messages);
    deepEqual(repairs.map(({ code, at, to }) => `${code} ${at} ${to}`), ["misplaced_result 1 2"]);
    equal(mended.length, 4);
    deepEqual(mended.slice(1, 3), [messages[2], messages[1]]);
  });
}

Deno.test("a result in front of other calls, or whose id comes twice, is no result in front of its call", () => {
  for (
    const messages of [
      [user(), chatResult("a"), user("wait"), chatCall("a"), user()],
      [user(), chatResult("a"), chatCall("a"), user(), chatCall("a"), user()],
    ]
  ) deepEqual(codesOf(messages)[0], "1 orphan_result");
});

const preliminary = {
  type: "tool-run",
  toolCallId: "a",
  state: "output-available",
  input: {},
  output: "half",
  preliminary: true,
};

Deno.test("a UI tool part whose output stayed preliminary is abandoned once it is passed over", () => {
  const passed = [ui("user", uiText()), ui("assistant", preliminary), ui("user", uiText("next"))];
  for (const options of [{}, { inFlight: [] }] as readonly ReadOptions[]) {
    deepEqual(codesOf(passed, options), ["1 missing_result"]);
    deepEqual(readTranscript(passed, options).transcript.legalCuts, [0, 1, 2, 3]);
  }
  const [, { parts } = { parts: [] }] = mend(passed).messages;
  const [part] = parts as readonly JsonObject[];
  equal(part?.["state"], "output-error");
  equal(part?.["preliminary"], undefined);
  match(String(part?.["errorText"]), /half/);
});

Deno.test("a UI tool part whose output is preliminary is open at the end, and where it is named", () => {
  const messages = [ui("user", uiText()), ui("assistant", preliminary)];
  deepEqual(describeTranscript(readTranscript(messages)).pending, ["a"]);
  const passed = [...messages, ui("user", uiText("next"))];
  deepEqual(describeTranscript(readTranscript(passed, { inFlight: ["a"] })).pending, ["a"]);
});

Deno.test("an interim result is the answer where its call is not among those in flight", () => {
  const answer = (output: string) => ({
    functionResponse: { name: "f", id: "a", response: { output }, willContinue: true },
  });
  const messages = [
    contents({ text: "go" }),
    model(functionCalled("f", "a")),
    contents(answer("10 %")),
    contents(answer("20 %")),
    model({ text: "hm" }),
  ];
  deepEqual(readTranscript(messages).transcript.legalCuts, [0, 1]);
  const given = readTranscript(messages, { inFlight: [] });
  deepEqual(given.transcript.legalCuts, [0, 1, 4, 5]);
  deepEqual(codesOf(messages, { inFlight: [] }), []);
});

const started = [user(), chatCall("x"), chatResult("x", "started"), user(), said()];

Deno.test("a call that runs long and is in flight goes on, whatever results it has", () => {
  const found = describeTranscript(readTranscript(started, { longRunning: ["x"], inFlight: ["x"] }));
  deepEqual(found.pending, ["x"]);
  deepEqual(found.legalCuts, [0, 1]);
  deepEqual(found.violations, []);
  const later = [...started, chatResult("x", "ended")];
  deepEqual(readTranscript(later, { longRunning: ["x"] }).transcript.pairs[0]?.state, "answered");
});

Deno.test("a call that is answered cannot be in flight, unless it runs long", () => {
  const error = refusal(started, { inFlight: ["x"] });
  deepEqual([error.code, error.fields["field"], error.fields["at"]], ["call_answered", "inFlight", 1]);
  match(error.message, /"x" of message 1 .* its result in message 2/);
});

Deno.test("an id that no call has is refused among calls in flight and among those that run long", () => {
  for (const field of ["inFlight", "longRunning"] as const) {
    const error = refusal(started, { [field]: ["y"] });
    deepEqual([error.code, error.fields["field"]], ["unknown_call", field]);
  }
  // A summary may stand for the call.
  const isSummary = (text: string): boolean => text === "summary";
  equal(readTranscript([user("summary"), ...started], { longRunning: ["y"], isSummary }).messages.length, 6);
});

Deno.test("a question for approval that waits is pending, and may be named by its id", () => {
  const asked = {
    type: "mcp_approval_request",
    id: "mcpr_1",
    server_label: "s",
    name: "pay",
    arguments: "{}",
  };
  const messages = [item("user"), asked];
  const reading = readTranscript(messages);
  deepEqual(openCalls(reading), [
    { at: 1, call: -1, callId: "mcpr_1", name: "pay", state: "in_flight" },
  ]);
  deepEqual(describeTranscript(reading).pending, ["mcpr_1"]);
  const passed = readTranscript([...messages, item("user", "wait")], { inFlight: ["mcpr_1"] });
  deepEqual(passed.transcript.legalCuts, [0, 1]);
});

Deno.test("Gemini calls without ids are told by their names, round by round", () => {
  const stray = [
    contents({ text: "go" }),
    model(functionCalled("f")),
    contents(functionResponse("f", "1")),
    model({ text: "hm" }),
    contents(functionResponse("f", "2")),
  ];
  deepEqual(codesOf(stray), ["4 orphan_result"]);
  match(JSON.stringify(mend(stray).messages), /\[selvage: a result without its call \(f\)\] 2/);
  const twice = [
    contents({ text: "go" }),
    model(functionCalled("f")),
    contents(functionResponse("f", "1"), functionResponse("f", "2"), functionResponse("f", "1")),
  ];
  deepEqual(codesOf(twice), ["2 duplicate_result", "2 duplicate_result"]);
  // One that says the same leaves no text, as in the other formats.
  const said = JSON.stringify(mend(twice).messages);
  deepEqual(said.match(/\[selvage: [^\]]*\] ./g), ["[selvage: a second result of f] 2"]);
});

Deno.test("two Gemini calls of one name without ids: all calls of the message get one, reported once", () => {
  const messages = [
    contents({ text: "go" }),
    model(functionCalled("f"), functionCalled("g"), functionCalled("f")),
    contents(functionResponse("f", "1"), functionResponse("f", "2"), functionResponse("g", "3")),
  ];
  deepEqual(codesOf(messages), ["1 duplicate_call_id"]);
  const { messages: mended, repairs } = mend(messages);
  deepEqual(repairs.map(({ code, at }) => `${at} ${code}`), ["1 duplicate_call_id"]);
  const [calls, results] = readTranscript(mended).pieces.slice(1);
  deepEqual(calls?.map(({ callId }) => callId), ["call_1_1", "call_1_2", "call_1_3"]);
  deepEqual(results?.map(({ callId }) => callId), ["call_1_1", "call_1_3", "call_1_2"]);
});

Deno.test("a result without an id answers the call without one first, where another of its name has one and waits", () => {
  const call = (id?: string) => ({
    functionCall: { ...(id === undefined ? {} : { id }), name: "read", args: {} },
  });
  const result = { functionResponse: { name: "read", response: { output: "x" } } };
  const messages: readonly JsonObject[] = [
    { role: "user", parts: [{ text: "Go." }] },
    { role: "model", parts: [call("a"), call()] },
    { role: "user", parts: [result] },
  ];
  const waits = (list: readonly JsonObject[]) =>
    readTranscript(list, { format: "gemini" }).transcript.pairs.map(({ state }) => state);
  deepEqual(waits(messages), ["in_flight", "answered"]);
  deepEqual(waits([...messages.slice(0, 2), { role: "user", parts: [result, result] }]), [
    "answered",
    "answered",
  ]);
});
