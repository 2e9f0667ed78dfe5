import assert from "node:assert/strict";
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import * as z from "zod";
import { HELLO, obedient, SMALL_WINDOW } from "./_scripts.ts";
import { type Service, startService } from "./_service.ts";

setTracingDisabled(true);

function agentOf({ baseURL }: Service, tools: ReturnType<typeof tool>[] = []): Agent {
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
  return new Agent({
    name: "Tester",
    instructions: "Be brief.",
    model: new OpenAIChatCompletionsModel(client, "default"),
    tools,
  });
}

Deno.test("@openai/agents: text, streamed and not, goes on with its history", async () => {
  await using service = await startService(obedient());
  const agent = agentOf(service);
  const first = await run(agent, "Hi");
  assert.equal(first.finalOutput, HELLO);
  const streamed = await run(agent, [...first.history, { role: "user", content: "And?" }], { stream: true });
  let text = "";
  for await (const part of streamed.toTextStream()) text += part;
  await streamed.completed;
  assert.equal(text, HELLO);
  const sent = service.double.requests[1]?.["messages"] as { readonly role: string }[];
  assert.deepEqual(sent.map(({ role }) => role), ["system", "user", "assistant", "user"]);
  assert.deepEqual(service.double.violations, []);
});

Deno.test("@openai/agents: a turn of 20 steps with compactions is one answer", async () => {
  await using service = await startService(obedient(), SMALL_WINDOW);
  const result = await run(agentOf(service), "Do the work", { stream: true });
  await result.completed;
  assert.equal(result.finalOutput, "All the work is done.");
  assert.deepEqual(result.newItems.map(({ type }) => type), ["message_output_item"]);
  assert.deepEqual(service.double.violations, []);
});

Deno.test("@openai/agents: a tool of the client is run there, and none of the service", async () => {
  await using service = await startService(obedient());
  const asked: string[] = [];
  const weather = tool({
    name: "get_weather",
    description: "The weather in a city",
    parameters: z.object({ city: z.string() }),
    execute({ city }) {
      asked.push(city);
      return "21 degrees";
    },
  });
  for (const stream of [false, true]) {
    const agent = agentOf(service, [weather]);
    const result = stream
      ? await run(agent, "What is the weather?", { stream: true })
      : await run(agent, "What is the weather?");
    if ("completed" in result) await result.completed;
    assert.match(result.finalOutput ?? "", /^It is .+ and 21 degrees\.$/s);
  }
  assert.deepEqual(asked, ["Bern", "Bern"]);
  assert.deepEqual(service.double.violations, []);
});

Deno.test("@openai/agents: an error of the service is an error of the run, an abort ends the model's request", async () => {
  await using service = await startService(() => ({ text: "word ".repeat(200_000) }));
  const { baseURL } = service;
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
  const nobody = new Agent({ name: "Nobody", model: new OpenAIChatCompletionsModel(client, "gpt-9") });
  await assert.rejects(run(nobody, "Hi"), /no agent/);
  const stop = new AbortController();
  const result = await run(agentOf(service), "Hi", { stream: true, signal: stop.signal });
  for await (const text of result.toTextStream()) if (text !== "") stop.abort();
  await result.completed.catch(() => {});
  await service.double.untilLeft(1);
});
