/** Transcripts and options that the routes refuse. Over 300 lines, for it is one table, a few lines a row. */
import { equal, ok } from "node:assert/strict";
import { call, type Json, result, rounds, user } from "../support/chat.ts";
import { refused } from "../support/transcript_routes.ts";

const KNOWN = [user("Go."), call("a"), result("a")];

const BAD: readonly {
  name: string;
  body: Json;
  code: string;
  field?: string;
  at?: number;
  status?: number;
}[] = [
  { name: "no JSON", body: '{"messages":[', code: "bad_json" },
  { name: "an empty body", body: "", code: "bad_json" },
  { name: "a number as the body", body: "3", code: "bad_request", field: "body" },
  { name: "no messages", body: {}, code: "bad_request", field: "messages" },
  { name: "an unknown field", body: { messages: [], budgt: 1 }, code: "bad_request", field: "budgt" },
  {
    name: "__proto__ as a field",
    body: '{"messages":[],"__proto__":{}}',
    code: "bad_request",
    field: "__proto__",
  },
  {
    name: "constructor as a field",
    body: { messages: [], constructor: 1 },
    code: "bad_request",
    field: "constructor",
  },
  { name: "an object as messages", body: { messages: {} }, code: "bad_transcript", field: "messages" },
  { name: "null as messages", body: { messages: null }, code: "bad_transcript", field: "messages" },
  { name: "a text as messages", body: { messages: "x" }, code: "bad_transcript", field: "messages" },
  {
    name: "a number as a message",
    body: { messages: [user("x"), 3] },
    code: "bad_message",
    at: 1,
    field: "messages[1]",
  },
  { name: "null as a message", body: { messages: [null] }, code: "bad_message", at: 0, field: "messages[0]" },
  { name: "a list as a message", body: { messages: [[]] }, code: "bad_message", at: 0, field: "messages[0]" },
  {
    name: "an unknown role",
    body: { messages: [user("x"), { role: "wizard", content: "x" }] },
    code: "bad_message",
    at: 1,
    field: "role",
  },
  {
    name: "constructor as a role",
    body: { messages: [{ role: "constructor", content: "x" }] },
    code: "bad_message",
    at: 0,
    field: "role",
  },
  {
    name: "__proto__ as a role",
    body: { messages: [{ role: "__proto__", content: "x" }] },
    code: "bad_message",
    at: 0,
    field: "role",
  },
  {
    name: "a number as a role",
    body: { messages: [{ role: 1, content: "x" }] },
    code: "unknown_format",
    at: 0,
    field: "role",
  },
  {
    name: "no role",
    body: { messages: [user("x"), { content: "x" }] },
    code: "unknown_format",
    at: 1,
    field: "role",
  },
  {
    name: "a number as content",
    body: { messages: [{ role: "user", content: 5 }] },
    code: "bad_message",
    at: 0,
    field: "content",
  },
  {
    name: "a number as a part",
    body: { messages: [{ role: "user", content: [5] }] },
    code: "bad_message",
    at: 0,
    field: "content[0]",
  },
  {
    name: "a part without a type",
    body: { messages: [{ role: "user", content: [{}] }] },
    code: "bad_message",
    at: 0,
    field: "content[0].type",
  },
  {
    name: "a number as a text",
    body: { messages: [{ role: "user", content: [{ type: "text", text: 1 }] }] },
    code: "bad_message",
    at: 0,
    field: "content[0].text",
  },
  {
    name: "an object as tool_calls",
    body: { messages: [{ role: "assistant", tool_calls: {} }] },
    code: "bad_message",
    at: 0,
    field: "tool_calls",
  },
  {
    name: "a call without a function",
    body: { messages: [{ role: "assistant", tool_calls: [{ id: "a" }] }] },
    code: "bad_message",
    at: 0,
    field: "tool_calls[0].function",
  },
  {
    name: "a number as a call id",
    body: { messages: [user("x"), { role: "tool", tool_call_id: 7, content: "x" }] },
    code: "bad_message",
    at: 1,
    field: "tool_call_id",
  },
  {
    name: "a number as a tool_use id",
    body: { messages: [{ role: "assistant", content: [{ type: "tool_use", id: 7, name: "x", input: {} }] }] },
    code: "bad_message",
    at: 0,
    field: "content[0].id",
  },
  {
    name: "an object as a UI part's state",
    body: {
      messages: [{ id: "1", role: "assistant", parts: [{ type: "tool-x", toolCallId: "a", state: {} }] }],
    },
    code: "bad_message",
    at: 0,
    field: "parts[0].state",
  },
  {
    name: "a text as a function call",
    body: { messages: [{ role: "model", parts: [{ functionCall: "x" }] }] },
    code: "bad_message",
    at: 0,
    field: "parts[0].functionCall",
  },
  {
    name: "a number as an item's call id",
    body: { messages: [{ type: "function_call", call_id: 1, name: "x", arguments: "{}" }] },
    code: "bad_message",
    at: 0,
    field: "call_id",
  },
  {
    name: "messages of another format",
    body: { format: "gemini", messages: [user("x")] },
    code: "bad_message",
    at: 0,
    field: "parts",
  },
  {
    name: "an unknown format",
    body: { format: "gemeni", messages: [user("x")] },
    code: "unknown_format",
    field: "format",
  },
  {
    name: "__proto__ as a format",
    body: { format: "__proto__", messages: [user("x")] },
    code: "unknown_format",
    field: "format",
  },
  {
    name: "a number as a format",
    body: { format: 1, messages: [user("x")] },
    code: "bad_request",
    field: "format",
  },
  {
    name: "an unknown call in flight",
    body: { messages: KNOWN, inFlight: ["z"] },
    code: "unknown_call",
    field: "inFlight",
  },
  {
    name: "a place without a call",
    body: { messages: KNOWN, inFlight: [{ at: 1, call: 1 }] },
    code: "unknown_call",
    field: "inFlight",
    at: 1,
  },
  {
    name: "a long-running place without a call",
    body: { messages: KNOWN, longRunning: [{ at: 0, call: 0 }] },
    code: "unknown_call",
    field: "longRunning",
    at: 0,
  },
  {
    name: "a negative place",
    body: { messages: KNOWN, inFlight: [{ at: -1, call: 0 }] },
    code: "bad_request",
    field: "inFlight.0.at",
  },
  {
    name: "a number as a call in flight",
    body: { messages: KNOWN, inFlight: [3] },
    code: "bad_request",
    field: "inFlight.0",
  },
  {
    name: "an unknown way to think",
    body: { messages: KNOWN, thinking: "hard" },
    code: "bad_request",
    field: "thinking",
  },
  { name: "too few tokens", body: { messages: KNOWN, tokens: [1, 2] }, code: "bad_tokens", field: "tokens" },
  {
    name: "too many tokens",
    body: { messages: KNOWN, tokens: [1, 2, 3, 4] },
    code: "bad_tokens",
    field: "tokens",
  },
  {
    name: "negative tokens",
    body: { messages: KNOWN, tokens: [1, -2, 3] },
    code: "bad_tokens",
    field: "tokens",
    at: 1,
  },
  {
    name: "tokens beyond counting",
    body: { messages: KNOWN, tokens: [1, 1e300, 3] },
    code: "bad_tokens",
    field: "tokens",
    at: 1,
  },
  {
    name: "null tokens",
    body: { messages: KNOWN, tokens: [1, null, 3] },
    code: "bad_request",
    field: "tokens.1",
  },
  {
    name: "a tool_use from the user",
    body: { messages: [{ role: "user", content: [{ type: "tool_use", id: "a", name: "x", input: {} }] }] },
    code: "bad_message",
    at: 0,
    field: "content[0]",
  },
  {
    name: "thinking from the user",
    body: { messages: [{ role: "user", content: [{ type: "thinking", thinking: "x", signature: "s" }] }] },
    code: "bad_message",
    at: 0,
    field: "content[0]",
  },
  {
    name: "a tool-call in a tool message",
    body: {
      messages: [user("x"), {
        role: "tool",
        content: [{ type: "tool-call", toolCallId: "a", toolName: "x" }],
      }],
    },
    code: "bad_message",
    at: 1,
    field: "content[0]",
  },
  {
    name: "a function call from the user",
    body: { messages: [{ role: "user", parts: [{ functionCall: { name: "x" } }] }] },
    code: "bad_message",
    at: 0,
    field: "parts[0]",
  },
];

const BAD_COMPACT: typeof BAD = [
  { name: "no budget", body: {}, code: "bad_request", field: "budget" },
  { name: "budget 0", body: { budget: 0 }, code: "bad_budget", field: "budget" },
  { name: "a negative budget", body: { budget: -5 }, code: "bad_budget", field: "budget" },
  {
    name: "NaN, which JSON cannot say, as a budget",
    body: { budget: NaN },
    code: "bad_request",
    field: "budget",
  },
  { name: "a budget as text", body: { budget: "1000" }, code: "bad_request", field: "budget" },
  {
    name: "a pin behind the end",
    body: { budget: 100, pinned: [3] },
    code: "bad_pin",
    field: "pinned",
    at: 3,
  },
  {
    name: "a negative pin",
    body: { budget: 100, pinned: [0, -1] },
    code: "bad_pin",
    field: "pinned",
    at: -1,
  },
  { name: "half a pin", body: { budget: 100, pinned: [0.5] }, code: "bad_request", field: "pinned.0" },
  { name: "a blank summary", body: { budget: 100, summary: " \n" }, code: "summary_blank", field: "summary" },
  { name: "an unknown policy", body: { budget: 100, policy: "wild" }, code: "bad_request", field: "policy" },
  {
    name: "a negative lookback",
    body: { budget: 100, lookback: -1 },
    code: "bad_request",
    field: "lookback",
  },
  {
    name: "a negative reserve",
    body: { budget: 100, summaryReserve: -1 },
    code: "bad_request",
    field: "summaryReserve",
  },
  { name: "plan as text", body: { budget: 100, plan: "yes" }, code: "bad_request", field: "plan" },
];

function expectProblem(problem: Json, { code, field, at, status = 400 }: (typeof BAD)[number]): void {
  equal(problem.code, code, problem.detail);
  equal(problem.status, status);
  equal(problem.field, field);
  equal(problem.at, at);
  ok(problem.detail.length < 1_000, "a sentence, whatever was sent");
}

for (const bad of BAD) {
  Deno.test(`POST /v1/check, /v1/repair and /v1/compact refuse ${bad.name} with ${bad.code}`, async () => {
    expectProblem(await refused("check", bad.body), bad);
    expectProblem(await refused("repair", bad.body), bad);
    const body = typeof bad.body === "string"
      ? bad.body.replace(/^\{/, '{"budget":1000,')
      : { ...bad.body, budget: 1_000 };
    expectProblem(await refused("compact", body), bad);
  });
}

for (const bad of BAD_COMPACT) {
  Deno.test(`POST /v1/compact refuses ${bad.name} with ${bad.code}`, async () => {
    expectProblem(await refused("compact", { messages: KNOWN, ...bad.body }), bad);
  });
}

Deno.test("POST /v1/compact refuses a summary over half of the reserve and says how much it takes", async () => {
  const problem = await refused("compact", {
    messages: rounds(30),
    budget: 2_000,
    summary: "word ".repeat(1_000),
  });
  equal(problem.code, "summary_too_large");
  equal(problem.status, 413);
  equal(problem.field, "summary");
  ok(problem.tokens > problem.limit);
});
