/** What the double for Responses remembers, streams and breaks. */
import assert from "node:assert/strict";
import type { ModelRequest } from "../../src/ports.ts";
import type { ResponsesReply } from "./responses_double.ts";
import type { Fault } from "./responses_stream.ts";
import type { Json } from "./wire_json.ts";
import { answerOf, base, call, framesOf, post, result, start, tool, user } from "./_responses_asking.ts";

const SEALED = { include: ["reasoning.encrypted_content"] };
const thoughtful: ResponsesReply = { reasoning: "well", text: "So.", calls: [{ name: "get", input: {} }] };
type Edit = (output: readonly Json[]) => readonly Json[];

const TAMPERED: readonly (readonly [string, Edit, RegExp | null])[] = [
  ["as it was", (output) => output, null],
  [
    "with nothing behind it that has an id",
    ([first, ...rest]) => [first ?? {}, ...rest.map(({ id: _, status: __, ...item }) => item)],
    null,
  ],
  ["not at all, and no id", (output) => output.slice(1).map(({ id: _, status: __, ...item }) => item), null],
  [
    "not at all",
    (output) => output.slice(1),
    /'msg_1_1' of type 'message' was provided without its required 'reasoning' item: 'rs_1_0'/,
  ],
  ["with other words", ([first, ...rest]) => [{ ...first, summary: [] }, ...rest], /could not be verified/],
  [
    "under another id",
    ([first, ...rest]) => [{ ...first, id: "rs_9" }, ...rest.map(({ id: _, ...item }) => item)],
    /could not be verified/,
  ],
  [
    "without its sealed content",
    ([first, ...rest]) => [{ ...first, encrypted_content: null }, ...rest],
    /Items are not persisted/,
  ],
  [
    "in front of another item",
    ([first, said, called]) => [first ?? {}, called ?? {}, { role: "assistant", content: said?.content }],
    /without its required following item/,
  ],
  [
    "at the end",
    ([first, said, called]) =>
      [said ?? {}, called ?? {}, first ?? {}].map((item) =>
        item === first ? item : { ...item, id: undefined, status: undefined }
      ),
    /without its required following item/,
  ],
];

Deno.test.each(TAMPERED)("startResponsesDouble() gets its reasoning back %s", async (_, edit, message) => {
  await using double = start({ script: () => thoughtful });
  const { output } = await answerOf(double, { ...base, ...SEALED });
  const edited = edit(output as readonly Json[]);
  // Results follow all that was said, whatever its order.
  const response = await post(double, { ...base, input: [user, ...edited, result("call_1_0")] });
  const { error } = await response.json();
  if (message === null) assert.equal(response.status, 200, JSON.stringify(error));
  else {
    assert.match(error.message, message);
    assert.equal(response.status, /persisted/.test(error.message) ? 404 : 400);
  }
  assert.deepEqual(double.violations, message === null ? [] : [error.message]);
});

Deno.test("startResponsesDouble() refuses reasoning before a user's message", async () => {
  await using double = start({ script: () => ({ reasoning: "well" }) });
  const { output } = await answerOf(double, { ...base, ...SEALED });
  const response = await post(double, { ...base, input: [user, ...output as Json[], user] });
  assert.match((await response.json()).error.message, /without its required following item/);
});

Deno.test("startResponsesDouble() refuses an item of its own tools that it has not made", async () => {
  await using double = start();
  const response = await post(double, { ...base, input: [user, { type: "web_search_call", id: "ws_1" }] });
  assert.equal(response.status, 404);
  assert.match((await response.json()).error.message, /Item with id 'ws_1' not found/);
});

Deno.test("startResponsesDouble() seals only what it was asked for, and forgets it when told to", async () => {
  await using double = start({ script: () => ({ reasoning: "well", text: "So." }) });
  const open = await answerOf(double, base);
  assert.equal("encrypted_content" in ((open.output as Json[])[0] ?? {}), false);
  const sealed = await answerOf(double, { ...base, ...SEALED });
  double.forget();
  const response = await post(double, { ...base, input: [user, ...sealed.output as Json[]] });
  const { error } = await response.json();
  assert.equal(error.code, "invalid_encrypted_content");
});

Deno.test("startResponsesDouble() has models that do not reason", async () => {
  await using double = start({ reasons: false, script: () => ({ reasoning: "well", text: "So." }) });
  for (const body of [SEALED, { reasoning: { effort: "low" } }]) {
    const response = await post(double, { ...base, ...body });
    assert.match((await response.json()).error.message, /not supported with this model/);
  }
  const { output } = await answerOf(double, base);
  assert.deepEqual((output as Json[]).map(({ type }) => type), ["message"]);
});

Deno.test("startResponsesDouble() gives its script the request", async () => {
  const seen: ModelRequest[] = [];
  await using double = start({
    script: (request) => {
      seen.push(request);
      return {};
    },
  });
  await answerOf(double, {
    ...base,
    instructions: "be brief",
    max_output_tokens: 99,
    ...tool({ description: "Gets." }),
    input: [
      { role: "developer", content: [{ type: "input_text", text: "and kind" }] },
      {
        role: "user",
        content: [{ type: "input_text", text: "hi" }, { type: "input_image", image_url: "https://x/y" }],
      },
      { role: "assistant", content: [{ type: "output_text", text: "So." }] },
      call("a", { arguments: '{"q":1}' }),
      call("b"),
      result("b", { output: [{ type: "input_text", text: "two" }] }),
      result("a"),
    ],
  });
  const output = (value: string) => ({ type: "text", value });
  assert.deepEqual(seen, [{
    system: "be brief\n\nand kind",
    messages: [
      {
        role: "user",
        content: [{ type: "text", text: "hi" }, { type: "file", mediaType: "image/*", data: "https://x/y" }],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "So." },
          { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: 1 } },
          { type: "tool-call", toolCallId: "b", toolName: "get", input: {} },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "b", toolName: "get", output: output("two") },
          { type: "tool-result", toolCallId: "a", toolName: "get", output: output("done") },
        ],
      },
    ],
    tools: [{ name: "get", description: "Gets.", inputSchema: { type: "object" } }],
    maxOutput: 99,
  }]);
});

Deno.test("startResponsesDouble() streams each item from its start to its end, and all of them at the end", async () => {
  await using double = start({ script: () => thoughtful });
  const frames = await framesOf(await post(double, { ...base, ...SEALED, stream: true }));
  const kinds = frames.map(({ type }) => String(type).replace("response.", ""));
  assert.deepEqual(kinds.filter((kind, index) => kind !== kinds[index - 1]), [
    "created",
    "in_progress",
    "output_item.added",
    "reasoning_summary_part.added",
    "reasoning_summary_text.delta",
    "reasoning_summary_text.done",
    "reasoning_summary_part.done",
    "output_item.done",
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
    "output_item.added",
    "function_call_arguments.delta",
    "function_call_arguments.done",
    "output_item.done",
    "completed",
  ]);
  const { response } = frames.at(-1) as { readonly response: Json };
  const done = frames.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
  assert.deepEqual(response.output, done);
  assert.equal(response.status, "completed");
  assert.ok(Number((response.usage as Json).input_tokens) > 0);
});

const FAULTS: readonly (readonly [string, Fault, readonly string[]])[] = [
  ["sends garbage", { garbageAfter: 1 }, ["response.created", "garbage"]],
  ["sends an error", { errorFrameAfter: 1 }, ["response.created", "error"]],
  ["fails", { errorFrameAfter: 1, failed: true }, ["response.created", "response.failed"]],
];

Deno.test.each(FAULTS)("startResponsesDouble() %s where it was told to", async (_, fault, types) => {
  await using double = start({ faults: () => fault });
  const frames = await framesOf(await post(double, { ...base, stream: true }));
  assert.deepEqual(frames.map(({ type }) => type), types);
});

Deno.test("startResponsesDouble() tells by a status, or at the end of a stream, what it was told to", async () => {
  await using double = start({
    faults: (number) => number === 1 ? { status: 503, headers: { "retry-after": "1" } } : { noDone: true },
  });
  const refused = await post(double, { ...base, stream: true });
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"]);
  await refused.body?.cancel();
  const frames = await framesOf(await post(double, { ...base, stream: true }));
  assert.equal(frames.at(-1)?.type, "response.output_item.done");
});

Deno.test("startResponsesDouble() records a script that throws", async () => {
  await using double = start({
    script: () => {
      throw new Error("no idea");
    },
  });
  const response = await post(double, base);
  assert.equal(response.status, 500);
  assert.equal((await response.json()).error.type, "server_error");
  assert.match(double.violations[0] ?? "", /no idea/);
});
