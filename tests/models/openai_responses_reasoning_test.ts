/** Reasoning in Responses: what is kept of it, and what goes back. */
import assert from "node:assert/strict";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import type { ResponsesReply } from "../support/responses_double.ts";
import type { Json } from "../support/wire_json.ts";
import { collect, finishOf, request, textOf } from "./_answers.ts";
import { resultsOf } from "./_messages.ts";
import { called, double, itemsOf, modelOf, said, thought, twoSteps } from "./_responses_upstream.ts";
import type { Part } from "./_messages.ts";

const thoughtful: ResponsesReply = {
  items: [
    thought("think — about\n it ", "and again"),
    said("Let me look.", { phase: "commentary" }),
    thought(),
    called("call_a", { q: 1 }),
    called("call_b", { q: 2 }, { namespace: "files" }),
  ],
};

Deno.test("openaiResponses() sends its reasoning back unchanged, with the item that followed it", async () => {
  await using upstream = double([thoughtful, { text: "Done." }]);
  const model = modelOf(upstream);
  const { message, second } = await twoSteps(upstream, model);
  const from = `${new URL(upstream.url).host}/m`;
  const sealed = (index: number, ...texts: string[]): Json => (
    { id: `rs_1_${index}`, ...thought(...texts), encrypted_content: `ENC/1+${index}==` }
  );
  assert.deepEqual(message.content, [
    {
      type: "reasoning",
      text: "think — about\n it \n\nand again",
      providerOptions: { openai: { from, item: sealed(0, "think — about\n it ", "and again") } },
    },
    {
      type: "text",
      text: "Let me look.",
      providerOptions: { openai: { from, more: { phase: "commentary" }, id: "msg_1_1", after: "rs_1_0" } },
    },
    { type: "reasoning", text: "", providerOptions: { openai: { from, item: sealed(2) } } },
    {
      type: "tool-call",
      toolCallId: "call_a",
      toolName: "get",
      input: { q: 1 },
      providerOptions: { openai: { from, id: "fc_1_3", after: "rs_1_2" } },
    },
    {
      type: "tool-call",
      toolCallId: "call_b",
      toolName: "get",
      input: { q: 2 },
      providerOptions: { openai: { from, more: { namespace: "files" } } },
    },
  ]);
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second), [
    { role: "user", content: "hi" },
    sealed(0, "think — about\n it ", "and again"),
    {
      type: "message",
      id: "msg_1_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Let me look.", annotations: [] }],
      phase: "commentary",
    },
    sealed(2),
    { type: "function_call", id: "fc_1_3", call_id: "call_a", name: "get", arguments: '{"q":1}' },
    { type: "function_call", namespace: "files", call_id: "call_b", name: "get", arguments: '{"q":2}' },
    { type: "function_call_output", call_id: "call_a", output: "of call_a" },
    { type: "function_call_output", call_id: "call_b", output: "of call_b" },
  ]);
  assert.equal(textOf(await collect(modelOf(upstream)), "reasoning.delta"), "");
});

Deno.test("openaiResponses() streams summaries of reasoning as paragraphs", async () => {
  await using upstream = double([{ items: [thought("one two", "three"), said("So.")] }]);
  const events = await collect(modelOf(upstream));
  assert.equal(textOf(events, "reasoning.delta"), "one two\n\nthree");
});

const EDITS: readonly (readonly [string, (parts: readonly Part[]) => readonly Part[], readonly string[]])[] =
  [
    ["without what followed it", (parts) => parts.filter(({ type }) => type !== "text"), [
      "rs_1_2",
      "fc_1_3",
    ]],
    [
      "with another text behind it",
      (parts) => parts.map((part) => part.type === "text" ? { type: "text", text: "(edited)" } : part),
      ["rs_1_2", "fc_1_3"],
    ],
    ["at the end", (parts) => [...parts.slice(2), ...parts.slice(0, 1)], ["rs_1_2", "fc_1_3"]],
    ["itself left out", (parts) => parts.filter(({ type }) => type !== "reasoning"), []],
    ["in front of the one it followed", ([first, ...rest]) => [...rest, ...(first ? [first] : [])], [
      "rs_1_2",
      "fc_1_3",
    ]],
  ];

Deno.test.each(EDITS)("openaiResponses() gets reasoning past the service %s", async (_, edit, ids) => {
  await using upstream = double([thoughtful, { text: "Done." }]);
  const { second } = await twoSteps(upstream, modelOf(upstream), {
    edit: ({ content }) => ({ role: "assistant", content: edit(content as readonly Part[]) }),
  });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second).flatMap(({ id }) => id ?? []), ids);
});

Deno.test("openaiResponses() leaves the reasoning of another model out", async () => {
  await using upstream = double([thoughtful, { text: "Done." }]);
  const { second } = await twoSteps(upstream, modelOf(upstream), {
    again: modelOf(upstream, { model: "other" }),
  });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second).slice(1, 4), [
    { role: "assistant", content: "Let me look." },
    { type: "function_call", call_id: "call_a", name: "get", arguments: '{"q":1}' },
    { type: "function_call", call_id: "call_b", name: "get", arguments: '{"q":2}' },
  ]);
});

Deno.test("openaiResponses() leaves out of a second attempt what the service cannot read any more", async () => {
  await using upstream = double([thoughtful, { text: "Done." }]);
  const model = modelOf(upstream);
  const { message } = finishOf(await collect(model));
  upstream.forget();
  const messages = [...request.messages, message, resultsOf(message)];
  assert.equal(finishOf(await collect(model, { ...request, messages })).reason, "stop");
  assert.equal(upstream.violations.length, 1);
  assert.match(upstream.violations[0] ?? "", /could not be verified/);
  // The next one does not begin with it.
  await collect(model, {
    ...request,
    messages: [...messages, { role: "assistant", content: "x" }, ...request.messages],
  });
  assert.equal(upstream.violations.length, 1);
  assert.equal(upstream.requests.length, 4);
});

Deno.test("openaiResponses() does not ask a model for reasoning that has none, after it was told so", async () => {
  await using upstream = double([{ text: "fine" }], { reasons: false });
  const model = modelOf(upstream);
  for (let step = 0; step < 2; step++) assert.equal(textOf(await collect(model), "text.delta"), "fine");
  assert.deepEqual(upstream.requests.map(({ include }) => include !== undefined), [true, false, false]);
  assert.equal(upstream.violations.length, 1);
});

Deno.test("openaiResponses() does not send the same request twice where there is nothing to leave out", async () => {
  const reads = [JSON.stringify({ error: { message: "The encrypted content could not be verified." } })];
  const fake = fakeFetch({ status: 400, reads });
  const model = openaiResponses({ model: "m", fetch: fake.fetch });
  await assert.rejects(collect(model), { code: "model_refused" });
  assert.equal(fake.requests.length, 1);
});
