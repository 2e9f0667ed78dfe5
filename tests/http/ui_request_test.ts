/** What messages of a chat client come to. */
import assert from "node:assert/strict";
import { hasCalls, modelMessages, type SentMessage } from "../../src/http/decode/ui_request.ts";

function answer(...parts: SentMessage["parts"]): SentMessage {
  return { id: "a", role: "assistant", parts };
}

Deno.test("modelMessages() keeps the name of a file, whoever has sent it", () => {
  const part = { type: "file", mediaType: "image/png", url: "https://example.org/a.png", filename: "a.png" };
  const file = { type: "file", mediaType: "image/png", data: part.url, filename: "a.png" };
  const sent: readonly SentMessage[] = [{ id: "u", role: "user", parts: [part] }, answer(part)];
  assert.deepEqual(modelMessages(sent).map(({ message }) => message.content), [[file], [file]]);
});

Deno.test("hasCalls() looks at the last step of a message, where calls that wait are", () => {
  const step = { type: "step-start" };
  const call = { type: "tool-ask", toolCallId: "e1_0", state: "output-available", input: {}, output: "Yes." };
  const text = { type: "text", text: "Done." };
  assert.equal(hasCalls(answer(step, text, call)), true);
  assert.equal(hasCalls(answer(call, text)), true);
  assert.equal(hasCalls(answer(step, { ...call, type: "dynamic-tool", toolName: "ask" })), true);
  assert.equal(hasCalls(answer(step, call, step, text)), false);
  assert.equal(hasCalls(answer(text)), false);
  assert.equal(hasCalls(answer()), false);
});
