/** `/v1/chat/completions`: answers, streamed or whole, settings, and what a client's going ends. */
import assert from "node:assert/strict";
import type { AppOptions } from "../../src/http/options.ts";
import { type Script, scripted } from "../../src/models/scripted.ts";
import { ManualClock } from "../support/clock.ts";
import { completionsApp } from "../support/completions_app.ts";
import { readCompletionStream } from "../support/openai_stream_rules.ts";
import { calls, modelOf, replies, tool } from "../support/turns.ts";

const look = tool("look", () => "seen");
const hi = [{ role: "user", content: "Hi" }];

function makeApp(script: Script, options: Partial<AppOptions> = {}) {
  let n = 0;
  return completionsApp(script, {
    agent: { system: "Be good.", tools: [look] },
    newId: (kind) => `${kind}${n++}`,
    ...options,
  });
}

Deno.test("POST /v1/chat/completions answers one completion", async () => {
  const { complete, requests } = makeApp(replies(calls("look", {}), { text: "I see." }));
  const { created, ...completion } = await complete({ messages: hi });
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
  const asked = { messages: hi, stream: true, stream_options: { include_usage: true } };
  const response = await post(asked);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const read = readCompletionStream(await response.text(), { includesUsage: true });
  assert.equal(read.content, "I see it.");
  assert.equal(read.reasoning, "So it is.");
  assert.equal(read.finish, "stop");
  assert.deepEqual(read.notes.map(({ type }) => type), ["tool.call", "tool.result"]);
  assert.ok(Number(read.usage?.prompt_tokens) > 0);
});

Deno.test("POST /v1/chat/completions holds back what is said before a tool where the answer is JSON", async () => {
  const say = { ...calls("look", {}), text: "Let me look." };
  const { complete, post } = makeApp(
    replies(say, { text: '{"a":1}' }, say, { text: '{"a":1}' }, say, { text: "Seen." }),
  );
  const format = { response_format: { type: "json_object" } };
  assert.equal((await complete({ messages: hi, ...format })).choices[0].message.content, '{"a":1}');
  const streamed = await (await post({ messages: hi, stream: true, ...format })).text();
  assert.equal(readCompletionStream(streamed).content, '{"a":1}');
  assert.equal((await complete({ messages: hi })).choices[0].message.content, "Let me look.\n\nSeen.");
});

Deno.test("POST /v1/chat/completions passes settings on", async () => {
  const { complete, requests } = makeApp(replies());
  await complete({
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
  const { complete, requests } = makeApp(replies());
  const content = [
    { type: "text", text: "What is it?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,aGk=", detail: "low" } },
    { type: "image_url", image_url: { url: "https://example.org/a.jpg" } },
    { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,aGk=" } },
    { type: "input_audio", input_audio: { data: "aGk=", format: "mp3" } },
  ];
  await complete({ messages: [{ role: "user", content }] });
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
    const response = await post({ messages, stream: true }, headers);
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
