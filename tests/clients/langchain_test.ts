import assert from "node:assert/strict";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { HELLO, obedient, SMALL_WINDOW, weather } from "./_scripts.ts";
import { type Service, startService } from "./_service.ts";

function modelOf({ baseURL }: Service): ChatOpenAI {
  return new ChatOpenAI({ model: "default", apiKey: "none", maxRetries: 0, configuration: { baseURL } });
}

async function textOf(stream: AsyncIterable<{ readonly text: string }>): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += chunk.text;
  return text;
}

Deno.test("@langchain/openai: text, streamed and not, with instructions and a history", async () => {
  await using service = await startService(obedient());
  const model = modelOf(service);
  const answer = await model.invoke([
    new SystemMessage("Be brief."),
    new HumanMessage("Hi"),
    new AIMessage("Yes?"),
    new HumanMessage("Go on"),
  ]);
  assert.equal(answer.text, HELLO);
  assert.ok(
    (answer.usage_metadata as { readonly total_tokens: number } | undefined ?? { total_tokens: 0 })
      .total_tokens > 0,
  );
  const sent = service.double.requests[0]?.["messages"] as {
    readonly role: string;
    readonly content: string;
  }[];
  assert.deepEqual(sent.map(({ role }) => role), ["system", "user", "assistant", "user"]);
  assert.ok(sent[0]?.content.endsWith("\n\nBe brief."));
  assert.equal(await textOf(await model.stream("Hi")), HELLO);
  assert.deepEqual(service.double.violations, []);
});

Deno.test("@langchain/openai: a turn of 20 steps with compactions shows no call of the service", async () => {
  await using service = await startService(obedient(), SMALL_WINDOW);
  let text = "";
  for await (const chunk of await modelOf(service).stream("Do the work")) {
    text += chunk.text;
    assert.deepEqual(chunk.tool_call_chunks ?? [], []);
  }
  assert.equal(text, "All the work is done.");
  assert.deepEqual(service.double.violations, []);
});

Deno.test("@langchain/openai: a tool of the client beside those of the service", async () => {
  await using service = await startService(obedient());
  const model = modelOf(service).bindTools([weather]);
  const asked = new HumanMessage("What is the weather?");
  const answer = await model.invoke([asked]);
  const calls = answer.tool_calls ?? [];
  assert.deepEqual(calls.map(({ name, args }) => [name, args]), [["get_weather", { city: "Bern" }]]);
  const result = new ToolMessage({ tool_call_id: calls[0]?.id ?? "", content: "21 degrees" });
  const text = await textOf(await model.stream([asked, answer, result]));
  assert.match(text, /^It is .+ and 21 degrees\.$/s);
  assert.deepEqual(service.double.violations, []);
});

Deno.test("@langchain/openai: settings and a form of the answer reach the model", async () => {
  await using service = await startService(() => ({ text: '{"city":"Bern"}' }));
  const { baseURL } = service;
  const model = new ChatOpenAI({
    model: "default",
    apiKey: "none",
    temperature: 0.5,
    topP: 0.9,
    maxTokens: 50,
    stop: ["END"],
    configuration: { baseURL },
  });
  const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const found = await model.withStructuredOutput(schema, { name: "place", method: "jsonSchema" }).invoke(
    "Where?",
  );
  assert.deepEqual(found, { city: "Bern" });
  const [body] = service.double.requests;
  assert.equal(body?.["temperature"], 0.5);
  assert.equal(body?.["top_p"], 0.9);
  assert.equal(body?.["max_tokens"], 50);
  assert.deepEqual(body?.["stop"], ["END"]);
  const form = body?.["response_format"] as { readonly type: string };
  assert.equal(form.type, "json_schema");
});

Deno.test("@langchain/openai: an error is an error, an abort ends the request to the model", async () => {
  await using service = await startService(() => ({ text: "word ".repeat(200_000) }));
  const { baseURL } = service;
  const nobody = new ChatOpenAI({
    model: "gpt-9",
    apiKey: "none",
    maxRetries: 0,
    configuration: { baseURL },
  });
  await assert.rejects(
    nobody.invoke("Hi"),
    (error) => error instanceof Error && "status" in error && error.status === 404,
  );
  const stop = new AbortController();
  await assert.rejects(async () => {
    const stream = await modelOf(service).stream("Hi", { signal: stop.signal });
    for await (const { text } of stream) if (text !== "") stop.abort();
  });
  await service.double.untilLeft(1);
});
