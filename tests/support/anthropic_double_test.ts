/** What the double for Messages remembers, bills, streams and breaks. Over 300 lines: requests and frames are written out. */
import assert from "node:assert/strict";
import type { ModelRequest } from "../../src/ports.ts";
import type { MessagesReply } from "./anthropic_double.ts";
import type { Fault } from "./anthropic_stream.ts";
import type { Json } from "./wire_json.ts";
import {
  answerOf,
  asks,
  base,
  call,
  framesOf,
  gives,
  HEADERS,
  mark,
  png,
  post,
  result,
  start,
  text,
  user,
} from "./_anthropic_asking.ts";

const enabled = { thinking: { type: "enabled", budget_tokens: 1_024 }, max_tokens: 2_000 };
const thoughtful: MessagesReply = {
  blocks: [{ type: "thinking", thinking: "one" }, { type: "redacted_thinking" }, call("a")],
};

const TAMPERED: readonly (readonly [string, (content: readonly Json[]) => readonly Json[], RegExp | null])[] =
  [
    ["as it was", (content) => content, null],
    [
      "with other words",
      ([first, ...rest]) => [{ ...first, thinking: "two" }, ...rest],
      /Invalid `signature`/,
    ],
    [
      "in another order",
      ([first, second, third]) => [second ?? {}, first ?? {}, third ?? {}],
      /cannot be modified/,
    ],
    ["without its second part", ([first, , third]) => [first ?? {}, third ?? {}], /cannot be modified/],
    ["without its first part", ([, ...rest]) => rest, /cannot be modified/],
    [
      "not at all",
      (content) => content.slice(2),
      /Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
    ],
    [
      "as the last block",
      ([first, second, third]) => [third ?? {}, first ?? {}, second ?? {}],
      /final block/,
    ],
  ];

Deno.test.each(TAMPERED)("startAnthropicDouble() gets its thinking back %s", async (_, edit, message) => {
  await using double = start({ script: () => thoughtful });
  const { content } = await answerOf(double, { ...base, ...enabled });
  const messages = [user, asks(...edit(content)), gives(result("a"))];
  const response = await post(double, { ...base, ...enabled, messages });
  const { error } = await response.json();
  assert.equal(response.status, message === null ? 200 : 400);
  if (message !== null) assert.match(error.message, message);
});

Deno.test("startAnthropicDouble() asks for no thinking where a message is not being answered", async () => {
  await using double = start();
  const messages = [user, asks(call("a")), gives(result("a")), asks(text("x")), user];
  await answerOf(double, { ...base, ...enabled, messages });
  await answerOf(double, { ...base, messages: messages.slice(0, 3) });
  assert.deepEqual(double.violations, []);
});

const search = call("srv", { type: "server_tool_use", name: "web_search" });
const found = result("srv", { type: "web_search_tool_result", content: [{ encrypted_content: "E" }] });

Deno.test("startAnthropicDouble() takes its own tools back as they were, each call with its result", async () => {
  await using double = start({ script: () => ({ blocks: [search, found, text("x")] }) });
  const { content } = await answerOf(double, base);
  await answerOf(double, { ...base, messages: [user, asks(...content), user] });
  assert.deepEqual(double.violations, []);
  const changed = { ...found, content: [{ encrypted_content: "F" }] };
  for (
    const [blocks, message] of [
      [[search, changed], /Invalid `encrypted_content`/],
      [[search, text("x")], /`web_search` tool use with id `srv` was found without/],
      [[found, text("x")], /unexpected `tool_use_id` found in `web_search_tool_result`/],
    ] as const
  ) {
    const response = await post(double, { ...base, messages: [user, asks(...blocks), user] });
    assert.match((await response.json()).error.message, message);
  }
});

Deno.test("startAnthropicDouble() goes on with an answer that it has paused", async () => {
  let n = 0;
  await using double = start({
    script: () => n++ === 0 ? { blocks: [search], stopReason: "pause_turn" } : { blocks: [found, text("x")] },
  });
  const first = await answerOf(double, base);
  const second = await answerOf(double, { ...base, messages: [user, asks(...first.content)] });
  await answerOf(double, { ...base, messages: [user, asks(...first.content, ...second.content), user] });
  assert.deepEqual(double.violations, []);
});

Deno.test("startAnthropicDouble({ bound: true }) binds thinking to what stands before it", async () => {
  await using double = start({ bound: true, script: () => ({ reasoning: "well", text: "x" }) });
  const { content } = await answerOf(double, base);
  const said = asks(...content);
  await answerOf(double, { ...base, messages: [gives(text("hi", mark)), said, user] });
  const moved = { ...base, messages: [gives(text("a summary")), said, user] };
  const refused = await post(double, moved);
  assert.match((await refused.json()).error.message, /bound to a different conversation/);
  assert.equal(double.dropped, 0);
  const thinking = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
  const headers = { ...HEADERS, "anthropic-beta": "other, thinking-binding-controls-2026-08-01" };
  const taken = await post(double, { ...moved, thinking }, headers);
  assert.equal(taken.status, 200);
  await taken.body?.cancel();
  assert.equal(double.dropped, 1);
});

Deno.test("startAnthropicDouble() bills what its cache has as read, and what is marked as written", async () => {
  await using double = start();
  const long = text("word ".repeat(100), mark);
  const bill = async (messages: readonly Json[]): Promise<Json> => {
    const response = await post(double, { ...base, messages });
    return (await response.json()).usage;
  };
  const first = await bill([gives(long)]);
  assert.equal(first.cache_read_input_tokens, 0);
  assert.ok(Number(first.cache_creation_input_tokens) > 100);
  const second = await bill([gives(text(long.text as string)), asks(text("x")), gives(text("y", mark))]);
  assert.equal(second.cache_read_input_tokens, first.cache_creation_input_tokens);
  const far = Array.from({ length: 21 }, () => text("z"));
  const third = await bill([gives(long), asks(text("x")), gives(...far, text("y", mark))]);
  assert.equal(third.cache_read_input_tokens, first.cache_creation_input_tokens, "by its own mark");
  const fourth = await bill([
    gives(text(long.text as string)),
    asks(text("w")),
    gives(...far, text("y", mark)),
  ]);
  assert.equal(fourth.cache_read_input_tokens, 0, "too far back");
});

Deno.test("startAnthropicDouble() gives the script the request that the wire says", async () => {
  const seen: ModelRequest[] = [];
  let reply: MessagesReply = {
    blocks: [{ type: "thinking", thinking: "t" }, call("a", { input: { q: 1 } }), call("b")],
  };
  await using double = start({
    script: (request) => {
      seen.push(request);
      return reply;
    },
  });
  const { content } = await answerOf(double, { ...base, ...enabled });
  reply = {};
  await answerOf(double, {
    ...base,
    system: [text("one"), text("two")],
    tools: [{ name: "get", input_schema: { type: "object" } }, {
      type: "web_search_20250305",
      name: "web_search",
    }],
    messages: [
      gives(text("look"), { type: "image", source: png }, {
        type: "document",
        source: { type: "url", url: "https://x/z.pdf" },
      }),
      asks(text("both"), ...content),
      gives(result("b", { content: [text("second")], is_error: true }), result("a"), text("and")),
    ],
  });
  assert.deepEqual(double.violations, []);
  const output = (type: string, value: string) => ({ type, value });
  assert.deepEqual(seen[1], {
    system: "one\n\ntwo",
    maxOutput: 100,
    tools: [{ name: "get", description: "", inputSchema: { type: "object" } }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "file", mediaType: "image/png", data: png.data },
          { type: "file", mediaType: "document/*", data: "https://x/z.pdf" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "both" },
          { type: "reasoning", text: "t" },
          { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: 1 } },
          { type: "tool-call", toolCallId: "b", toolName: "get", input: {} },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "b", toolName: "get", output: output("error-text", "second") },
          { type: "tool-result", toolCallId: "a", toolName: "get", output: output("text", "done") },
        ],
      },
      { role: "user", content: [{ type: "text", text: "and" }] },
    ],
  });
});

const streamed = { ...base, stream: true };

Deno.test("startAnthropicDouble() streams events as the service does", async () => {
  await using double = start({
    script: () => ({ reasoning: "well", text: "hello there", calls: [{ name: "get", input: { q: "é😀" } }] }),
  });
  const response = await post(double, { ...streamed, ...enabled });
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const [head, ping, ...frames] = await framesOf(response);
  const { usage, ...message } = head?.message as Json;
  assert.deepEqual(message, {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    stop_sequence: null,
  });
  assert.equal((usage as Json).output_tokens, 1);
  assert.deepEqual(ping, { type: "ping" });
  assert.deepEqual(frames.pop(), { type: "message_stop" });
  const last = frames.pop();
  assert.deepEqual(last?.delta, { stop_reason: "tool_use", stop_sequence: null });
  assert.ok(Number((last?.usage as Json).output_tokens) > 1);
  const starts = frames.flatMap(({ content_block: block }) => block ?? []);
  assert.deepEqual(starts, [
    { type: "thinking", thinking: "", signature: "" },
    { type: "text", text: "" },
    { type: "tool_use", id: "toolu_1_0", name: "get", input: {} },
  ]);
  const deltas = frames.flatMap(({ delta, index }) =>
    delta === undefined ? [] : [[index, delta as Json] as const]
  );
  assert.deepEqual(deltas.slice(0, 4), [
    [0, { type: "thinking_delta", thinking: "well" }],
    [0, { type: "signature_delta", signature: "sig/1+0==" }],
    [1, { type: "text_delta", text: "hello" }],
    [1, { type: "text_delta", text: " there" }],
  ]);
  const json = deltas.slice(4).map(([, delta]) => delta.partial_json);
  assert.equal(json[0], "");
  assert.ok(json.length >= 4);
  assert.deepEqual(JSON.parse(json.join("")), { q: "é😀" });
  assert.equal(frames.filter(({ type }) => type === "content_block_stop").length, 3);
});

Deno.test("startAnthropicDouble() thinks only where it is asked to", async () => {
  await using double = start({ script: () => ({ reasoning: "well", text: "x" }) });
  const plain = await answerOf(double, base);
  assert.deepEqual(plain.content.map(({ type }) => type), ["text"]);
  const asked = await answerOf(double, { ...base, thinking: { type: "adaptive" } });
  assert.deepEqual(asked.content.map(({ type }) => type), ["thinking", "text"]);
});

Deno.test("startAnthropicDouble() answers 500 and records it where the script throws", async () => {
  await using double = start({
    script: () => {
      throw new Error("no idea");
    },
  });
  const response = await post(double, base);
  assert.equal(response.status, 500);
  assert.equal((await response.json()).error.type, "api_error");
  assert.match(double.violations[0] ?? "", /no idea/);
});

const opening = ["message_start", "ping", "content_block_start"];

const BROKEN: readonly (readonly [string, Fault, readonly string[]])[] = [
  ["garbage", { garbageAfter: 3 }, [...opening, "garbage"]],
  ["an error event", { errorFrameAfter: 3 }, [...opening, "error"]],
  ["no end mark", { noDone: true }, [
    ...opening,
    ...Array(3).fill("content_block_delta"),
    "content_block_stop",
    "message_delta",
  ]],
];

for (const [name, fault, expected] of BROKEN) {
  Deno.test(`startAnthropicDouble() can answer with ${name}`, async () => {
    await using double = start({ faults: () => fault });
    const frames = await framesOf(await post(double, streamed));
    assert.deepEqual(frames.map(({ type }) => type), expected);
  });
}

Deno.test("startAnthropicDouble() can answer with a status, by request number", async () => {
  const headers = { "retry-after": "3" };
  await using double = start({
    faults: (number) => number === 1 ? { status: 529, headers } : { status: 502, body: "<h1>no</h1>" },
  });
  const first = await post(double, base);
  assert.equal(first.status, 529);
  assert.equal(first.headers.get("retry-after"), "3");
  assert.equal((await first.json()).type, "error");
  assert.equal(await (await post(double, base)).text(), "<h1>no</h1>");
});
