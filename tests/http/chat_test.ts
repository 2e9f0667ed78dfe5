/** `/api/chat`: the stream of a turn, what clients send, history, resume, refusals. */
import assert from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import type { App } from "../../src/http/app.ts";
import { type Script, scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Agent } from "../../src/loop/agent.ts";
import { calls, prose, replies, tool } from "../support/turns.ts";
import { assertUiOrder, readUiStream } from "../support/ui_stream_rules.ts";

// deno-lint-ignore no-explicit-any -- chunks and messages are looked at field by field
type Json = any;

const tools = [
  tool("read", ({ n, length }) => prose(Number(length), Number(n))),
  tool("fail", () => {
    throw new Error("no disk");
  }),
  tool("json", () => ({ a: [1, null] })),
];

function appOf(script: Script, agent: Partial<Agent> = {}, window?: number): { app: App; asked: Json[] } {
  const asked: Json[] = [];
  const model = scripted({
    script: (request) => {
      asked.push(structuredClone(request.messages));
      return script(request);
    },
    maxOutput: 500,
    ...(window === undefined ? {} : { window }),
  });
  return { app: createApp({ agents: { default: { model, tools, ...agent } }, store: memoryStore() }), asked };
}

function text(id: string, words: string): Json {
  return { id, role: "user", parts: [{ type: "text", text: words }] };
}

async function post(app: App, body: Json): Promise<Response> {
  return await app.request("/api/chat", { method: "POST", body: JSON.stringify({ id: "c", ...body }) });
}

/** Sends and reads a turn; its chunks without what has no place in a message. */
async function send(app: App, body: Json): Promise<Json[]> {
  const chunks = await readUiStream(await post(app, body));
  assertUiOrder(chunks);
  return chunks;
}

async function history(app: App, query = ""): Promise<Json[]> {
  return await (await app.request(`/api/chat/c${query}`)).json();
}

/** Texts of messages, one letter for the role before each. */
function outline(messages: readonly Json[]): string[] {
  return messages.map(({ role, parts }) =>
    `${role[0]} ${parts.map((part: Json) => part.text ?? "").join("")}`
  );
}

Deno.test("POST /api/chat streams a turn, and GET gives the messages that it came to", async () => {
  const { app } = appOf(replies(
    {
      reasoning: "Hm.",
      text: "Let me look.",
      calls: [{ name: "json", input: {} }, { name: "fail", input: { a: 1 } }],
    },
    { text: "Done." },
  ));
  const chunks = await send(app, { messages: [text("u1", "Hi")], trigger: "submit-message" });
  const kinds = chunks.map(({ type }) => type).filter((type) => !type.endsWith("-delta"));
  assert.deepEqual(kinds, [
    "start",
    "start-step",
    "reasoning-start",
    "reasoning-end",
    "text-start",
    "tool-input-start",
    "tool-input-start",
    "text-end",
    "data-context",
    "tool-input-available",
    "tool-input-available",
    "tool-output-available",
    "data-context",
    "tool-output-error",
    "data-context",
    "finish-step",
    "start-step",
    "text-start",
    "text-end",
    "data-context",
    "finish-step",
    "finish",
  ]);
  const [{ messageId }] = chunks as [Json];
  const finish = chunks.at(-1);
  assert.equal(finish.finishReason, "stop");
  const [user, assistant] = await history(app);
  assert.deepEqual(user, text("u1", "Hi"));
  assert.equal(assistant.id, messageId);
  assert.deepEqual(assistant.metadata, { model: "scripted", ...finish.messageMetadata });
  assert.ok(finish.messageMetadata.usage.totalTokens > 0);
  assert.deepEqual(assistant.parts, [
    { type: "step-start" },
    { type: "reasoning", id: "1-0", text: "Hm.", state: "done" },
    { type: "text", text: "Let me look.", state: "done" },
    { type: "tool-json", toolCallId: "e1_0", state: "output-available", input: {}, output: { a: [1, null] } },
    {
      type: "tool-fail",
      toolCallId: "e1_1",
      state: "output-error",
      input: { a: 1 },
      errorText: "fail failed: no disk",
    },
    { type: "step-start" },
    { type: "text", text: "Done.", state: "done" },
  ]);
});

Deno.test("POST /api/chat goes on with the log, whether it is sent the whole history or the last message", async () => {
  const { app, asked } = appOf(replies({ text: "1" }, { text: "2" }, { text: "3" }));
  await send(app, { messages: [text("u1", "a")] });
  const first = await history(app);
  await send(app, { messages: [...first, text("u2", "b")] });
  await send(app, { message: text("u3", "c") });
  assert.deepEqual(outline(await history(app)), ["u a", "a 1", "u b", "a 2", "u c", "a 3"]);
  assert.equal(asked.at(-1)?.length, 5);
  const session = await (await app.request("/v1/sessions/c")).json();
  assert.equal(session.branches.length, 1);
});

Deno.test("POST /api/chat forks where a message is edited, answered anew, or taken out", async () => {
  const { app, asked } = appOf(replies(...Array.from({ length: 9 }, (_, n) => ({ text: `${n}` }))));
  await send(app, { messages: [text("u1", "a")] });
  await send(app, { messages: [...await history(app), text("u2", "b")] });
  const whole = await history(app);
  // As the client does it: the message is the same, its text is another, what came after is gone.
  await send(app, { messages: [...whole.slice(0, 2), text("u2", "edited")], messageId: "u2" });
  assert.deepEqual(outline(await history(app)), ["u a", "a 0", "u edited", "a 2"]);
  assert.deepEqual(outline(await history(app, "?branch=0")), ["u a", "a 0", "u b", "a 1"]);
  const { parts: _, ...again } = { ...whole[0] };
  assert.equal(again.id, "u1");
  await send(app, { messages: [whole[0]], trigger: "regenerate-message", messageId: whole[1].id });
  assert.deepEqual(outline(await history(app)), ["u a", "a 3"]);
  assert.equal(asked.at(-1)?.length, 1);
  // The last message only: known, it stands in place of what it was.
  await send(app, { message: text("u9", "new") });
  await send(app, { message: text("u9", "newer") });
  assert.deepEqual(outline(await history(app)), ["u a", "a 3", "u newer", "a 5"]);
  await send(app, { trigger: "regenerate-message" });
  assert.deepEqual(outline(await history(app)), ["u a", "a 3", "u newer", "a 6"]);
  const { branches } = await (await app.request("/v1/sessions/c")).json();
  assert.equal(branches.length, 5);
});

Deno.test("POST /api/chat takes a history along that it has never seen", async () => {
  const { app, asked } = appOf(replies({ text: "yes" }, { text: "more" }));
  const messages = [
    text("x1", "before"),
    {
      id: "x2",
      role: "assistant",
      metadata: { by: "another" },
      parts: [
        { type: "step-start" },
        { type: "tool-read", toolCallId: "q", state: "output-available", input: { n: 1 }, output: "found" },
        { type: "step-start" },
        { type: "text", text: "It is there.", state: "done" },
      ],
    },
    text("x3", "and now?"),
  ];
  await send(app, { messages });
  assert.deepEqual(asked[0]?.map(({ role }: Json) => role), [
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
  const known = await history(app);
  assert.deepEqual(known[0], messages[0]);
  assert.deepEqual([known[1].id, known[1].metadata], ["x2", { by: "another" }]);
  assert.equal(known.length, 4);
  await send(app, { messages: [...known, text("x4", "go on")] });
  assert.equal((await (await app.request("/v1/sessions/c")).json()).branches.length, 1);
  assert.deepEqual(asked[1]?.slice(0, 5), asked[0]);
});

Deno.test("POST /api/chat tells of the context by the way, and keeps compactions in the message", async () => {
  const steps = Array.from({ length: 20 }, (_, n) => calls("read", { n, length: 1_500 }));
  const { app } = appOf(replies(...steps, { text: "All done." }), { maxSteps: 30 }, 8_000);
  const chunks = await send(app, { messages: [text("u1", "work")] });
  const kept = chunks.filter(({ type, transient }) => type === "data-compaction" && transient !== true);
  assert.ok(kept.length >= 2);
  assert.ok(chunks.filter(({ type }) => type === "data-context").every(({ transient }) => transient));
  const [, assistant] = await history(app);
  const stored = assistant.parts.filter(({ type }: Json) => type === "data-compaction");
  assert.deepEqual(stored, kept);
  // In the same place: behind the same number of steps.
  const stepsBefore = (list: Json[], step: string): number[] =>
    list.flatMap(({ type, transient }, at) =>
      type === "data-compaction" && transient !== true
        ? [list.slice(0, at).filter(({ type }) => type === step).length]
        : []
    );
  assert.deepEqual(stepsBefore(assistant.parts, "step-start"), stepsBefore(chunks, "start-step"));
});

Deno.test("POST /api/chat keeps files, metadata and parts of its client's own", async () => {
  const { app, asked } = appOf(replies({ text: "A dot." }));
  const message = {
    id: "u1",
    role: "user",
    metadata: { from: "phone" },
    parts: [
      { type: "text", text: "What is it?" },
      {
        type: "file",
        mediaType: "image/png",
        url: "data:image/png;base64,iVBORw0KGgo=",
        filename: "dot.png",
      },
      { type: "data-place", data: { x: 1 } },
    ],
  };
  await send(app, { messages: [message], extra: "of the user's own" });
  assert.deepEqual((await history(app))[0], message);
  assert.equal(asked[0]?.[0].content[1].mediaType, "image/png");
});

Deno.test("POST /api/chat pauses for a client's tool and goes on with its answer, in the same message", async () => {
  const ask = { ...tool("ask", () => ""), execute: undefined };
  const { execute: _, ...client } = ask;
  const { app, asked } = appOf(
    replies({ text: "Hm.", calls: [{ name: "ask", input: { q: "why" } }, { name: "json", input: {} }] }, {
      text: "I see.",
    }),
    { tools: [...tools, client] },
  );
  const chunks = await send(app, { messages: [text("u1", "Hi")] });
  assert.deepEqual(chunks.slice(-2).map(({ type }) => type), ["finish-step", "finish"]);
  assert.equal(chunks.at(-1).finishReason, "tool-calls");
  const [user, assistant] = await history(app);
  const at = assistant.parts.findIndex(({ type }: Json) => type === "tool-ask");
  assert.equal(assistant.parts[at].state, "input-available");
  assert.equal((await app.request("/api/chat/c/stream")).status, 204);
  const refused = await post(app, { messages: [user, assistant] });
  assert.equal(refused.status, 400);
  const parts = assistant.parts.with(at, {
    ...assistant.parts[at],
    state: "output-available",
    output: "because",
  });
  const answered = { ...assistant, parts };
  const response = await post(app, { messages: [user, answered], messageId: assistant.id });
  const more = await readUiStream(response);
  assertUiOrder(more, ["e1_0"]);
  assert.deepEqual(more[0], { type: "start", messageId: assistant.id });
  assert.deepEqual(more.filter(({ type }) => /step|output/.test(type)).map(({ type }) => type), [
    "tool-output-available",
    "start-step",
    "finish-step",
  ]);
  const [, whole] = await history(app);
  assert.equal(whole.id, assistant.id);
  assert.equal(whole.parts.at(-1).text, "I see.");
  assert.equal(asked[1]?.at(-1).content.length, 2);
  // Answered once, it does not wait any more.
  assert.equal((await post(app, { messages: [user, answered] })).status, 409);
});

for (const approved of [true, false]) {
  Deno.test(`POST /api/chat asks for an approval; ${approved ? "allowed" : "denied"} it goes on`, async () => {
    let runs = 0;
    const remove = { ...tool("remove", () => `removed ${++runs}`), needsApproval: () => true };
    const { app } = appOf(replies(calls("remove", { path: "x" }), { text: "Well." }), { tools: [remove] });
    const chunks = await send(app, { messages: [text("u1", "Hi")] });
    const asks = chunks.find(({ type }) => type === "tool-approval-request");
    const [user, assistant] = await history(app);
    const part = assistant.parts[1];
    assert.equal(part.state, "approval-requested");
    assert.deepEqual(part.approval, { id: asks.approvalId });
    const approval = { id: asks.approvalId, approved, reason: "my word" };
    const answered = { ...part, state: "approval-responded", approval };
    const sent = { ...assistant, parts: assistant.parts.with(1, answered) };
    const more = await readUiStream(await post(app, { messages: [user, sent], messageId: assistant.id }));
    assertUiOrder(more, ["e1_0"]);
    const [, outcome] = more.filter(({ type }) => !type.startsWith("data-"));
    assert.equal(outcome.type, approved ? "tool-output-available" : "tool-output-denied");
    assert.equal(runs, approved ? 1 : 0);
    const [, whole] = await history(app);
    assert.equal(whole.parts[1].state, approved ? "output-available" : "output-denied");
    assert.deepEqual(whole.parts[1].approval, approval);
  });
}

Deno.test("GET /api/chat/:id tells a call that was allowed from one that waits for the client", async () => {
  const { execute: _, ...ask } = tool("ask", () => "");
  const remove = { ...tool("remove", () => "removed"), needsApproval: () => true };
  const both = { calls: [{ name: "ask", input: {} }, { name: "remove", input: {} }] };
  const { app } = appOf(replies(both, { text: "Well." }), { tools: [ask, remove] });
  await send(app, { messages: [text("u1", "Hi")] });
  const [user, assistant] = await history(app);
  const approval = { id: "e1_1", approved: true, reason: "my word" };
  const allowed = { ...assistant.parts[2], state: "approval-responded", approval };
  const sent = { ...assistant, parts: assistant.parts.with(2, allowed) };
  await readUiStream(await post(app, { messages: [user, sent] }));
  const [, waiting] = await history(app);
  // As the client has it: a page that is opened anew goes on once the other call is answered.
  assert.deepEqual(waiting.parts.slice(1), [assistant.parts[1], allowed]);
  const answered = { ...waiting.parts[1], state: "output-available", output: "yes" };
  await readUiStream(
    await post(app, { messages: [user, { ...waiting, parts: waiting.parts.with(1, answered) }] }),
  );
  const [, whole] = await history(app);
  assert.deepEqual(
    whole.parts.slice(1, 3).map(({ state }: { state: string }) => state),
    ["output-available", "output-available"],
  );
  assert.deepEqual(whole.parts[2].approval, approval);
});

Deno.test("POST /api/chat: a new message closes what waits, and a host can refuse that", async () => {
  const { execute: _, ...ask } = tool("ask", () => "");
  const { app, asked } = appOf(replies(calls("ask", {}), { text: "Fine." }), { tools: [ask] });
  await send(app, { messages: [text("u1", "Hi")] });
  assert.equal((await post(app, { message: text("u2", "never mind"), onPaused: "reject" })).status, 409);
  await send(app, { messages: [...await history(app), text("u2", "never mind")] });
  assert.deepEqual(asked[1]?.map(({ role }: Json) => role), ["user", "assistant", "tool", "user"]);
  const [, assistant] = await history(app);
  assert.equal(assistant.parts[1].state, "output-error");
});

Deno.test("POST /api/chat takes what a client's tool gave with a new message, answered in a message of its own", async () => {
  const { execute: _, ...ask } = tool("ask", () => "");
  const { app, asked } = appOf(replies(calls("ask", {}), { text: "Blue." }, { text: "Bye." }), {
    tools: [ask],
  });
  await send(app, { messages: [text("u1", "Hi")] });
  const [first, waiting] = await history(app);
  const part = waiting.parts.at(-1);
  const answered = {
    ...waiting,
    parts: [...waiting.parts.slice(0, -1), { ...part, state: "output-available", output: "blue" }],
  };
  const chunks = await send(app, { messages: [first, answered, text("u2", "What is it?")] });
  assert.deepEqual(asked[1]?.map(({ role }: Json) => role), ["user", "assistant", "tool", "user"]);
  // Of the tool the client knows, and its call is in a message that is closed.
  assert.ok(!chunks.some(({ type }) => /^(tool-|data-user)/.test(type)));
  const { messageId } = chunks.find(({ type }) => type === "start");
  const messages = await history(app);
  assert.deepEqual(messages.map(({ id, role }: Json) => [id, role]), [
    ["u1", "user"],
    [waiting.id, "assistant"],
    ["u2", "user"],
    [messageId, "assistant"],
  ]);
  assert.equal(new Set(messages.map(({ id }: Json) => id)).size, 4);
  assert.equal(messages[1].parts.at(-1).output, "blue");
  await send(app, { messages: [...messages, text("u3", "Bye")] });
  assert.equal(asked[2]?.length, 6);
  assert.equal((await (await app.request("/v1/sessions/c")).json()).branches.length, 1);
});

Deno.test("GET /api/chat/:id/stream replays the running turn from its start, and says where none runs", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const model = scripted({ script: () => ({ text: "one two" }), pause: () => promise });
  const app = createApp({ agents: { default: { model } }, store: memoryStore() });
  assert.equal((await app.request("/api/chat/c/stream")).status, 204);
  const response = await post(app, { messages: [text("u1", "Hi")], onDisconnect: "continue" });
  const resumed = await app.request("/api/chat/c/stream");
  await response.body?.cancel();
  resolve();
  const chunks = await readUiStream(resumed);
  assertUiOrder(chunks);
  assert.equal(chunks[0].type, "start");
  assert.equal(chunks.at(-1).finishReason, "stop");
  assert.equal((await app.request("/api/chat/c/stream")).status, 204);
});

Deno.test("POST /api/chat: a turn that is cancelled ends with abort, one that fails with an error", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const model = scripted({ script: () => ({ text: "one" }), pause: () => promise });
  const app = createApp({ agents: { default: { model } }, store: memoryStore() });
  const response = await post(app, { messages: [text("u1", "Hi")] });
  const { running } = await (await app.request("/v1/sessions/c")).json();
  const cancelled = app.request(`/v1/turns/${running.turn}/cancel`, { method: "POST" });
  const chunks = await readUiStream(response);
  await cancelled;
  resolve();
  assert.deepEqual(chunks.map(({ type }) => type), ["start", "abort"]);
  const { app: failing } = appOf(() => {
    throw new Error("secret internal detail");
  });
  const report = console.error;
  console.error = () => {};
  try {
    const failed = await send(failing, { messages: [text("u1", "Hi")] });
    assert.deepEqual(failed.map(({ type }) => type), ["start", "error"]);
    assert.doesNotMatch(failed[1].errorText, /secret/);
  } finally {
    console.error = report;
  }
});

const user = text("u1", "Hi");
const said = { id: "a1", role: "assistant", parts: [{ type: "text", text: "x" }] };

Deno.test.each<[string, number, unknown]>([
  ["no JSON", 400, "{"],
  ["no object", 400, []],
  ["no id", 400, { id: undefined, messages: [user] }],
  ["an id that is no session", 400, { id: "a/b", messages: [user] }],
  ["no messages", 400, {}],
  ["an empty history", 400, { messages: [] }],
  ["a message of the assistant that nobody knows", 409, { messages: [user, said] }],
  ["a message of the system alone", 400, { messages: [{ ...user, role: "system" }] }],
  ["a role that is none", 400, { messages: [{ ...user, role: "tool" }] }],
  ["a message without parts", 400, { messages: [{ id: "u1", role: "user", content: "Hi" }] }],
  ["an empty message", 400, { messages: [{ ...user, parts: [] }] }],
  ["a message without a text", 400, { messages: [text("u1", "  ")] }],
  ["a text that is none", 400, { messages: [{ ...user, parts: [{ type: "text", text: 7 }] }] }],
  ["a file without a URL", 400, {
    messages: [{ ...user, parts: [{ type: "file", mediaType: "image/png" }] }],
  }],
  ["a file with a URL of another kind", 400, {
    messages: [{ ...user, parts: [{ type: "file", mediaType: "image/png", url: "file:///etc/passwd" }] }],
  }],
  ["a trigger that is none", 400, { messages: [user], trigger: "resume-stream" }],
  ["an agent that is none", 400, { messages: [user], agent: "nobody" }],
  ["nothing to answer anew", 400, { trigger: "regenerate-message", messageId: "a1" }],
  ["more than a model can read", 413, { messages: [text("u1", "word ".repeat(200_000))] }],
  ["a body that is too long", 413, { messages: [user], filler: "x".repeat(9 * 1024 * 1024) }],
])("POST /api/chat refuses %s in a sentence for people", async (_, status, body) => {
  const { app } = appOf(replies({ text: "x" }));
  const response = typeof body === "string"
    ? await app.request("/api/chat", { method: "POST", body })
    : Array.isArray(body)
    ? await app.request("/api/chat", { method: "POST", body: JSON.stringify(body) })
    : await post(app, body);
  const sentence = await response.text();
  assert.equal(response.status, status, sentence);
  assert.match(response.headers.get("content-type") ?? "", /^text\/plain/);
  assert.match(sentence, /^Cannot .{10,}/s);
  assert.ok(sentence.length <= 900 && !sentence.includes("\n    at "));
  // Nothing was stored.
  assert.equal((await app.request("/v1/sessions/c")).status, 404);
});

Deno.test("/api/chat tells every other refusal as text, too", async () => {
  const { app } = appOf(replies({ text: "x" }));
  const cases: [string, string, number][] = [
    ["GET", "/api/chat", 405],
    ["DELETE", "/api/chat/c", 405],
    ["POST", "/api/chat/c/stream", 405],
    ["GET", "/api/chat/none", 404],
    ["GET", "/api/chat/a%2Fb", 404],
    ["GET", "/api/chat/c/nothing", 404],
  ];
  for (const [method, path, status] of cases) {
    const response = await app.request(path, { method });
    assert.equal(response.status, status, `${method} ${path}`);
    assert.match(await response.text(), /^Cannot /);
  }
});

Deno.test("POST /api/chat shows what a tool tells on its way as a preliminary output", async () => {
  const work = tool("work", async function* () {
    yield { done: 1 };
    return "done";
  });
  const { app } = appOf(replies(calls("work", {}), { text: "Well." }), { tools: [work] });
  const chunks = await send(app, { messages: [text("u1", "Hi")] });
  const outputs = chunks.filter(({ type }) => type === "tool-output-available");
  const told = outputs.map(({ output, preliminary }) => [output, preliminary ?? false]);
  assert.deepEqual(told, [[{ done: 1 }, true], ["done", false]]);
});

Deno.test("POST /api/chat keeps what is said to a turn while it runs in the message of its answer", async () => {
  const made: { app?: App } = {};
  const say = tool("say", async () => {
    const { running } = await (await made.app!.request("/v1/sessions/c")).json();
    const body = JSON.stringify({ input: "and be quick" });
    const { status } = await made.app!.request(`/v1/turns/${running.turn}/messages`, {
      method: "POST",
      body,
    });
    return `${status}`;
  });
  const { app } = appOf(replies(calls("say", {}), { text: "Quick." }, { text: "Next." }), { tools: [say] });
  made.app = app;
  const chunks = await send(app, { messages: [text("u1", "Hi")] });
  const said = chunks.find(({ type }) => type === "data-user-message");
  assert.deepEqual(said.data, { input: "and be quick" });
  const messages = await history(app);
  assert.equal(messages.length, 2);
  assert.deepEqual(messages[1].parts.find(({ type }: Json) => type === "data-user-message"), said);
  await send(app, { messages: [...messages, text("u2", "more")] });
  assert.equal((await (await app.request("/v1/sessions/c")).json()).branches.length, 1);
});

Deno.test("POST /api/chat summarises no history twice, though its session has gone", async () => {
  const steps = Array.from({ length: 20 }, (_, n) => calls("read", { n, length: 1_500 }));
  const { app, asked } = appOf(
    replies(...steps, { text: "All done." }, { text: "Well." }, { text: "Again." }, { text: "Once more." }),
    { maxSteps: 30 },
    8_000,
  );
  await send(app, { messages: [text("u1", "work")] });
  const kept = (chunks: Json[]): number =>
    chunks.filter(({ type, transient }) => type === "data-compaction" && transient !== true).length;
  const sent = [...await history(app), text("u2", "and?")];
  await app.request("/v1/sessions/c", { method: "DELETE" });
  assert.equal(kept(await send(app, { messages: sent })), 0);
  const whole = await history(app);
  const before = asked.at(-1);
  assert.match(JSON.stringify(before[0]), /read/, "the ledger comes first");
  await app.request("/v1/sessions/c", { method: "DELETE" });
  assert.equal(kept(await send(app, { messages: sent })), 0);
  assert.deepEqual(asked.at(-1), before, "the model is shown the same, to the letter");
  await app.request("/v1/sessions/c", { method: "DELETE" });
  const more = [...whole, text("u3", "and now?")];
  assert.equal(kept(await send(app, { messages: more })), 0);
  assert.deepEqual(asked.at(-1)?.slice(0, before.length), before);
});
