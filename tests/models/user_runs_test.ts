/** User messages in a row: the templates of many models refuse them, so that a request of any dialect has none. */
import assert from "node:assert/strict";
import type { Message } from "../../src/core/message.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { UserRuns } from "../../src/models/_user_runs.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { startDouble } from "../support/openai_double.ts";
import type { Json } from "../support/wire_json.ts";
import { outcomeOf, request } from "./_answers.ts";
import { conform, run } from "./_conformance.ts";
import { PNG } from "./_messages.ts";

const user = (content: Extract<Message, { role: "user" }>["content"]): Message => ({ role: "user", content });
const summary = user("What was before.");
const said: Message = { role: "assistant", content: "I see." };

/** The messages of a sent body, whatever its dialect calls them. */
function sentOf(body: string): readonly Json[] {
  const { contents, input, messages } = JSON.parse(body);
  return messages ?? input ?? contents;
}

/** What Chat Completions is sent of some messages, and its bytes, by a model that may have sent others before. */
async function chatOf(...requests: readonly (readonly Message[])[]): Promise<readonly string[]> {
  const fake = fakeFetch({ status: 400, reads: [] });
  const model = openaiChat({ model: "m", fetch: fake.fetch });
  for (const messages of requests) await outcomeOf(model, { asked: { ...request, messages } });
  return fake.requests.map(({ body }) => body);
}

conform((dialect, test) => {
  test("sends user messages in a row as one, and leaves out none of them", async () => {
    const fake = fakeFetch({ reads: [dialect.wire.text("x") + dialect.wire.end] });
    const messages = [
      summary,
      user("Go."),
      said,
      user("A turn that failed."),
      user(" "),
      user([{ type: "text", text: "See." }, { type: "file", mediaType: "image/png", data: PNG }]),
    ];
    const { error } = await run(dialect, { fetch: fake.fetch }, { asked: { ...request, messages } });
    assert.equal(error, undefined);
    const [{ body = "" } = {}] = fake.requests;
    assert.deepEqual(sentOf(body).map(({ role }) => role === "model" ? "assistant" : role), [
      "user",
      "assistant",
      "user",
    ]);
    for (const text of ["What was before.", "Go.", "A turn that failed.", "See.", PNG]) {
      assert.ok(body.includes(text), text);
    }
  });
});

Deno.test("user messages in a row are one text in Chat Completions where they are nothing but text", async () => {
  const text = user([{ type: "text", text: "Two." }, { type: "text", text: " " }]);
  const file = { type: "file", mediaType: "image/png", data: PNG } as const;
  const [texts = "", blanks = "", mixed = ""] = await chatOf(
    [user("One."), text, user("Three.")],
    [user(""), user(" \n")],
    [user("One."), user([file]), text],
  );
  assert.deepEqual(sentOf(texts), [{ role: "user", content: "One.\n\nTwo.\n\nThree." }]);
  assert.deepEqual(sentOf(blanks), [{ role: "user", content: "(no text)" }]);
  assert.deepEqual(sentOf(mixed), [{
    role: "user",
    content: [
      { type: "text", text: "One." },
      { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
      { type: "text", text: "Two." },
    ],
  }]);
});

Deno.test("a user message behind one that was sent already leaves what stands before it as it was", async () => {
  const before = [summary, user("Go."), said, user("It fails.")];
  const more = [...before, user("Again.")];
  const rest = [...more, said, user("And?")];
  const [first = "", second = "", third = "", shorter = ""] = await chatOf(before, more, rest, before);
  // Up to the text that has grown, nothing is another byte: a provider reads it from its cache.
  const same = first.slice(0, first.lastIndexOf('"}'));
  assert.ok(same.endsWith("It fails.") && second.startsWith(`${same}\\n\\nAgain.`), second);
  assert.ok(third.startsWith(second.slice(0, -"]}".length)), third);
  assert.equal(shorter, first);
  for (const [at, messages] of [before, more, rest].entries()) {
    const [anew] = await chatOf(structuredClone(messages));
    assert.equal([first, second, third][at], anew);
  }
});

Deno.test("UserRuns looks at no message again of a conversation that grows", () => {
  let looks = 0;
  const counted = (message: Message): Message =>
    Object.defineProperty({ ...message }, "role", {
      get: () => {
        looks++;
        return message.role;
      },
    });
  const history = Array.from({ length: 400 }, (_, n) => counted(n % 2 === 0 ? user(`${n}`) : said));
  const runs = new UserRuns();
  runs.join(history);
  looks = 0;
  const grown = [...history, counted(user("One.")), counted(user("Two."))];
  assert.deepEqual(runs.join(grown).at(-1), user("One.\n\nTwo."));
  assert.ok(looks < 10, `found ${looks} looks`);
  // Another one that begins alike is not taken for it.
  assert.equal(runs.join(history.slice(0, 300)).length, 300);
});

Deno.test("startDouble() refuses two user messages in a row, where it is as strict as a template", async () => {
  const ask = async (alternates: boolean, roles: readonly string[]): Promise<number> => {
    await using double = startDouble({ script: () => ({ text: "x" }), alternates });
    const messages = roles.map((role) => ({ role, content: "x" }));
    const body = JSON.stringify({ model: "m", messages });
    const response = await fetch(`${double.url}/chat/completions`, { method: "POST", body });
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await ask(true, ["system", "user", "user"]), 400);
  assert.equal(await ask(true, ["system", "user", "assistant", "user"]), 200);
  assert.equal(await ask(false, ["system", "user", "user"]), 200);
});
