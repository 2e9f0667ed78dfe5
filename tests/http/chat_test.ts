/** `/api/chat`: the stream of a turn, what clients send, history, resume. */
import assert from "node:assert/strict";
import type { App } from "../../src/http/app.ts";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Json } from "../support/chat.ts";
import { appOf, history, outline, post, send, text } from "../support/chat_app.ts";
import { calls, replies, tool } from "../support/turns.ts";
import { assertUiOrder, readUiStream } from "../support/ui_stream_rules.ts";

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
  const { app } = appOf(replies(...steps, { text: "All done." }), { maxSteps: 30, window: 8_000 });
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
    { maxSteps: 30, window: 8_000 },
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
