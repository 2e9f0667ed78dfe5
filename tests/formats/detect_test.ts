/** Which format messages are taken for, and what is said of those that are none. */
import { deepEqual, equal, match } from "node:assert/strict";
import { detectFormat, readTranscript } from "../../src/formats/read.ts";
import { codesOf, functionCall, functionOutput, item, refusal, said, ui, uiText, user } from "./_read.ts";

const developer = { role: "developer", content: "Be careful." };

Deno.test("detectFormat() looks at all messages, and at what only one format has", () => {
  const found = {
    "developer, then items": [developer, user(), functionCall("a"), functionOutput("a")],
    "input_text": [{ role: "user", content: [{ type: "input_text", text: "go" }] }],
    "items with messages": [
      { role: "user", content: [{ type: "input_text", text: "go" }] },
      { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "done" }] },
    ],
    "developer": [developer, user()],
    "developer item": [{ type: "message", ...developer }, item("user")],
    "image_url": [user([{ type: "image_url", image_url: { url: "https://a.example/1.png" } }])],
    "AI SDK image": [user([{ type: "image", image: "iVBOR" }])],
    "AI SDK file": [user([{ type: "file", data: "iVBOR", mediaType: "image/png" }])],
    "OpenAI file": [user([{ type: "file", file: { file_id: "f" } }])],
    "Anthropic image": [user([{ type: "image", source: { type: "base64", data: "iVBOR" } }])],
    "Anthropic answer": [user(), {
      ...said([{ type: "text", text: "x" }]),
      type: "message",
      stop_reason: null,
    }],
    "UI message without id": [{ role: "user", parts: [uiText()] }],
    "Gemini": [{ role: "user", parts: [{ text: "go" }] }],
    "old calls": [
      user(),
      { role: "assistant", content: null, function_call: { name: "f", arguments: "{}" } },
      { role: "function", name: "f", content: "ok" },
    ],
  };
  deepEqual(
    Object.entries(found).map(([name, messages]) => `${name}: ${detectFormat(messages)}`),
    [
      "developer, then items: openai-responses",
      "input_text: openai-responses",
      "items with messages: openai-responses",
      "developer: openai-chat",
      "developer item: openai-responses",
      "image_url: openai-chat",
      "AI SDK image: ai-sdk",
      "AI SDK file: ai-sdk",
      "OpenAI file: openai-chat",
      "Anthropic image: anthropic",
      "Anthropic answer: anthropic",
      "UI message without id: ai-sdk",
      "Gemini: gemini",
      "old calls: openai-chat",
    ],
  );
  for (const messages of Object.values(found)) deepEqual(codesOf(messages), []);
});

Deno.test("readTranscript() says where the messages of a log seem to be", () => {
  const lines = {
    message: [{ type: "user", uuid: "1", message: user() }, {
      type: "assistant",
      uuid: "2",
      message: said(),
    }],
    payload: [{ type: "session_meta" }, { type: "response_item", payload: item("user") }],
  };
  for (const [field, messages] of Object.entries(lines)) {
    const error = refusal(messages);
    equal(error.code, "unknown_format");
    equal(error.fields["inside"], field);
    match(error.message, new RegExp(`inside \`${field}\``));
  }
  const named = refusal(lines.payload.slice(1), { format: "openai-responses" });
  match(
    named.message,
    /found "response_item" in type.*inside `payload`.*read as openai-responses, as it was named/,
  );
});

Deno.test("readTranscript() takes no item for one of Responses that has no type of it", () => {
  const error = refusal([{ type: "banana" }, { type: "assistant" }]);
  equal(error.code, "unknown_format");
  match(error.message, /found "banana" in type and nothing in role in message 0/);
  equal(refusal([{ type: "banana" }], { format: "openai-responses" }).code, "bad_message");
  // What comes out of a provider's own tools may be newer than this.
  equal(
    readTranscript([item("user"), { type: "new_search_call", id: "1" }], { format: "openai-responses" })
      .messages.length,
    2,
  );
});

const refused = {
  'found "banana" in role, wanted "system", "developer"': [{ role: "banana", content: "x" }],
  "found nothing in role": [{ content: "x" }],
  "found 5 in content, wanted text or a list": [user(5)],
  "found an object in content, wanted text or a list": [user({})],
  'found "text" in content\\[0\\], wanted an object': [user(["text"])],
  'found "banana" in content\\[0\\].type, wanted "text"': [user([{ type: "banana" }])],
  'found "input_text" in content\\[0\\].type, wanted "text"': [user([{ type: "input_text", text: "x" }])],
  "found null in messages\\[0\\], wanted an object": [null],
};
for (const [wanted, messages] of Object.entries(refused)) {
  Deno.test(`bad_message says what was found: ${wanted}`, () => {
    const error = refusal(messages, { format: "openai-chat" });
    equal(error.code, "bad_message");
    equal(error.fields["at"], 0);
    match(error.message, new RegExp(wanted));
  });
}

Deno.test("bad_message says which format the messages were read as, and how to name another one", () => {
  const error = refusal([user(), { role: "tool", tool_call_id: "a", content: 5 }]);
  match(
    error.message,
    /\(read as openai-chat, which the messages look like; `format` \(--format\) names another one\)/,
  );
});

Deno.test("a UI tool part in a state that there is not, or in a user message, is refused", () => {
  const part = { type: "tool-run", toolCallId: "a", input: {} };
  const strange = refusal([ui("assistant", { ...part, state: "zork" })]);
  match(strange.message, /found "zork" in parts\[0\]\.state/);
  const misplaced = refusal([ui("user", { ...part, state: "input-available" })]);
  match(misplaced.message, /found "tool-run" in parts\[0\], wanted tool parts in assistant messages only/);
  match(refusal([ui("user", { type: "banana" })]).message, /found "banana" in parts\[0\]\.type/);
});
