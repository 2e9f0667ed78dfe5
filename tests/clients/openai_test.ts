import assert from "node:assert/strict";
import OpenAI from "openai";
import type { RunnableToolFunctionWithParse } from "openai/lib/RunnableFunction";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { Json } from "../support/chat.ts";
import { HELLO, obedient, SMALL_WINDOW, weather } from "./_scripts.ts";
import { type Service, startService } from "./_service.ts";

const hi: ChatCompletionMessageParam[] = [{ role: "user", content: "Hi" }];

function clientOf({ baseURL }: Service, rest: ConstructorParameters<typeof OpenAI>[0] = {}): OpenAI {
  return new OpenAI({ baseURL, apiKey: "none", ...rest });
}

/** An error of one of the client's own kinds. */
function errorOf(error: unknown, kind: abstract new (...args: never[]) => Error): Json {
  assert.ok(error instanceof kind, String(error));
  return error;
}

/** What a chunk tells beside the answer. */
function noteOf(chunk: Json): { readonly type: string; readonly phase?: string } | undefined {
  return chunk.selvage;
}

Deno.test("openai: text, streamed and not, models, images and usage", async () => {
  await using service = await startService(obedient());
  const client = clientOf(service);
  const { data } = await client.models.list();
  assert.deepEqual(data.map(({ id }: { readonly id: string }) => id), ["default", "demo"]);
  assert.equal((await client.models.retrieve("default")).object, "model");

  const whole = await client.chat.completions.create({ model: "default", messages: hi });
  assert.equal(whole.choices[0]?.message.content, HELLO);
  assert.ok((whole.usage?.total_tokens ?? 0) > 0);

  const stream = await client.chat.completions.create({
    model: "default",
    messages: [{
      role: "user",
      content: [{ type: "text", text: "See" }, {
        type: "image_url",
        image_url: { url: "data:image/png;base64,iVBORw0KGgo=" },
      }],
    }],
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let usage: OpenAI.CompletionUsage | null | undefined;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    usage = chunk.usage;
  }
  assert.equal(text, HELLO);
  assert.ok((usage?.prompt_tokens ?? 0) > 0);

  const helper = client.chat.completions.stream({ model: "default", messages: hi });
  assert.equal(await helper.finalContent(), HELLO);
  assert.equal((await helper.finalChatCompletion()).choices[0]?.finish_reason, "stop");
  assert.deepEqual(service.double.violations, []);
});

Deno.test("openai: a turn of 20 steps with compactions shows no call of the service", async () => {
  await using service = await startService(obedient(), SMALL_WINDOW);
  const client = clientOf(service);
  const notes: ReturnType<typeof noteOf>[] = [];
  const helper = client.chat.completions.stream({
    model: "default",
    messages: [{ role: "user", content: "Do the work" }],
  });
  helper.on("chunk", (chunk: unknown) => notes.push(noteOf(chunk)));
  const { choices: [choice] } = await helper.finalChatCompletion();
  assert.equal(choice?.message.content, "All the work is done.");
  assert.equal(choice?.message.tool_calls, undefined);
  assert.equal(choice?.finish_reason, "stop");
  assert.equal(notes.filter((note) => note?.type === "tool.result").length, 20);
  assert.ok(notes.some((note) => note?.type === "compaction" && note.phase === "applied"));
  assert.deepEqual(service.double.violations, []);
});

Deno.test("openai: a tool of the client beside those of the service, by hand", async () => {
  await using service = await startService(obedient());
  const client = clientOf(service);
  const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "What is the weather?" }];
  const first = await client.chat.completions.create({ model: "default", messages, tools: [weather] });
  const [choice] = first.choices;
  assert.equal(choice?.finish_reason, "tool_calls");
  assert.deepEqual(
    choice.message.tool_calls?.map((call) => call.type === "function" && call.function),
    [{ name: "get_weather", arguments: '{"city":"Bern"}' }],
  );
  messages.push(choice.message);
  for (const { id } of choice.message.tool_calls ?? []) {
    messages.push({ role: "tool", tool_call_id: id, content: "21 degrees" });
  }
  const second = await client.chat.completions.create({ model: "default", messages, tools: [weather] });
  const text = second.choices[0]?.message.content ?? "";
  // Both results of the step are there: that of the service, too.
  assert.match(text, /^It is .+ and 21 degrees\.$/s);
  assert.deepEqual(service.double.violations, []);
});

for (const stream of [true, false]) {
  Deno.test(`openai: runTools runs the client's tool and none of the service, ${stream ? "streamed" : "whole"}`, async () => {
    await using service = await startService(obedient());
    const asked: string[] = [];
    const tools: [RunnableToolFunctionWithParse<{ city: string }>] = [{
      type: "function",
      function: {
        ...weather.function,
        parse: (text) => JSON.parse(text),
        function({ city }) {
          asked.push(city);
          return "21 degrees";
        },
      },
    }];
    const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "What is the weather?" }];
    const { completions } = clientOf(service).chat;
    const runner = stream
      ? completions.runTools({ model: "default", messages, tools, stream: true })
      : completions.runTools({ model: "default", messages, tools });
    assert.match(await runner.finalContent() ?? "", /^It is .+ and 21 degrees\.$/s);
    assert.deepEqual(asked, ["Bern"]);
    assert.deepEqual(service.double.violations, []);
  });
}

Deno.test("openai: an error before the stream, and one in it, are the client's own", async () => {
  await using service = await startService(() => {
    throw new Error("out of order");
  });
  const client = clientOf(service, { maxRetries: 0 });
  await assert.rejects(
    client.chat.completions.create({ model: "gpt-9", messages: hi }),
    (error) => {
      const { code, param } = errorOf(error, OpenAI.NotFoundError);
      return code === "model_not_found" && param === "model";
    },
  );
  await assert.rejects(
    client.chat.completions.create({ model: "default", messages: hi, n: 2 }),
    (error) => errorOf(error, OpenAI.BadRequestError).param === "n",
  );
  await assert.rejects(
    client.chat.completions.create({ model: "default", messages: hi }),
    (error) => error instanceof OpenAI.InternalServerError,
  );
  const stream = await client.chat.completions.create({ model: "default", messages: hi, stream: true });
  await assert.rejects(
    async () => {
      for await (const _ of stream) { /* It fails. */ }
    },
    (error) => errorOf(error, OpenAI.APIError).code === "model_unavailable",
  );
  await assert.rejects(
    client.chat.completions.stream({ model: "default", messages: hi }).finalContent(),
    (error) => error instanceof OpenAI.OpenAIError,
  );
});

Deno.test("openai: an abort ends the turn, and the request to its model", async () => {
  await using service = await startService(() => ({ text: "word ".repeat(200_000) }));
  const client = clientOf(service);
  const stream = await client.chat.completions.create({ model: "default", messages: hi, stream: true });
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
  await service.double.untilLeft(1);
  const helper = client.chat.completions.stream({ model: "default", messages: hi });
  helper.once("content", () => helper.abort());
  await assert.rejects(helper.done(), OpenAI.APIUserAbortError);
  await service.double.untilLeft(2);
});

Deno.test("openai: a session keeps what the service's tools gave", async () => {
  await using service = await startService(obedient(), { SELVAGE_WINDOW: "128000" });
  const client = clientOf(service, { defaultHeaders: { "x-selvage-session": "mine" } });
  await client.chat.completions.create({
    model: "default",
    messages: [{ role: "user", content: "Do the work" }],
  });
  const { choices: [choice] } = await client.chat.completions.create({
    model: "default",
    messages: [{ role: "user", content: "And now?" }],
  });
  assert.equal(choice?.message.content, HELLO);
  const sent = service.double.requests.at(-1)?.["messages"] as { readonly role: string }[];
  assert.equal(sent.filter(({ role }) => role === "tool").length, 20);
});

Deno.test("openai: results and a new message come in one request to a session", async () => {
  await using service = await startService(obedient());
  const client = clientOf(service, { defaultHeaders: { "x-selvage-session": "both" } });
  const messages: ChatCompletionMessageParam[] = [{ role: "user", content: "What is the weather?" }];
  const first = await client.chat.completions.create({ model: "default", messages, tools: [weather] });
  const asked = first.choices[0]?.message;
  assert.ok(asked?.tool_calls);
  messages.push(asked);
  for (const { id } of asked.tool_calls) {
    messages.push({ role: "tool", tool_call_id: id, content: "21 degrees" });
  }
  messages.push({ role: "user", content: "Never mind, say hello" });
  const second = await client.chat.completions.create({ model: "default", messages, tools: [weather] });
  assert.equal(second.choices[0]?.message.content, HELLO);
  const sent = service.double.requests.at(-1)?.["messages"] as {
    readonly role: string;
    readonly content: string;
  }[];
  assert.deepEqual(sent.slice(-3).map(({ role }) => role), ["tool", "tool", "user"]);
  assert.equal(sent.at(-2)?.content, "21 degrees");
  assert.deepEqual(service.double.violations, []);
});
