/** `/agui`: what is no run. */
import assert from "node:assert/strict";
import { rig } from "../support/agui_rig.ts";

const user = { id: "u", role: "user", content: "Hi" };
const withImage = (source: unknown) => ({
  threadId: "t",
  runId: "r",
  messages: [{ ...user, content: [{ type: "image", source }] }],
});
const BAD: readonly (readonly [unknown, number, string])[] = [
  ["no json", 400, "bad_json"],
  [{}, 400, "bad_request"],
  [{ threadId: "a/b", runId: "r", messages: [user] }, 400, "bad_request"],
  [{ threadId: "t", runId: "", messages: [user] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: "hi" }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [{ ...user, role: "robot" }] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [{ ...user, content: 1 }] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [{ ...user, content: [{ type: "image" }] }] }, 400, "bad_request"],
  [withImage({ type: "url", value: "file:///etc/passwd" }), 400, "bad_request"],
  [withImage({ type: "url", value: "blob:http://localhost/1" }), 400, "bad_request"],
  [withImage({ type: "data", value: "no base64", mimeType: "image/png" }), 400, "bad_request"],
  [withImage({ type: "data", value: "aGk=", mimeType: "image/png,aGk" }), 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [{ ...user, content: "" }] }, 400, "input_empty"],
  [
    { threadId: "t", runId: "r", messages: [user, { id: "a", role: "assistant", content: "Hi" }] },
    400,
    "bad_request",
  ],
  [
    { threadId: "t", runId: "r", messages: [user, { id: "a", role: "assistant", toolCalls: [{ id: "c" }] }] },
    400,
    "bad_request",
  ],
  [
    { threadId: "t", runId: "r", messages: [user, { id: "x", role: "tool", toolCallId: "c", content: "" }] },
    409,
    "turn_not_paused",
  ],
  [{ threadId: "t", runId: "r", messages: [user], tools: [{ name: "a b" }] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [user], tools: [{ name: "read" }] }, 400, "bad_client_tools"],
  [
    { threadId: "t", runId: "r", messages: [user], tools: [{ name: "a", parameters: { type: "string" } }] },
    400,
    "bad_request",
  ],
  [{ threadId: "t", runId: "r", messages: [user], context: [{ value: "x" }] }, 400, "bad_request"],
  [
    { threadId: "t", runId: "r", messages: [user], resume: [{ interruptId: "x", status: "maybe" }] },
    400,
    "bad_request",
  ],
  [
    { threadId: "t", runId: "r", messages: [user], resume: [{ interruptId: "x", status: "resolved" }] },
    404,
    "call_not_found",
  ],
];

Deno.test("/agui refuses what is no run before it begins one, with a code and a field", async () => {
  const { app, log } = rig(() => ({ text: "Hello." }));
  const post = (body: unknown, path = "/agui") =>
    app.request(path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) });
  for (const [body, status, code] of BAD) {
    const response = await post(body);
    const problem = await response.json();
    assert.deepEqual([response.status, problem.code], [status, code], JSON.stringify(body));
    assert.ok(problem.detail.length < 500);
  }
  const run = { threadId: "t", runId: "r", messages: [user] };
  assert.equal((await (await post(run, "/agui?agent=none")).json()).code, "unknown_agent");
  const big = await post({ ...run, state: "x".repeat(9 * 1024 * 1024) });
  assert.deepEqual([big.status, (await big.json()).code], [413, "body_too_large"]);
  assert.equal((await app.request("/agui")).status, 405);
  assert.deepEqual(await log("t"), []);
});
