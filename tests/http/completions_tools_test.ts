import assert from "node:assert/strict";
import { defineTool } from "../../src/loop/tools.ts";
import type { Script } from "../../src/models/scripted.ts";
import type { Json } from "../support/chat.ts";
import { completionsApp } from "../support/completions_app.ts";
import { readCompletionStream } from "../support/openai_stream_rules.ts";
import { calls, replies, tool } from "../support/turns.ts";
import * as z from "zod";

const look = tool("look", () => "seen");
const erase = defineTool({
  name: "erase",
  description: "Erases everything",
  input: z.object({}),
  needsApproval: () => true,
  execute: () => "gone",
});
const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "The weather",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
};
const ask = [{ role: "user", content: "Weather in Bern?" }];

function makeApp(script: Script) {
  return completionsApp(script, { agent: { tools: [look, erase] }, fields: { tools: [weather] } });
}

/** Steps of a turn: a tool of the service, then one of each side, then the answer. */
function steps(): Script {
  return replies(
    calls("look", { at: 1 }),
    {
      text: "Let me ask.",
      calls: [{ name: "look", input: { at: 2 } }, { name: "weather", input: { city: "Bern" } }],
    },
    { text: "It is warm." },
  );
}

/** The client's answer to the calls of a message. */
function answered(message: Json, content = "21 degrees"): Json[] {
  return [
    message,
    ...message.tool_calls.map(({ id }: Json) => ({ role: "tool", tool_call_id: id, content })),
  ];
}

const HEADERS = [{}, { "x-selvage-session": "s" }];

for (const headers of HEADERS) {
  const where = "x-selvage-session" in headers ? "in a session" : "without a session";

  Deno.test(`POST /v1/chat/completions ends with the client's calls alone, and goes on with their results, ${where}`, async () => {
    const { complete, requests, store } = makeApp(steps());
    const first = await complete({ messages: ask }, headers);
    const [{ message, finish_reason }] = first.choices;
    assert.equal(finish_reason, "tool_calls");
    assert.equal(message.content, "Let me ask.");
    assert.deepEqual(message.tool_calls.map((call: Json) => [call.type, call.function]), [
      ["function", { name: "weather", arguments: '{"city":"Bern"}' }],
    ]);
    assert.ok(message.tool_calls[0].id.length <= 40, message.tool_calls[0].id);

    const second = await complete({ messages: [...ask, ...answered(message)] }, headers);
    assert.equal(second.choices[0].message.content, "It is warm.");
    assert.equal(second.choices[0].finish_reason, "stop");
    assert.notEqual(second.id, first.id);
    // What the service's own tools gave is there, and each call has its result.
    const shown = requests[2]?.messages ?? [];
    assert.deepEqual(shown.map(({ role }) => role), ["user", "assistant", "tool", "assistant", "tool"]);
    const last = shown.at(-1);
    assert.deepEqual(
      last?.role === "tool" && last.content.map(({ toolName, output }) => [toolName, output]),
      [
        ["look", { type: "text", value: "seen" }],
        ["weather", { type: "text", value: "21 degrees" }],
      ],
    );
    assert.deepEqual(requests.map(({ tools }) => tools.map(({ name }) => name).includes("weather")), [
      true,
      true,
      true,
    ]);
    const { sessions } = await store.list({ tenant: "local" });
    assert.equal(sessions.length, "x-selvage-session" in headers ? 1 : 0);
  });

  Deno.test(`POST /v1/chat/completions streams the client's calls, ${where}`, async () => {
    const { post } = makeApp(steps());
    const body = { messages: ask, stream: true, stream_options: { include_usage: true } };
    const first = readCompletionStream(await (await post(body, headers)).text(), { includesUsage: true });
    assert.equal(first.finish, "tool_calls");
    assert.deepEqual(first.calls.map(({ name, arguments: args }) => [name, args]), [[
      "weather",
      '{"city":"Bern"}',
    ]]);
    assert.deepEqual(first.notes.filter(({ type }) => type === "tool.call").map(({ name }) => name), [
      "look",
      "look",
    ]);
    const message = {
      role: "assistant",
      content: first.content,
      tool_calls: first.calls.map(({ id, ...call }) => ({ id, type: "function", function: call })),
    };
    const next = await post({ ...body, messages: [...ask, ...answered(message)] }, headers);
    const second = readCompletionStream(await next.text(), { includesUsage: true });
    assert.equal(second.content, "It is warm.");
    assert.ok(!second.notes.some(({ name }) => name === "weather"), "the client knows its own results");
  });

  Deno.test(`POST /v1/chat/completions tells the cost of each response once, ${where}`, async () => {
    const { complete } = makeApp(steps());
    const first = await complete({ messages: ask }, headers);
    const second = await complete({ messages: [...ask, ...answered(first.choices[0].message)] }, headers);
    const { app } = makeApp(steps());
    const whole = await (await app.request("/v1/turns", {
      method: "POST",
      body: JSON.stringify({ input: "Weather in Bern?", stream: false }),
    })).json();
    assert.ok(whole.usage.outputTokens > 0);
    assert.equal(
      first.usage.completion_tokens + second.usage.completion_tokens,
      whole.usage.outputTokens,
    );
    assert.ok(second.usage.prompt_tokens < first.usage.prompt_tokens, "one model call costs less than two");
  });

  Deno.test(`POST /v1/chat/completions takes results one by one, ${where}`, async () => {
    const both = calls("weather", { city: "Bern" }, { city: "Rome" });
    const { complete } = makeApp(replies(both, { text: "Warm in both." }));
    const { message } = (await complete({ messages: ask }, headers)).choices[0];
    const [one, other] = message.tool_calls;
    const result = (call: Json) => ({ role: "tool", tool_call_id: call.id, content: "21 degrees" });
    const half = await complete({ messages: [...ask, message, result(one)] }, headers);
    assert.equal(half.choices[0].finish_reason, "tool_calls");
    assert.deepEqual(half.choices[0].message.tool_calls.map(({ id }: Json) => id), [other.id]);
    const rest = await complete({ messages: [...ask, message, result(other)] }, headers);
    assert.equal(rest.choices[0].message.content, "Warm in both.");
  });
}

for (const headers of HEADERS) {
  const where = "x-selvage-session" in headers ? "in a session" : "without a session";

  Deno.test(`POST /v1/chat/completions takes results and a new message behind them, ${where}`, async () => {
    const { complete, post, requests } = makeApp(steps());
    const { message } = (await complete({ messages: ask }, headers)).choices[0];
    const messages = [...ask, ...answered(message), { role: "user", content: "In one word." }];
    const keyed = { ...headers, "idempotency-key": "k" };
    const second = await (await post({ messages }, keyed)).json();
    assert.equal(second.choices[0].message.content, "It is warm.");
    const again = await post({ messages }, keyed);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.equal((await again.json()).id, second.id);
    const shown = requests.at(-1)?.messages ?? [];
    // What the service's own tools gave is there, too.
    assert.deepEqual(shown.map(({ role }) => role), [
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "user",
    ]);
    assert.deepEqual(shown.at(-1)?.content, "In one word.");
    const next = await complete({
      messages: [...messages, second.choices[0].message, { role: "user", content: "Thanks." }],
    }, headers);
    assert.equal(next.choices[0].finish_reason, "stop");
    if ("x-selvage-session" in headers) assert.equal(requests.at(-1)?.messages.length, 8);
  });
}

Deno.test("POST /v1/chat/completions refuses a new message in a session while some results are not there", async () => {
  const { post, complete } = makeApp(replies(calls("weather", { n: 1 }, { n: 2 })));
  const headers = { "x-selvage-session": "s" };
  const { message } = (await complete({ messages: ask }, headers)).choices[0];
  const messages = [...ask, ...answered(message).slice(0, 2), { role: "user", content: "Well?" }];
  const response = await post({ messages }, headers);
  assert.deepEqual([response.status, (await response.json()).error.code], [409, "turn_paused"]);
  const whole = await complete({ messages: [...ask, ...answered(message)] }, headers);
  assert.equal(whole.choices[0].finish_reason, "stop");
  // Answered before: the new message begins a turn of its own.
  const old = [...ask, ...answered(message), { role: "user", content: "Well?" }];
  assert.equal((await complete({ messages: old }, headers)).choices[0].finish_reason, "stop");
});

Deno.test("POST /v1/chat/completions goes on from the history where the turn that waited is gone", async () => {
  const { complete } = makeApp(steps());
  const { message } = (await complete({ messages: ask })).choices[0];
  const other = makeApp(replies({ text: "It is warm." }));
  const second = await other.complete({ messages: [...ask, ...answered(message)] });
  assert.equal(second.choices[0].message.content, "It is warm.");
  assert.deepEqual(other.requests[0]?.messages.map(({ role }) => role), ["user", "assistant", "tool"]);
});

Deno.test("POST /v1/chat/completions keeps the turns that wait while there is room, and then the newest", async () => {
  const { app, complete, requests } = makeApp(({ messages }) => {
    const { content } = messages.at(-1) ?? {};
    if (messages.at(-1)?.role === "user") return { calls: [{ name: "look", input: {} }] };
    return JSON.stringify(content).includes("21 degrees")
      ? { text: "It is warm." }
      : { calls: [{ name: "weather", input: {} }] };
  });
  // Blank, so that only its size costs anything: nine of them are more than is kept.
  const padding = " ".repeat(7_800_000);
  const asked: { readonly question: Json; readonly message: Json }[] = [];
  for (let n = 0; n < 9; n++) {
    const question = { role: "user", content: `Weather in town ${n}?` };
    const body = JSON.stringify({ model: "default", messages: [question], tools: [weather] }) + padding;
    const response = await app.request("/v1/chat/completions", { method: "POST", body });
    asked.push({ question, message: (await response.json()).choices[0].message });
  }
  const shown = async ({ question, message }: (typeof asked)[number]) => {
    await complete({ messages: [question, ...answered(message)] });
    return requests.at(-1)?.messages.map(({ role }) => role);
  };
  const whole = ["user", "assistant", "tool", "assistant", "tool"];
  for (const turn of asked.slice(1)) assert.deepEqual(await shown(turn), whole);
  // What the service's own tool gave went with it.
  assert.deepEqual(await shown(asked[0]!), ["user", "assistant", "tool"]);
});

Deno.test("POST /v1/chat/completions gives the same answer to results that are sent twice", async () => {
  const script = replies(calls("weather", {}), { text: "Warm." }, { text: "Warm, again." });
  const { complete } = makeApp(script);
  const { message } = (await complete({ messages: ask })).choices[0];
  const messages = [...ask, ...answered(message)];
  assert.equal((await complete({ messages })).choices[0].message.content, "Warm.");
  // Asked again without a key it is another request, and its history says all that there is to know.
  assert.equal((await complete({ messages })).choices[0].message.content, "Warm, again.");
});

Deno.test("POST /v1/chat/completions does a request with an idempotency key once", async () => {
  for (const headers of HEADERS) {
    const { post, requests } = makeApp(replies(calls("weather", {}), { text: "Warm." }));
    const keyed = (key: string) => ({ ...headers, "idempotency-key": key });
    const first = await post({ messages: ask }, keyed("one"));
    const { choices: [{ message }], id } = await first.json();
    const again = await post({ messages: ask }, keyed("one"));
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.equal((await again.json()).id, id);
    const messages = [...ask, ...answered(message)];
    const second = await (await post({ messages }, keyed("two"))).json();
    assert.equal(second.choices[0].message.content, "Warm.");
    const replayed = await (await post({ messages }, keyed("two"))).json();
    assert.deepEqual([replayed.id, replayed.choices[0].message], [second.id, second.choices[0].message]);
    assert.equal(requests.length, 2);
    const reused = await post({ messages: [{ role: "user", content: "Else" }] }, keyed("one"));
    assert.equal(reused.status, 422);
  }
});

Deno.test("POST /v1/chat/completions refuses a new question while the session waits for results", async () => {
  const { post, complete } = makeApp(replies(calls("weather", {})));
  const headers = { "x-selvage-session": "s" };
  await complete({ messages: ask }, headers);
  const response = await post({ messages: [{ role: "user", content: "Never mind" }] }, headers);
  assert.equal(response.status, 409);
  assert.equal(response.headers.get("x-should-retry"), "false");
  assert.equal((await response.json()).error.code, "turn_paused");
});

Deno.test("POST /v1/chat/completions refuses a tool that is called as one of the service", async () => {
  const { post } = makeApp(replies());
  const tools = [{ type: "function", function: { name: "look" } }];
  const response = await post({ messages: ask, tools });
  assert.equal(response.status, 400);
  assert.equal((await response.json()).error.param, "tools");
});

Deno.test("POST /v1/chat/completions lets no call pass that a person would have to allow, where nobody can be asked", async () => {
  const { complete, requests } = makeApp(replies(calls("erase", {}), { text: "I may not." }));
  const completion = await complete({ messages: ask });
  assert.equal(completion.choices[0].message.content, "I may not.");
  const last = requests[1]?.messages.at(-1);
  assert.equal(last?.role === "tool" && last.content[0]?.output.type, "execution-denied");
});

Deno.test("POST /v1/chat/completions says in a session that a call waits for a person, who answers by the turn's own route", async () => {
  const { app, complete, post } = makeApp(replies(calls("erase", {}), { text: "Erased." }));
  const completion = await complete({ messages: ask }, { "x-selvage-session": "s" });
  assert.equal(completion.choices[0].finish_reason, "stop");
  const note = completion.selvage.find(({ type }: Json) => type === "turn.paused");
  const answer = await app.request(`/v1/turns/${note.turn}/results`, {
    method: "POST",
    body: JSON.stringify({ approvals: [{ ref: note.pending[0].ref, approved: true }], stream: false }),
  });
  assert.equal((await answer.json()).text, "Erased.");
  assert.equal((await post({ messages: ask }, { "x-selvage-session": "s" })).status, 200);
});
