/** What the provider of Responses makes beside texts and calls: items of its own tools, refusals, citations. */
import assert from "node:assert/strict";
import type { ResponsesReply } from "../support/responses_double.ts";
import type { Json } from "../support/wire_json.ts";
import { double, itemsOf, modelOf, said, thought, twoSteps } from "./_responses_upstream.ts";
import type { Part } from "./_messages.ts";

const search: Json = {
  type: "web_search_call",
  status: "completed",
  action: { type: "search", query: "é😀" },
};
const list: Json = { type: "mcp_list_tools", server_label: "s", tools: [] };
const mcp: Json = {
  type: "mcp_call",
  status: "completed",
  server_label: "s",
  name: "roll",
  arguments: '{"n":6}',
  output: "4",
};
const hosted: ResponsesReply = {
  items: [
    list,
    thought("search"),
    search,
    mcp,
    { ...mcp, status: "failed", error: "no" },
    thought("so"),
    said("4."),
  ],
};

Deno.test("openaiResponses() takes tools that the provider runs as calls with results, and gives them back whole", async () => {
  await using upstream = double([hosted, { text: "Done." }]);
  const model = modelOf(upstream, { providerTools: [{ type: "web_search" }] });
  const { message, second } = await twoSteps(upstream, model);
  assert.ok(typeof message.content !== "string");
  const shown = message.content.flatMap((part) =>
    part.type === "tool-call"
      ? [[part.toolCallId, part.toolName, part.input, part.providerExecuted]]
      : part.type === "tool-result"
      ? [[part.toolCallId, part.toolName, part.output]]
      : []
  );
  assert.deepEqual(shown, [
    ["ws_1_2", "web_search", { type: "search", query: "é😀" }, true],
    ["ws_1_2", "web_search", { type: "json", value: {} }],
    ["mcp_1_3", "roll", { n: 6 }, true],
    ["mcp_1_3", "roll", { type: "json", value: { server_label: "s", output: "4" } }],
    ["mcp_1_4", "roll", { n: 6 }, true],
    ["mcp_1_4", "roll", { type: "error-json", value: "no" }],
  ]);
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(second.tools, [{ type: "web_search" }]);
  assert.deepEqual(itemsOf(second).slice(1, 6).map(({ id, type }) => [id, type]), [
    ["mcpl_1_0", "mcp_list_tools"],
    ["rs_1_1", "reasoning"],
    ["ws_1_2", "web_search_call"],
    ["mcp_1_3", "mcp_call"],
    ["mcp_1_4", "mcp_call"],
  ]);
});

Deno.test("openaiResponses() shows another model the provider's tools as tools like any other", async () => {
  await using upstream = double([hosted, { text: "Done." }]);
  const { second } = await twoSteps(upstream, modelOf(upstream), {
    again: modelOf(upstream, { model: "other" }),
  });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second).slice(1), [
    {
      type: "function_call",
      call_id: "ws_1_2",
      name: "web_search",
      arguments: '{"type":"search","query":"é😀"}',
    },
    { type: "function_call_output", call_id: "ws_1_2", output: "{}" },
    { type: "function_call", call_id: "mcp_1_3", name: "roll", arguments: '{"n":6}' },
    { type: "function_call_output", call_id: "mcp_1_3", output: '{"server_label":"s","output":"4"}' },
    { type: "function_call", call_id: "mcp_1_4", name: "roll", arguments: '{"n":6}' },
    { type: "function_call_output", call_id: "mcp_1_4", output: 'Error: "no"' },
    { role: "assistant", content: "4." },
  ]);
});

Deno.test("openaiResponses() sends the provider's item not without the reasoning before it", async () => {
  await using upstream = double([hosted, { text: "Done." }]);
  const { second } = await twoSteps(upstream, modelOf(upstream), {
    edit: ({ content }) => ({
      role: "assistant",
      content: (content as readonly Part[]).filter(({ type, text }: Part & { text?: string }) =>
        type !== "reasoning" || text === ""
      ),
    }),
  });
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second).slice(1, 5).map(({ id, type }) => [id, type]), [
    ["mcpl_1_0", "mcp_list_tools"],
    [undefined, "function_call"],
    [undefined, "function_call_output"],
    ["mcp_1_3", "mcp_call"],
  ]);
});

Deno.test("openaiResponses() keeps a refusal and citations", async () => {
  const annotation = { type: "url_citation", url: "https://x/y", title: "Y", start_index: 0, end_index: 2 };
  const items = [
    said("", {
      content: [{ type: "output_text", text: "It says yes.", annotations: [annotation], logprobs: [] }],
    }),
    said("", { content: [{ type: "refusal", refusal: "I will not." }] }),
  ];
  await using upstream = double([{ items }, { text: "Done." }]);
  const { message, second } = await twoSteps(upstream, modelOf(upstream));
  assert.ok(typeof message.content !== "string");
  assert.deepEqual(message.content.map((part) => part.type === "text" && part.text), [
    "It says yes.",
    "I will not.",
  ]);
  assert.deepEqual(upstream.violations, []);
  assert.deepEqual(itemsOf(second).slice(1).map(({ content }) => content), [
    [{ type: "output_text", text: "It says yes.", annotations: [annotation] }],
    [{ type: "refusal", refusal: "I will not." }],
  ]);
});
