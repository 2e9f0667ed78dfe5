/** `useChat`'s own Chat class, of two majors, against a real server: its messages are those that the log gives. */
import assert from "node:assert/strict";
import * as ai6 from "ai6";
import * as ai7 from "ai7";
import { Chat as Chat6 } from "react6";
import { Chat as Chat7 } from "react7";
import type { Json } from "../support/chat.ts";
import { type Server, startServer } from "../support/server.ts";
import { readUiStream } from "../support/ui_stream_rules.ts";

const VERSIONS: readonly { readonly version: number; readonly ai: Json; readonly Chat: Json }[] = [
  { version: 6, ai: ai6, Chat: Chat6 },
  { version: 7, ai: ai7, Chat: Chat7 },
];

async function startChatServer(): Promise<Server> {
  return await startServer({
    SELVAGE_KV: ":memory:",
    SELVAGE_CONFIG: new URL("_chat_options.ts", import.meta.url).pathname,
  }, { args: ["--allow-read", "--host", "127.0.0.1", "--port", "0"] });
}

/** A chat and what it was told by the way. */
interface Client {
  readonly chat: Json;
  readonly data: Json[];
}

function clientOf(
  { ai, Chat }: typeof VERSIONS[number],
  { url, id, body, transport = {}, ...rest }:
    & { url: string; id: string; body?: Json; transport?: Json }
    & Json,
): Client {
  const data: Json[] = [];
  const chat = new Chat({
    id,
    transport: new ai.DefaultChatTransport({ api: `${url}/api/chat`, body, ...transport }),
    onData: (part: Json) => data.push(part),
    onError: () => {},
    ...rest,
  });
  return { chat, data };
}

async function getJson(url: string): Promise<Json> {
  const response = await fetch(url);
  assert.equal(response.status, 200);
  return await response.json();
}

/** As JSON has it: what is undefined is not there. */
function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value));
}

function lastText({ messages }: Json): string {
  return messages.at(-1).parts.findLast(({ type }: Json) => type === "text")?.text ?? "";
}

/** Waits for something that comes of itself. */
async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const end = Date.now() + 20_000;
  while (!await isSo()) {
    assert.ok(Date.now() < end, `waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function assertSame(chat: Json, url: string): Promise<void> {
  assert.deepEqual(plain(chat.messages), await getJson(`${url}/api/chat/${chat.id}`));
}

for (const sdk of VERSIONS) {
  const name = `Chat of @ai-sdk/react for ai ${sdk.version}`;

  Deno.test(`${name}: text, and a reload that goes on`, async () => {
    await using server = await startChatServer();
    const { url } = server;
    const { chat, data } = clientOf(sdk, { url, id: "c1" });
    await chat.sendMessage({ text: "Hi" });
    assert.deepEqual([chat.status, lastText(chat)], ["ready", "You sent 1 message."]);
    assert.ok(data.some(({ type }) => type === "data-context"));
    assert.ok(chat.messages.at(-1).metadata.usage.totalTokens > 0);
    await assertSame(chat, url);
    const messages = await getJson(`${url}/api/chat/c1`);
    const { chat: reloaded } = clientOf(sdk, { url, id: "c1", messages });
    await reloaded.sendMessage({
      text: "And this?",
      files: [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" }],
      metadata: { from: "here" },
    });
    assert.equal(lastText(reloaded), "You sent 3 messages.");
    await assertSame(reloaded, url);
    assert.equal((await getJson(`${url}/v1/sessions/c1`)).branches.length, 1);
  });

  Deno.test(`${name}: a loop of 20 steps with compactions`, async () => {
    await using server = await startChatServer();
    const { url } = server;
    const { chat } = clientOf(sdk, { url, id: "c1" });
    await chat.sendMessage({ text: "work" });
    assert.deepEqual([chat.status, lastText(chat)], ["ready", "All the work is done."]);
    const { parts } = chat.messages.at(-1);
    const count = (kind: string): number => parts.filter(({ type }: Json) => type === kind).length;
    assert.equal(count("tool-read"), 20);
    assert.ok(count("data-compaction") >= 1);
    await assertSame(chat, url);
    await chat.sendMessage({ text: "Thanks" });
    assert.match(lastText(chat), /^You sent/);
    await assertSame(chat, url);
  });

  Deno.test(`${name}: a client's tool`, async () => {
    await using server = await startChatServer();
    const { url } = server;
    const { lastAssistantMessageIsCompleteWithToolCalls: sendAutomaticallyWhen } = sdk.ai;
    const { chat } = clientOf(sdk, {
      url,
      id: "c1",
      sendAutomaticallyWhen,
      onToolCall: ({ toolCall }: Json) => {
        if (toolCall.toolName !== "ask") return;
        void chat.addToolOutput({ tool: "ask", toolCallId: toolCall.toolCallId, output: "Because." });
      },
    });
    await chat.sendMessage({ text: "ask me" });
    await until(() => lastText(chat).startsWith("I see") && chat.status === "ready", "the answer");
    assert.equal(lastText(chat), "I see: Because.");
    assert.equal(chat.messages.length, 2);
    await assertSame(chat, url);
  });

  for (const approved of [true, false]) {
    Deno.test(`${name}: an approval, ${approved ? "given" : "refused"}`, async () => {
      await using server = await startChatServer();
      const { url } = server;
      const { lastAssistantMessageIsCompleteWithApprovalResponses: sendAutomaticallyWhen } = sdk.ai;
      const { chat } = clientOf(sdk, { url, id: "c1", sendAutomaticallyWhen });
      await chat.sendMessage({ text: "remove it" });
      const part = chat.messages.at(-1).parts.find(({ type }: Json) => type === "tool-remove");
      assert.equal(part.state, "approval-requested");
      await assertSame(chat, url);
      await chat.addToolApprovalResponse({ id: part.approval.id, approved, reason: "as I say" });
      await until(() => lastText(chat).startsWith("I see") && chat.status === "ready", "the answer");
      if (approved) assert.equal(lastText(chat), "I see: removed a.txt");
      else assert.match(lastText(chat), /did not allow/);
      assert.equal(chat.messages.length, 2);
      const after = chat.messages.at(-1).parts.find(({ type }: Json) => type === "tool-remove");
      assert.equal(after.state, approved ? "output-available" : "output-denied");
      await assertSame(chat, url);
    });
  }

  Deno.test(`${name}: stop ends the turn, and the chat goes on`, async () => {
    await using server = await startChatServer();
    const { url } = server;
    const { chat } = clientOf(sdk, { url, id: "c1" });
    const sent = chat.sendMessage({ text: "slowly" });
    await until(() => chat.messages.length === 2 && lastText(chat).includes("word3"), "some words");
    await chat.stop();
    await sent;
    assert.equal(chat.status, "ready");
    await until(async () => (await getJson(`${url}/v1/sessions/c1`)).running === null, "rest");
    await chat.sendMessage({ text: "Hi again" });
    assert.match(lastText(chat), /^You sent/);
    // What was cut off in its first step is on the screen, and not in the log.
    const { branches } = await getJson(`${url}/v1/sessions/c1`);
    assert.equal(branches.length, 1);
  });

  Deno.test(`${name}: an error is told in a sentence`, async () => {
    await using server = await startChatServer();
    const { url } = server;
    const { chat } = clientOf(sdk, { url, id: "c1" });
    await chat.sendMessage({ text: "fail" });
    assert.equal(chat.status, "error");
    assert.equal(chat.error.message, "The turn failed inside the service");
    const { chat: refused } = clientOf(sdk, { url, id: "c2", body: { agent: "nobody" } });
    await refused.sendMessage({ text: "Hi" });
    assert.match(refused.error.message, /^Cannot start the turn: found no agent "nobody"/);
  });

  Deno.test(`${name}: another tab resumes the turn in its middle`, async () => {
    await using server = await startChatServer();
    const { url } = server;
    const { chat } = clientOf(sdk, { url, id: "c1", body: { onDisconnect: "continue" } });
    const sent = chat.sendMessage({ text: "slowly" });
    await until(() => chat.messages.length === 2 && lastText(chat).includes("word3"), "some words");
    const messages = await getJson(`${url}/api/chat/c1`);
    const { chat: other } = clientOf(sdk, { url, id: "c1", messages });
    const resumed = other.resumeStream();
    await until(() => lastText(other).includes("word3"), "the words again");
    await chat.stop();
    await sent;
    await resumed;
    assert.equal(other.status, "ready");
    assert.match(lastText(other), /word0 .* word99$/);
    await assertSame(other, url);
    // Nothing runs any more: nothing changes.
    await other.resumeStream();
    await assertSame(other, url);
  });

  Deno.test(`${name}: regenerate and edit fork, and keep what they leave`, async () => {
    await using server = await startChatServer();
    const { url } = server;
    const { chat } = clientOf(sdk, { url, id: "c1" });
    await chat.sendMessage({ text: "one" });
    await chat.sendMessage({ text: "two" });
    await assertSame(chat, url);
    const before = await getJson(`${url}/api/chat/c1`);
    await chat.regenerate();
    assert.equal(chat.messages.length, 4);
    assert.notEqual(chat.messages.at(-1).id, before.at(-1).id);
    await assertSame(chat, url);
    await chat.sendMessage({ text: "two, edited", messageId: chat.messages[2].id });
    assert.equal(chat.messages.length, 4);
    await assertSame(chat, url);
    await chat.regenerate({ messageId: chat.messages[1].id });
    assert.equal(chat.messages.length, 2);
    await assertSame(chat, url);
    assert.equal((await getJson(`${url}/v1/sessions/c1`)).branches.length, 4);
    assert.deepEqual(await getJson(`${url}/api/chat/c1?branch=0`), before);
  });

  Deno.test(`${name}: only the last message is sent`, async () => {
    await using server = await startChatServer();
    const { url } = server;
    const { chat } = clientOf(sdk, {
      url,
      id: "c1",
      transport: {
        prepareSendMessagesRequest: ({ id, messages, trigger, messageId }: Json) => ({
          body: { id, message: messages.at(-1), trigger, messageId },
        }),
      },
    });
    await chat.sendMessage({ text: "one" });
    await chat.sendMessage({ text: "two" });
    assert.equal(lastText(chat), "You sent 3 messages.");
    await chat.regenerate();
    assert.equal(lastText(chat), "You sent 3 messages.");
    await chat.sendMessage({ text: "ask" });
    const part = chat.messages.at(-1).parts.find(({ type }: Json) => type === "tool-ask");
    await chat.addToolOutput({ tool: "ask", toolCallId: part.toolCallId, output: "So." });
    await chat.sendMessage();
    assert.equal(lastText(chat), "I see: So.");
    await assertSame(chat, url);
  });

  Deno.test(`${name}: a history that the server has lost comes along`, async () => {
    await using server = await startChatServer();
    const { url } = server;
    const { chat } = clientOf(sdk, { url, id: "c1" });
    await chat.sendMessage({ text: "work" });
    await chat.sendMessage({ text: "remove it" });
    const part = chat.messages.at(-1).parts.find(({ type }: Json) => type === "tool-remove");
    await chat.addToolApprovalResponse({ id: part.approval.id, approved: true });
    await chat.sendMessage();
    const deleted = await fetch(`${url}/v1/sessions/c1`, { method: "DELETE" });
    assert.equal(deleted.status, 204);
    await chat.sendMessage({ text: "And now?" });
    assert.match(lastText(chat), /^You sent/);
    assert.equal((await getJson(`${url}/api/chat/c1`)).length, 6);
  });
}

Deno.test("/api/chat loses no word of 200 streams at once", async () => {
  await using server = await startChatServer();
  const texts = await Promise.all(Array.from({ length: 200 }, async (_, n) => {
    const messages = [{ id: "u", role: "user", parts: [{ type: "text", text: "slowly" }] }];
    const response = await fetch(`${server.url}/api/chat`, {
      method: "POST",
      body: JSON.stringify({ id: `s${n}`, messages }),
    });
    return (await readUiStream(response)).map(({ delta = "" }) => delta).join("");
  }));
  const whole = Array.from({ length: 100 }, (_, n) => `word${n}`).join(" ");
  assert.equal(texts.length, 200);
  for (const text of texts) assert.equal(text, whole);
});
