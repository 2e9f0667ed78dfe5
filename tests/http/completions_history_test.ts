/** `/v1/chat/completions`: histories that clients send again and again, with a session and without one. */
import assert from "node:assert/strict";
import { canonicalMessages } from "../../src/http/decode/completion_messages.ts";
import type { Script } from "../../src/models/scripted.ts";
import type { Json } from "../support/chat.ts";
import { completionsApp } from "../support/completions_app.ts";
import { readCompletionStream } from "../support/openai_stream_rules.ts";
import { calls, prose, replies, tool } from "../support/turns.ts";

const look = tool("look", () => "seen");
const hi = [{ role: "user", content: "Hi" }];

function makeApp(script: Script) {
  let n = 0;
  return completionsApp(script, {
    agent: { system: "Be good.", tools: [look] },
    newId: (kind) => `${kind}${n++}`,
  });
}

Deno.test("POST /v1/chat/completions keeps nothing of a client that keeps its history itself", async () => {
  const { app, complete, requests, store } = makeApp(replies({ text: "One." }, { text: "Two." }));
  await complete({ messages: hi });
  const messages = [
    { role: "system", content: "Be brief." },
    ...hi,
    { role: "assistant", content: "One." },
    { role: "user", content: "And?" },
  ];
  assert.equal((await complete({ messages })).choices[0].message.content, "Two.");
  assert.equal(requests[1]?.system, "Be good.\n\nBe brief.");
  assert.deepEqual(requests[1]?.messages.map(({ role, content }) => [role, content]), [
    ["user", "Hi"],
    ["assistant", "One."],
    ["user", "And?"],
  ]);
  assert.deepEqual((await store.list({ tenant: "local" })).sessions, []);
  assert.equal((await app.request("/v1/turns/turn1/events")).status, 404);
});

Deno.test("POST /v1/chat/completions goes on with a session, and appends what is new", async () => {
  const { complete, requests } = makeApp(
    replies(calls("look", {}), { text: "One." }, { text: "Two." }, { text: "3" }),
  );
  const headers = { "x-selvage-session": "s" };
  await complete({ messages: hi }, headers);
  // The new message alone.
  await complete({ messages: [{ role: "user", content: "Next" }] }, headers);
  assert.deepEqual(requests[2]?.messages.map(({ role }) => role), [
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
  // The whole history, as the client has it.
  const history = [
    ...hi,
    { role: "assistant", content: [{ type: "text", text: "One, as the client sees it." }] },
    { role: "user", content: "Next" },
    { role: "assistant", content: "Two." },
    { role: "user", content: "Last" },
  ];
  assert.equal((await complete({ messages: history }, headers)).choices[0].message.content, "3");
  assert.equal(requests[3]?.messages.length, 7);
});

Deno.test("POST /v1/chat/completions begins a session with the history that comes first", async () => {
  const { complete, requests } = makeApp(replies({ text: "Two." }, { text: "Three." }));
  const headers = { "x-selvage-session": "s" };
  const messages = [...hi, { role: "assistant", content: "One." }, { role: "user", content: "Next" }];
  await complete({ messages }, headers);
  await complete({ messages: [{ role: "user", content: "Last" }] }, headers);
  assert.deepEqual(requests[1]?.messages.map(({ content }) => content), [
    "Hi",
    "One.",
    "Next",
    [{ type: "text", text: "Two." }],
    "Last",
  ]);
});

Deno.test("POST /v1/chat/completions refuses a history that is not that of its session", async () => {
  const { post } = makeApp(replies({ text: "One." }));
  const headers = { "x-selvage-session": "s" };
  await (await post({ messages: hi }, headers)).json();
  const messages = [{ role: "user", content: "Ho" }, { role: "assistant", content: "One." }, ...hi];
  const response = await post({ messages }, headers);
  assert.equal(response.status, 409);
  assert.equal(response.headers.get("x-should-retry"), "false");
  const { error } = await response.json();
  assert.equal(error.code, "history_mismatch");
});

Deno.test("POST /v1/chat/completions leaves the log of its session where the history was edited", async () => {
  const { app, complete, requests } = makeApp(({ messages }) => ({ text: `${messages.length} so far.` }));
  const headers = { "x-selvage-session": "s" };
  const say = (content: string) => ({ role: "user", content });
  const heard = { role: "assistant", content: "…" };
  await complete({ messages: [say("One")] }, headers);
  await complete({ messages: [say("Two")] }, headers);
  await complete({ messages: [say("Three")] }, headers);
  // The last question again, as after an answer that nobody liked; then another one in the place of the second.
  await complete({ messages: [say("One"), heard, say("Two"), heard, say("Three")] }, headers);
  await complete({ messages: [say("One"), heard, say("Zwei")] }, headers);
  const asked = requests.slice(-2).map(({ messages }) =>
    messages.filter(({ role }) => role === "user").map(({ content }) => content)
  );
  assert.deepEqual(asked, [["One", "Two", "Three"], ["One", "Zwei"]]);
  const session = await (await app.request("/v1/sessions/s")).json();
  assert.equal(session.branches.length, 3, "what was left can be read");
});

Deno.test("POST /v1/chat/completions goes on from results that the client sends with its history", async () => {
  const { complete, requests } = makeApp(replies({ text: "It is warm." }));
  const call = { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } };
  const messages = [
    { role: "developer", content: "Be brief." },
    { role: "user", content: "Weather?" },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: "21 degrees" },
  ];
  const body = { messages, temperature: 0.5 };
  const completion = await complete(body);
  assert.equal(completion.choices[0].message.content, "It is warm.");
  assert.equal(completion.selvage, undefined, "what the client did itself is no news to it");
  const [request] = requests;
  assert.equal(request?.system, "Be good.\n\nBe brief.");
  assert.deepEqual(request?.settings, { temperature: 0.5 });
  assert.deepEqual(request?.messages, [
    { role: "user", content: "Weather?" },
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "e1_0", toolName: "weather", input: { city: "Bern" } }],
    },
    {
      role: "tool",
      content: [{
        type: "tool-result",
        toolCallId: "e1_0",
        toolName: "weather",
        output: { type: "text", value: "21 degrees" },
      }],
    },
  ]);
});

/** Rounds of a long history. */
function rounds(count: number): Json[] {
  return Array.from({ length: count }, (_, n) => [
    { role: "user", content: `Question ${n}: ${prose(400, n)}` },
    { role: "assistant", content: `Answer ${n}: ${prose(400, n + 500)}` },
  ]).flat();
}

Deno.test("POST /v1/chat/completions compacts a history that comes again and again once", async () => {
  let said = 0;
  const { post, store, requests } = completionsApp(() => ({ text: `Said ${++said}.` }), { window: 8_000 });
  const messages: Json[] = rounds(27);
  const phases: string[][] = [];
  for (let n = 0; n < 4; n++) {
    messages.push({ role: "user", content: `And ${n}?` });
    const body = await (await post({ messages, stream: true })).text();
    const read = readCompletionStream(body);
    assert.equal(read.error, null);
    phases.push(read.notes.filter(({ type }) => type === "compaction").map(({ phase }) => phase));
    messages.push({ role: "assistant", content: read.content });
  }
  assert.deepEqual(phases, [["applied"], [], [], []]);
  // The beginning is the same to the byte from then on, so that a provider's cache has it.
  const beginning = JSON.stringify(requests[1]?.messages.slice(0, 6));
  for (const { messages } of requests.slice(1)) assert.equal(JSON.stringify(messages.slice(0, 6)), beginning);
  assert.ok(JSON.stringify(requests[1]).length < 0.7 * JSON.stringify(messages).length);
  // Another history is another one.
  const other = await (await post({ messages: [...hi, ...rounds(27), ...hi], stream: true })).text();
  assert.ok(readCompletionStream(other).notes.some(({ phase }) => phase === "applied"));
  assert.deepEqual((await store.list({ tenant: "local" })).sessions, []);
});

Deno.test("canonicalMessages() copies no result of a round again for each that follows", () => {
  // Copies would be five billion here, in one request of 5 MB.
  const results = Array.from({ length: 100_000 }, (_, n) => ({
    role: "tool" as const,
    tool_call_id: `c${n}`,
    content: `${n}`,
  }));
  const [round, after, last, ...more] = canonicalMessages([
    ...results,
    { role: "user", content: "And?" },
    ...results.slice(0, 1),
  ]);
  assert.equal(round?.content.length, results.length);
  assert.deepEqual(after, { role: "user", content: "And?" });
  assert.equal(last?.content.length, 1);
  assert.deepEqual(more, []);
});
