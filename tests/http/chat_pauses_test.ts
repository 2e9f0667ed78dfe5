/** `/api/chat`: turns that wait for a client's tool or for a person, and how they go on. */
import assert from "node:assert/strict";
import type { Json } from "../support/chat.ts";
import { appOf, history, post, send, text, tools } from "../support/chat_app.ts";
import { calls, replies, tool } from "../support/turns.ts";
import { assertUiOrder, readUiStream } from "../support/ui_stream_rules.ts";

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
