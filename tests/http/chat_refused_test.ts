/** `/api/chat`: refusals, which clients show to people as they are. */
import assert from "node:assert/strict";
import { appOf, post, text } from "../support/chat_app.ts";
import { replies } from "../support/turns.ts";

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

Deno.test("GET /api/chat/:id says whether there is no such chat, no such branch, or a branch that is no number", async () => {
  const { app } = appOf(replies({ text: "x" }));
  await (await post(app, { messages: [user] })).text();
  for (
    const [path, status, said] of [
      ["c?branch=1", 404, 'Cannot find branch 1 of the chat "c"'],
      ["c?branch=x", 400, 'Cannot use the URL: branch: found "x", wanted a whole number'],
      ["none?branch=0", 404, 'Cannot find the chat "none"'],
    ] as const
  ) {
    const response = await app.request(`/api/chat/${path}`);
    assert.deepEqual([response.status, await response.text()], [status, said]);
  }
});
