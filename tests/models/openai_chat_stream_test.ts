/** Streams that the adapter for Chat Completions puts together. */
import assert from "node:assert/strict";
import { openaiChat } from "../../src/models/openai_chat.ts";
import type { ModelEvent } from "../../src/ports.ts";
import { ending, fakeFetch, frame } from "../support/fake_fetch.ts";
import { assertHoweverSplit, collect, finishOf } from "./_answers.ts";

async function streamed(reads: readonly (string | Uint8Array)[]): Promise<ModelEvent[]> {
  const { fetch } = fakeFetch({ reads });
  return await collect(openaiChat({ model: "m", fetch }));
}

Deno.test("openaiChat() gives one event for neighbours of one kind in one network read", async () => {
  const call = (index: number, text: string, name?: string) =>
    frame({
      tool_calls: [{
        index,
        ...(name && { id: name }),
        function: { ...(name && { name }), arguments: text },
      }],
    });
  const events = await streamed([
    frame({ reasoning: "a" }) + frame({ reasoning_content: "b" }) + frame({ content: "c" }) +
    frame({ content: "d" }),
    frame({ content: "e" }) + call(0, "", "x") + call(0, '{"q"') + call(1, "{", "y") + call(0, ":1}") +
    call(1, "}"),
    ": keep-alive\n\n",
    frame({ content: null }) + ending("tool_calls"),
  ]);
  assert.deepEqual(events.slice(0, -1), [
    { type: "reasoning.delta", text: "ab" },
    { type: "text.delta", text: "cd" },
    { type: "text.delta", text: "e" },
    { type: "tool.input.delta", call: 0, name: "x", delta: '{"q"' },
    { type: "tool.input.delta", call: 1, name: "y", delta: "{" },
    { type: "tool.input.delta", call: 0, name: "x", delta: ":1}" },
    { type: "tool.input.delta", call: 1, name: "y", delta: "}" },
  ]);
  assert.deepEqual(finishOf(events).message.content, [
    { type: "reasoning", text: "ab" },
    { type: "text", text: "cde" },
    { type: "tool-call", toolCallId: "x", toolName: "x", input: { q: 1 } },
    { type: "tool-call", toolCallId: "y", toolName: "y", input: {} },
  ]);
});

Deno.test.each([["\n"], ["\r\n"], ["\r"]])(
  "openaiChat() reads frames split at any byte, lines ending in %j",
  async (eol) => {
    const text = frame({ role: "assistant", content: "" }) + ": ping\n\n" +
      frame({ content: "é😀" }) +
      frame({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: '{"q":' } }] }) +
      frame({ tool_calls: [{ index: 0, function: { arguments: '"ü"}' } }] }) +
      ending("tool_calls");
    const content = [
      { type: "text", text: "é😀" },
      { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: "ü" } },
    ];
    await assertHoweverSplit(text.replaceAll("\n", eol), streamed, { content, text: "é😀" });
  },
);

const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
const stop = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };

Deno.test.each([
  ["in a last chunk without choices", [stop, { choices: [], usage }], { inputTokens: 9, outputTokens: 4 }],
  ["in the chunk with the finish_reason", [{ ...stop, usage }], { inputTokens: 9, outputTokens: 4 }],
  [
    "in every chunk, null at first",
    [{ ...stop, usage: null }, { ...stop, usage: { ...usage, completion_tokens: 1 } }, {
      choices: [],
      usage,
    }],
    { inputTokens: 9, outputTokens: 4 },
  ],
  [
    "with cached tokens",
    [stop, { choices: [], usage: { ...usage, prompt_tokens_details: { cached_tokens: 6 } } }],
    { inputTokens: 9, outputTokens: 4, cachedTokens: 6 },
  ],
  [
    "with details that are null",
    [stop, { choices: [], usage: { ...usage, prompt_tokens_details: null } }],
    { inputTokens: 9, outputTokens: 4 },
  ],
  ["nowhere", [stop], undefined],
  ["as zeros", [stop, { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } }], undefined],
  ["as nonsense", [stop, { choices: [], usage: { prompt_tokens: "9" } }], undefined],
])("openaiChat() takes usage %s", async (_, chunks, expected) => {
  const data = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  const finish = finishOf(await streamed([`${data}data: [DONE]\n\n`]));
  assert.deepEqual(finish.usage, expected);
  assert.equal("usage" in finish, expected !== undefined);
});

type Fragment = Readonly<Record<string, unknown>>;
const named = (name: string, text?: unknown) => ({ function: { name, arguments: text } });
const rest = (text: string) => ({ function: { arguments: text } });
const one = [["get", { q: 1 }]] as const;
const two = [["get", { q: 1 }], ["put", { q: 2 }]] as const;
const same = [["get", { q: 1 }], ["get", { q: 2 }]] as const;

const FRAGMENTS:
  readonly (readonly [string, readonly Fragment[][], readonly (readonly [string, unknown])[]])[] = [
    ["with arguments whole", [[{ index: 0, id: "a", ...named("get", '{"q":1}') }]], one],
    ["with arguments as an object", [[{ index: 0, id: "a", ...named("get", { q: 1 }) }]], one],
    ["without arguments", [[{ index: 0, id: "a", ...named("get") }]], [["get", {}]]],
    ["with blank arguments", [[{ index: 0, id: "a", ...named("get", " ") }]], [["get", {}]]],
    ["with a list for arguments", [[{ index: 0, id: "a", ...named("get", "[1]") }]], [["get", {
      unparsed_arguments: "[1]",
    }]]],
    ["cut off", [[{ index: 0, id: "a", ...named("get", '{"q"') }]], [["get", {
      unparsed_arguments: '{"q"',
    }]]],
    [
      "with id and name repeated",
      [[{ index: 0, id: "a", ...named("get", '{"q"') }], [{ index: 0, id: "a", ...named("get", ":1}") }]],
      one,
    ],
    [
      "with the name after the id and the arguments",
      [[{ index: 0, id: "a", ...rest('{"q"') }], [{ index: 0, ...named("get", ":1}") }]],
      one,
    ],
    [
      "interleaved",
      [
        [{ index: 0, id: "a", ...named("get") }, { index: 1, id: "b", ...named("put") }],
        [{ index: 1, ...rest('{"q":2}') }, { index: 0, ...rest('{"q":1}') }],
      ],
      two,
    ],
    [
      "with an index that starts at 1",
      [[{ index: 1, id: "a", ...named("get", '{"q":1}') }], [{
        index: 2,
        id: "b",
        ...named("put", '{"q":2}'),
      }]],
      two,
    ],
    [
      "with index 0 for every call",
      [
        [{ index: 0, id: "a", ...named("get", '{"q"') }],
        [{ index: 0, ...rest(":1}") }],
        [{ index: 0, id: "b", ...named("put", '{"q"') }],
        [{ index: 0, ...rest(":2}") }],
      ],
      two,
    ],
    [
      "with an id of its own for every fragment",
      [[{ index: 0, id: "a", ...named("get", '{"q"') }], [{ index: 0, id: "z", ...rest(":1}") }]],
      one,
    ],
    [
      "with an index that counts fragments",
      [[{ index: 0, id: "a", ...named("get", '{"q"') }], [{ index: 1, ...rest(":1}") }]],
      one,
    ],
    [
      "without index",
      [
        [{ id: "a", ...named("get", '{"q"') }],
        [rest(":1}")],
        [{ id: "b", ...named("put", "") }],
        [{ id: "b", ...rest('{"q":2}') }],
      ],
      two,
    ],
    ["without index in one chunk", [[{ id: "a", ...named("get", '{"q":1}') }, {
      id: "b",
      ...named("put", '{"q":2}'),
    }]], two],
    ["without index and id", [[named("get", '{"q":1}')], [named("get", '{"q":2}')]], same],
    ["without index and id in one chunk", [[named("get", '{"q":1}'), named("get", '{"q":2}')]], same],
    ["without index and id, the name repeated", [[named("get", '{"q"')], [named("get", ":1}")]], one],
    ["without index, the id behind it", [[rest("")], [{ id: "a", ...named("get", '{"q":1}') }]], one],
    ["with an empty entry beside it", [[{ index: 0, id: "a", ...named("get", '{"q":1}') }, {
      index: 1,
      ...named(""),
    }]], one],
  ];

Deno.test.each(FRAGMENTS)("openaiChat() takes calls %s", async (_, chunks, expected) => {
  const frames = chunks.map((tool_calls) => frame({ tool_calls }));
  const events = await streamed([...frames, ending("stop")]);
  const { message, reason } = finishOf(events);
  assert.equal(reason, "tool-calls", "whatever the server calls it");
  assert.ok(Array.isArray(message.content));
  const calls = message.content.filter((part) => part.type === "tool-call");
  assert.deepEqual(calls.map((call) => [call.toolName, call.input]), expected);
  assert.equal(new Set(calls.map((call) => call.toolCallId)).size, calls.length, "ids are there and differ");
  for (const [index, call] of calls.entries()) {
    const told = events.filter((event) => event.type === "tool.input.delta" && event.call === index);
    assert.ok(told.length > 0 && told.every((event) => "name" in event && event.name === call.toolName));
  }
});

Deno.test("openaiChat() takes the older function_call", async () => {
  const events = await streamed([
    frame({ function_call: { name: "get", arguments: '{"q"' } }) +
    frame({ function_call: { arguments: ":1}" } }),
    ending("function_call"),
  ]);
  const { message, reason } = finishOf(events);
  assert.equal(reason, "tool-calls");
  assert.deepEqual(message.content, [{
    type: "tool-call",
    toolCallId: "call_0",
    toolName: "get",
    input: { q: 1 },
  }]);
});

Deno.test.each([
  ["stop", "stop"],
  ["length", "length"],
  ["model_length", "length"],
  ["content_filter", "content-filter"],
  ["tool_calls", "stop"],
  ["eos", "stop"],
])("openaiChat() reads finish_reason %s of a text as %s", async (wire, reason) => {
  assert.equal(finishOf(await streamed([frame({ content: "x" }), ending(wire)])).reason, reason);
});

Deno.test("openaiChat() keeps the reason length where calls were cut off", async () => {
  const call = frame({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: '{"q' } }] });
  assert.equal(finishOf(await streamed([call, ending("length")])).reason, "length");
});

Deno.test.each([
  ["length", "stop", "length"],
  ["length", "tool_calls", "length"],
  ["content_filter", "tool_calls", "content-filter"],
  ["length", "content_filter", "length"],
  ["stop", "length", "length"],
  ["stop", "tool_calls", "tool-calls"],
])("openaiChat() reads finish_reason %s and then %s of a call as %s", async (first, then, reason) => {
  const call = frame({ tool_calls: [{ index: 0, id: "a", function: { name: "get", arguments: "{}" } }] });
  assert.equal(finishOf(await streamed([call, frame({}, first), ending(then)])).reason, reason);
});

const message = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content } }] })}\n\n`;

Deno.test.each([
  ["without an end mark", [frame({ content: "x" }), frame({}, "stop")]],
  ["without the last line's end", [frame({ content: "x" }), frame({}, "stop").trimEnd()]],
  ["with an empty delta for keep-alive", [
    "data: \n\n",
    'data: {"type":"ping"}\n\n',
    frame({ content: "x" }),
    ending(),
  ]],
  ["with content as parts", [frame({ content: [{ type: "text", text: "x" }] }), ending()]],
  ["with a refusal", [frame({ refusal: "x" }), ending()]],
  ["with chunks after the end mark", [frame({ content: "x" }), `${ending()}data: {oops\n\n`]],
  ["with a message in place of a delta", [message("x"), ending()]],
  ["with messages in place of deltas", [message("x"), message(""), ending()]],
  ["with the whole message behind its deltas", [frame({ content: "x" }), message("x"), ending()]],
  ["with a null error", ['data: {"error":null,"choices":[]}\n\n', frame({ content: "x" }), ending()]],
  ["with fields that event streams do not have", ["hello\n\n", frame({ content: "x" }), ending()]],
])("openaiChat() takes a stream %s", async (_, reads) => {
  assert.deepEqual(finishOf(await streamed(reads)).message.content, [{ type: "text", text: "x" }]);
});

Deno.test("openaiChat() takes the break of a connection after the finish_reason as the end", async () => {
  const { fetch } = fakeFetch({ reads: [frame({ content: "x" }), frame({}, "stop")], end: "error" });
  assert.equal(finishOf(await collect(openaiChat({ model: "m", fetch }))).reason, "stop");
});

Deno.test("openaiChat() finishes an answer that says nothing", async () => {
  const { message, reason } = finishOf(await streamed([ending()]));
  assert.deepEqual([message.content, reason], [[], "stop"]);
});
