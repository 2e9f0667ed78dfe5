import assert from "node:assert/strict";
import { anthropic } from "../../src/models/anthropic.ts";
import type { ModelEvent } from "../../src/ports.ts";
import type { Json } from "../support/wire_json.ts";
import { event } from "../support/event_frames.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { assertHoweverSplit, collect, finishOf } from "./_answers.ts";

async function streamed(
  reads: readonly (string | Uint8Array)[],
  end: "close" | "error" | "hang" = "close",
): Promise<ModelEvent[]> {
  const { fetch } = fakeFetch({ reads, end });
  const model = anthropic({ model: "m", fetch, maxRetries: 0 });
  return await collect(model);
}

function begin(usage: unknown = { input_tokens: 9, output_tokens: 1 }): string {
  return event({ type: "message_start", message: { role: "assistant", content: [], usage } });
}

function start(index: unknown, content_block: Json): string {
  return event({ type: "content_block_start", index, content_block });
}

function delta(index: unknown, fields: Json): string {
  return event({ type: "content_block_delta", index, delta: fields });
}

function text(index: unknown, value: string): string {
  return delta(index, { type: "text_delta", text: value });
}

function input(index: unknown, partial_json: string): string {
  return delta(index, { type: "input_json_delta", partial_json });
}

function end(stop_reason: string | null = "end_turn", usage: unknown = { output_tokens: 4 }): string {
  return event({ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage }) +
    event({ type: "message_stop" });
}

const ping = event({ type: "ping" });
const textStart = { type: "text", text: "" };
const get = (id = "a", more: Json = {}): Json => ({ type: "tool_use", id, name: "get", input: {}, ...more });

Deno.test("anthropic() gives one event for neighbours of one kind in one network read", async () => {
  const events = await streamed([
    begin() + ping + start(0, { type: "thinking", thinking: "", signature: "" }) +
    delta(0, { type: "thinking_delta", thinking: "a" }) +
    delta(0, { type: "thinking_delta", thinking: "b" }) +
    delta(0, { type: "signature_delta", signature: "S" }) + start(1, textStart) + text(1, "c") + text(1, "d"),
    text(1, "e") + start(2, get("x")) + input(2, '{"q"') + start(3, get("y")) + input(3, "{") +
    input(2, ":1}") +
    input(3, "}"),
    ": keep-alive\n\n",
    end("tool_use"),
  ]);
  assert.deepEqual(events.slice(0, -1), [
    { type: "reasoning.delta", text: "ab" },
    { type: "text.delta", text: "cd" },
    { type: "text.delta", text: "e" },
    { type: "tool.input.delta", call: 0, name: "get", delta: '{"q"' },
    { type: "tool.input.delta", call: 1, name: "get", delta: "{" },
    { type: "tool.input.delta", call: 0, name: "get", delta: ":1}" },
    { type: "tool.input.delta", call: 1, name: "get", delta: "}" },
  ]);
  assert.deepEqual(finishOf(events).message.content, [
    { type: "reasoning", text: "ab", providerOptions: { anthropic: { signature: "S" } } },
    { type: "text", text: "cde" },
    { type: "tool-call", toolCallId: "x", toolName: "get", input: { q: 1 } },
    { type: "tool-call", toolCallId: "y", toolName: "get", input: {} },
  ]);
});

Deno.test.each([["\n"], ["\r\n"], ["\r"]])(
  "anthropic() reads frames split at any byte, lines ending in %j",
  async (eol) => {
    const wire = begin() + ping + start(0, { type: "thinking", thinking: "", signature: "" }) +
      delta(0, { type: "thinking_delta", thinking: "ä" }) +
      delta(0, { type: "signature_delta", signature: "S=" }) +
      start(1, textStart) + text(1, "é😀") + ": ping\n\n" + start(2, get()) + input(2, '{"q":') +
      input(2, '"ü"}') + event({ type: "content_block_stop", index: 2 }) + end("tool_use");
    const content = [
      { type: "reasoning", text: "ä", providerOptions: { anthropic: { signature: "S=" } } },
      { type: "text", text: "é😀" },
      { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: "ü" } },
    ];
    await assertHoweverSplit(wire.replaceAll("\n", eol), streamed, { content, text: "é😀" });
  },
);

const said = start(0, textStart) + text(0, "x");
const cache = { cache_read_input_tokens: 4, cache_creation_input_tokens: 3 };

Deno.test.each([
  ["in both places", begin() + said + end(), { inputTokens: 9, outputTokens: 4 }],
  [
    "with cache fields",
    begin({ input_tokens: 11, output_tokens: 1, ...cache }) + said + end("end_turn", { output_tokens: 7 }),
    { inputTokens: 18, outputTokens: 7, cachedTokens: 4 },
  ],
  [
    "that has grown at the end",
    begin({ input_tokens: 5, ...cache }) + said +
    end("end_turn", { input_tokens: 50, output_tokens: 7, cache_read_input_tokens: null }),
    { inputTokens: 57, outputTokens: 7, cachedTokens: 4 },
  ],
  ["with what was made so far", begin() + said + end("end_turn", null), { inputTokens: 9, outputTokens: 1 }],
  ["at the end alone", begin(null) + said + end("end_turn", { input_tokens: 9, output_tokens: 4 }), {
    inputTokens: 9,
    outputTokens: 4,
  }],
  ["nowhere", begin(null) + said + end("end_turn", null), undefined],
  ["without the input", begin(null) + said + end("end_turn", { output_tokens: 4 }), undefined],
  ["as zeros", begin({ input_tokens: 0 }) + said + end("end_turn", { output_tokens: 0 }), undefined],
  ["as nonsense", begin({ input_tokens: "9" }) + said + end("end_turn", {}), undefined],
])("anthropic() takes usage %s", async (_, wire, expected) => {
  const finish = finishOf(await streamed([wire]));
  assert.deepEqual(finish.usage, expected);
  assert.equal("usage" in finish, expected !== undefined);
});

const one = [["a", "get", { q: 1 }]];
const two = [["a", "get", { q: 1 }], ["b", "get", { q: 2 }]];

Deno.test.each([
  ["with arguments whole at the start", start(0, get("a", { input: { q: 1 } })), one],
  ["without arguments", start(0, get()), [["a", "get", {}]]],
  ["with an empty piece", start(0, get()) + input(0, ""), [["a", "get", {}]]],
  ["with blank arguments", start(0, get()) + input(0, " "), [["a", "get", {}]]],
  ["without input", start(0, { type: "tool_use", id: "a", name: "get" }), [["a", "get", {}]]],
  ["with a list for arguments", start(0, get()) + input(0, "[1]"), [["a", "get", {
    unparsed_arguments: "[1]",
  }]]],
  ["cut off", start(0, get()) + input(0, '{"q'), [["a", "get", { unparsed_arguments: '{"q' }]]],
  [
    "interleaved",
    start(0, get()) + start(1, get("b")) + input(1, '{"q":2}') + input(0, '{"q":1}'),
    two,
  ],
  [
    "with one index for all",
    start(0, get()) + input(0, '{"q":1}') + start(0, get("b")) + input(0, '{"q":2}'),
    two,
  ],
  ["without index", start(undefined, get()) + input(undefined, '{"q":1}'), one],
  ["with an index that starts at 5", start(5, get()) + input(5, '{"q":1}'), one],
  ["without an id", start(0, get("")) + input(0, '{"q":1}'), [["call_0", "get", { q: 1 }]]],
  [
    "with a caller that is the model",
    start(0, get("a", { caller: { type: "direct" } })) + input(0, '{"q":1}'),
    one,
  ],
])("anthropic() takes calls %s", async (_, wire, expected) => {
  const { message, reason } = finishOf(await streamed([begin() + wire + end("tool_use")]));
  assert.equal(reason, "tool-calls");
  assert.ok(typeof message.content !== "string");
  const calls = message.content.map((part) => {
    assert.ok(part.type === "tool-call" && part.providerOptions === undefined);
    return [part.toolCallId, part.toolName, part.input];
  });
  assert.deepEqual(calls, expected);
});

Deno.test("anthropic() keeps who has made a call where it was no direct one", async () => {
  const caller = { type: "code_execution_20250825", tool_id: "srvtoolu_1" };
  const { message } = finishOf(await streamed([begin() + start(0, get("a", { caller })) + end("tool_use")]));
  assert.ok(typeof message.content !== "string");
  assert.deepEqual(message.content[0]?.providerOptions, { anthropic: { caller } });
});

Deno.test.each([
  ["max_tokens", "tool_use", "length"],
  ["max_tokens", "refusal", "length"],
  ["model_context_window_exceeded", "end_turn", "length"],
  ["refusal", "tool_use", "content-filter"],
  ["end_turn", "max_tokens", "length"],
  ["pause_turn", "tool_use", "tool-calls"],
])("anthropic() reads stop_reason %s and then %s of a call as %s", async (first, then, reason) => {
  const told = event({ type: "message_delta", delta: { stop_reason: first } });
  const wire = begin() + start(0, get()) + input(0, "{}") + told + end(then);
  assert.equal(finishOf(await streamed([wire])).reason, reason);
});

Deno.test.each([
  ["without the last line's end", [begin() + said + end().trimEnd()]],
  ["with text at the start of the block", [begin() + start(0, { type: "text", text: "x" }) + end()]],
  ["without the start of the block", [begin() + text(0, "x") + end()]],
  ["with events that are yet to come", [
    begin() + event({ type: "news" }) + said + delta(0, { type: "news_delta", news: 1 }) + end(),
  ]],
  ["with events that have no name", [(begin() + said + end()).replaceAll(/^event: .*\n/gm, "")]],
  ["with empty data for keep-alive", ["data: \n\n", begin() + said + end()]],
  ["with fields that event streams do not have", ["hello\n\n", begin() + said + end()]],
  ["with events after the end", [`${begin() + said + end()}data: {oops\n\n`]],
  ["with an empty block", [begin() + said + start(1, textStart) + end()]],
  ["with a null error", [begin() + event({ type: "ping", error: null }) + said + end()]],
])("anthropic() takes a stream %s", async (_, reads) => {
  assert.deepEqual(finishOf(await streamed(reads)).message.content, [{ type: "text", text: "x" }]);
});

Deno.test("anthropic() takes a delta of another kind than its block as a block of its own", async () => {
  const wire = begin() + start(0, get()) + input(0, "{}") + text(0, "x") +
    delta(0, { type: "thinking_delta", thinking: "t" });
  const { message } = finishOf(await streamed([wire + end("tool_use")]));
  assert.ok(typeof message.content !== "string");
  assert.deepEqual(message.content.map(({ type }) => type), ["tool-call", "text", "reasoning"]);
});

Deno.test("anthropic() keeps thinking that was cut off, without a signature", async () => {
  const wire = begin() + start(0, { type: "thinking", thinking: "", signature: "" }) +
    delta(0, { type: "thinking_delta", thinking: "hm" }) + start(1, { type: "thinking", thinking: "" });
  const { message, reason } = finishOf(await streamed([wire + end("max_tokens")]));
  assert.deepEqual([message.content, reason], [[{ type: "reasoning", text: "hm" }], "length"]);
});

Deno.test("anthropic() finishes an answer that says nothing", async () => {
  const { message, reason } = finishOf(await streamed([begin() + end()]));
  assert.deepEqual([message.content, reason], [[], "stop"]);
});

Deno.test.each([["close"], ["error"], ["hang"]] as const)(
  "anthropic() ends with message_stop, whatever the connection does then (%s)",
  async (after) => {
    assert.equal(finishOf(await streamed([begin() + said + end()], after)).reason, "stop");
  },
);

Deno.test("anthropic() takes the pieces of a provider's call, and what it cannot parse of it", async () => {
  const call = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} };
  const wire = start(0, call) + input(0, '{"query":') + input(0, '"x"}') +
    start(1, { ...call, id: "srvtoolu_2" }) +
    input(1, '{"que');
  const events = await streamed([begin() + wire + end("max_tokens")]);
  const { message } = finishOf(events);
  assert.equal(events.length, 1, "no event of ours tells of calls that we do not answer");
  assert.ok(typeof message.content !== "string");
  assert.deepEqual(message.content.map((part) => part.type === "tool-call" && part.input), [
    { query: "x" },
    { unparsed_arguments: '{"que' },
  ]);
  assert.deepEqual(message.content[0]?.providerOptions, {
    anthropic: { block: { ...call, input: { query: "x" } } },
  });
});

Deno.test("anthropic() names a provider's result by its call, or by its type", async () => {
  const result = (id: string) => ({ type: "web_fetch_tool_result", tool_use_id: id, content: { url: "u" } });
  const wire = start(0, { type: "mcp_tool_use", id: "m", name: "list", input: {} }) +
    start(1, { ...result("m"), type: "mcp_tool_result", is_error: true }) + start(2, result("gone"));
  const { message } = finishOf(await streamed([begin() + wire + end()]));
  assert.ok(typeof message.content !== "string");
  const results = message.content.flatMap((part) =>
    part.type === "tool-result" ? [[part.toolName, part.output]] : []
  );
  assert.deepEqual(results, [
    ["list", { type: "error-json", value: { url: "u" } }],
    ["web_fetch", { type: "json", value: { url: "u" } }],
  ]);
});
