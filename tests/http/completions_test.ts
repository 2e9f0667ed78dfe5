import assert from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import type { AppOptions } from "../../src/http/options.ts";
import { type Script, scripted } from "../../src/models/scripted.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Json } from "../support/chat.ts";
import { ManualClock } from "../support/clock.ts";
import { readCompletionStream } from "../support/openai_stream_rules.ts";
import { calls, modelOf, prose, replies, tool } from "../support/turns.ts";

const look = tool("look", () => "seen");

/** An app, and what its model was asked. */
function makeApp(script: Script, options: Partial<AppOptions> = {}) {
  const requests: ModelRequest[] = [];
  const watched: Script = (request) => {
    requests.push(structuredClone(request));
    return script(request);
  };
  const store = memoryStore();
  let n = 0;
  const app = createApp({
    agents: { default: { model: scripted({ script: watched }), system: "Be good.", tools: [look] } },
    store,
    newId: (kind) => `${kind}${n++}`,
    ...options,
  });
  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    Promise.resolve(app.request("/v1/chat/completions", {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers,
    }));
  const ask = async (body: Json, headers: Record<string, string> = {}): Promise<Json> =>
    await (await post({ model: "default", ...body }, headers)).json();
  return { app, post, ask, requests, store };
}

const hi = [{ role: "user", content: "Hi" }];

Deno.test("POST /v1/chat/completions answers one completion", async () => {
  const { ask, requests } = makeApp(replies(calls("look", {}), { text: "I see." }));
  const { created, ...completion } = await ask({ messages: hi });
  assert.ok(Math.abs(created - Date.now() / 1_000) < 600);
  assert.match(completion.system_fingerprint, /^fp_\w+$/);
  assert.deepEqual({ ...completion, usage: 0, system_fingerprint: 0 }, {
    id: "chatcmpl-turn1",
    object: "chat.completion",
    model: "default",
    system_fingerprint: 0,
    choices: [{
      index: 0,
      message: { role: "assistant", content: "I see.", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    }],
    usage: 0,
    selvage: [
      { type: "tool.call", step: 1, call: 0, ref: "e1.0", name: "look", input: {} },
      {
        type: "tool.result",
        step: 1,
        call: 0,
        ref: "e1.0",
        name: "look",
        status: "ok",
        ms: completion.selvage[1].ms,
      },
    ],
  });
  assert.equal(
    completion.usage.total_tokens,
    completion.usage.prompt_tokens + completion.usage.completion_tokens,
  );
  assert.equal(requests.length, 2);
});

Deno.test("POST /v1/chat/completions streams chunks as clients expect them", async () => {
  const { post } = makeApp(replies(calls("look", {}), { reasoning: "So it is.", text: "I see it." }));
  const asked = { model: "default", messages: hi, stream: true, stream_options: { include_usage: true } };
  const response = await post(asked);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const read = readCompletionStream(await response.text(), { includesUsage: true });
  assert.equal(read.content, "I see it.");
  assert.equal(read.reasoning, "So it is.");
  assert.equal(read.finish, "stop");
  assert.deepEqual(read.notes.map(({ type }) => type), ["tool.call", "tool.result"]);
  assert.ok(Number(read.usage?.prompt_tokens) > 0);
});

Deno.test("POST /v1/chat/completions keeps nothing of a client that keeps its history itself", async () => {
  const { app, ask, requests, store } = makeApp(replies({ text: "One." }, { text: "Two." }));
  await ask({ messages: hi });
  const messages = [
    { role: "system", content: "Be brief." },
    ...hi,
    { role: "assistant", content: "One." },
    { role: "user", content: "And?" },
  ];
  assert.equal((await ask({ messages })).choices[0].message.content, "Two.");
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
  const { ask, requests } = makeApp(
    replies(calls("look", {}), { text: "One." }, { text: "Two." }, { text: "3" }),
  );
  const headers = { "x-selvage-session": "s" };
  await ask({ messages: hi }, headers);
  // The new message alone.
  await ask({ messages: [{ role: "user", content: "Next" }] }, headers);
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
  assert.equal((await ask({ messages: history }, headers)).choices[0].message.content, "3");
  assert.equal(requests[3]?.messages.length, 7);
});

Deno.test("POST /v1/chat/completions begins a session with the history that comes first", async () => {
  const { ask, requests } = makeApp(replies({ text: "Two." }, { text: "Three." }));
  const headers = { "x-selvage-session": "s" };
  const messages = [...hi, { role: "assistant", content: "One." }, { role: "user", content: "Next" }];
  await ask({ messages }, headers);
  await ask({ messages: [{ role: "user", content: "Last" }] }, headers);
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
  await (await post({ model: "default", messages: hi }, headers)).json();
  const messages = [{ role: "user", content: "Ho" }, { role: "assistant", content: "One." }, ...hi];
  const response = await post({ model: "default", messages }, headers);
  assert.equal(response.status, 409);
  assert.equal(response.headers.get("x-should-retry"), "false");
  const { error } = await response.json();
  assert.equal(error.code, "history_mismatch");
});

Deno.test("POST /v1/chat/completions leaves the log of its session where the history was edited", async () => {
  const { app, ask, requests } = makeApp(({ messages }) => ({ text: `${messages.length} so far.` }));
  const headers = { "x-selvage-session": "s" };
  const say = (content: string) => ({ role: "user", content });
  const heard = { role: "assistant", content: "…" };
  await ask({ messages: [say("One")] }, headers);
  await ask({ messages: [say("Two")] }, headers);
  await ask({ messages: [say("Three")] }, headers);
  // The last question again, as after an answer that nobody liked; then another one in the place of the second.
  await ask({ messages: [say("One"), heard, say("Two"), heard, say("Three")] }, headers);
  await ask({ messages: [say("One"), heard, say("Zwei")] }, headers);
  const asked = requests.slice(-2).map(({ messages }) =>
    messages.filter(({ role }) => role === "user").map(({ content }) => content)
  );
  assert.deepEqual(asked, [["One", "Two", "Three"], ["One", "Zwei"]]);
  const session = await (await app.request("/v1/sessions/s")).json();
  assert.equal(session.branches.length, 3, "what was left can be read");
});

Deno.test("POST /v1/chat/completions goes on from results that the client sends with its history", async () => {
  const { ask, requests } = makeApp(replies({ text: "It is warm." }));
  const call = { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } };
  const messages = [
    { role: "developer", content: "Be brief." },
    { role: "user", content: "Weather?" },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: "21 degrees" },
  ];
  const body = { messages, temperature: 0.5 };
  const completion = await ask(body);
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

Deno.test("POST /v1/chat/completions holds back what is said before a tool where the answer is JSON", async () => {
  const say = { ...calls("look", {}), text: "Let me look." };
  const { ask, post } = makeApp(
    replies(say, { text: '{"a":1}' }, say, { text: '{"a":1}' }, say, { text: "Seen." }),
  );
  const format = { response_format: { type: "json_object" } };
  assert.equal((await ask({ messages: hi, ...format })).choices[0].message.content, '{"a":1}');
  const streamed = await (await post({ model: "default", messages: hi, stream: true, ...format })).text();
  assert.equal(readCompletionStream(streamed).content, '{"a":1}');
  assert.equal((await ask({ messages: hi })).choices[0].message.content, "Let me look.\n\nSeen.");
});

Deno.test("POST /v1/chat/completions passes settings on", async () => {
  const { ask, requests } = makeApp(replies());
  await ask({
    messages: hi,
    temperature: 0.1,
    top_p: 0.2,
    presence_penalty: 0.3,
    frequency_penalty: null,
    stop: "END",
    seed: 5,
    max_tokens: 100,
    reasoning_effort: "low",
    tool_choice: { type: "function", function: { name: "look" } },
    parallel_tool_calls: false,
    response_format: {
      type: "json_schema",
      json_schema: { name: "a", schema: { type: "object" }, strict: true },
    },
    user: "u1",
    metadata: { any: "thing" },
    something_new: 1,
  });
  assert.deepEqual(requests[0]?.settings, {
    temperature: 0.1,
    topP: 0.2,
    presencePenalty: 0.3,
    stop: ["END"],
    seed: 5,
    maxOutput: 100,
    effort: "low",
    toolChoice: { tool: "look" },
    parallelToolCalls: false,
    format: { kind: "json-schema", name: "a", schema: { type: "object" }, strict: true },
  });
  assert.equal(requests[0]?.maxOutput, 100);
});

Deno.test("POST /v1/chat/completions takes images, files and audio", async () => {
  const { ask, requests } = makeApp(replies());
  const content = [
    { type: "text", text: "What is it?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,aGk=", detail: "low" } },
    { type: "image_url", image_url: { url: "https://example.org/a.jpg" } },
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,aGk=" } },
    { type: "input_audio", input_audio: { data: "aGk=", format: "mp3" } },
  ];
  await ask({ messages: [{ role: "user", content }] });
  assert.deepEqual(requests[0]?.messages[0]?.content, [
    { type: "text", text: "What is it?" },
    { type: "file", mediaType: "image/png", data: "aGk=" },
    { type: "file", mediaType: "image/*", data: "https://example.org/a.jpg" },
    { type: "file", mediaType: "application/pdf", data: "aGk=", filename: "a.pdf" },
    { type: "file", mediaType: "audio/mpeg", data: "aGk=" },
  ]);
});

Deno.test("GET /v1/models lists the agents", async () => {
  const clock = new ManualClock();
  const { app } = makeApp(replies(), { clock });
  const list = await (await app.request("/v1/models")).json();
  const model = {
    id: "default",
    object: "model",
    created: Math.floor(clock.now() / 1_000),
    owned_by: "selvage",
  };
  assert.deepEqual(list, { object: "list", data: [model] });
  assert.deepEqual(await (await app.request("/v1/models/default")).json(), model);
  const missing = await app.request("/v1/models/gpt-9");
  assert.equal(missing.status, 404);
  assert.equal((await missing.json()).error.code, "model_not_found");
});

/** Rounds of a long history. */
function rounds(count: number): Json[] {
  return Array.from({ length: count }, (_, n) => [
    { role: "user", content: `Question ${n}: ${prose(400, n)}` },
    { role: "assistant", content: `Answer ${n}: ${prose(400, n + 500)}` },
  ]).flat();
}

Deno.test("POST /v1/chat/completions compacts a history that comes again and again once", async () => {
  const model = (script: Script) => scripted({ script, window: 8_000, maxOutput: 500 });
  const requests: ModelRequest[] = [];
  const script: Script = (request) => {
    requests.push(structuredClone(request));
    return { text: `Said ${requests.length}.` };
  };
  const { post, store } = makeApp(script, { agents: { default: { model: model(script) } } });
  const messages: Json[] = rounds(27);
  const phases: string[][] = [];
  for (let n = 0; n < 4; n++) {
    messages.push({ role: "user", content: `And ${n}?` });
    const body = await (await post({ model: "default", messages, stream: true })).text();
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
  const other =
    await (await post({ model: "default", messages: [...hi, ...rounds(27), ...hi], stream: true }))
      .text();
  assert.ok(readCompletionStream(other).notes.some(({ phase }) => phase === "applied"));
  assert.deepEqual((await store.list({ tenant: "local" })).sessions, []);
});

Deno.test("POST /v1/chat/completions loses no delta of 200 streams at a time", async () => {
  const words = Array.from({ length: 100 }, (_, n) => `${n}`).join(" ");
  const model = scripted({
    script: ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role !== "tool") return calls("look", {});
      const [first] = messages;
      return { text: `${typeof first?.content === "string" ? first.content : ""} ${words}` };
    },
    pause: () => Promise.resolve(),
  });
  const { post } = makeApp(replies(), { agents: { default: { model, tools: [look] } } });
  const all = await Promise.all(Array.from({ length: 200 }, async (_, n) => {
    const messages = [{ role: "user", content: `Stream ${n}` }];
    const headers: Record<string, string> = n % 2 === 0 ? {} : { "x-selvage-session": `s${n}` };
    const response = await post({ model: "default", messages, stream: true }, headers);
    const { content, deltas } = readCompletionStream(await response.text());
    assert.equal(content, `Stream ${n} ${words}`);
    return deltas;
  }));
  assert.equal(all.reduce((sum, deltas) => sum + deltas, 0), 200 * 102);
});

Deno.test("POST /v1/chat/completions ends its turn when the client goes, with and without a stream", async () => {
  for (const stream of [true, false]) {
    const gone = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const model = modelOf(async function* (_, signal) {
      yield { type: "text.delta", text: "One" };
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      gone.resolve();
      throw signal.reason;
    });
    const { app } = makeApp(replies(), { agents: { default: { model } } });
    const stop = new AbortController();
    const body = JSON.stringify({ model: "default", messages: hi, stream });
    const request = new Request("http://localhost/v1/chat/completions", {
      method: "POST",
      body,
      signal: stop.signal,
    });
    const responding = Promise.resolve(app.request(request));
    if (stream) {
      const reader = (await responding).body?.getReader();
      await reader?.read();
      await reader?.read();
      await begun.promise;
      await reader?.cancel();
    } else {
      await begun.promise;
      stop.abort();
      await (await responding).body?.cancel();
    }
    await gone.promise;
  }
});
