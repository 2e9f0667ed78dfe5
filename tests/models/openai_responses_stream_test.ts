/** Streams that the adapter for Responses puts together. Over 300 lines: they are written out, event by event. */
import assert from "node:assert/strict";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import type { ModelEvent } from "../../src/ports.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { event } from "../support/event_frames.ts";
import { added, call, closed, ending, input, text } from "../support/responses_frames.ts";
import type { Json } from "../support/wire_json.ts";
import { assertHoweverSplit, collect, finishOf, textOf } from "./_answers.ts";

async function streamed(
  reads: readonly (string | Uint8Array)[],
  end: "close" | "error" | "hang" = "close",
): Promise<ModelEvent[]> {
  const { fetch } = fakeFetch({ reads, end });
  const model = openaiResponses({ model: "m", fetch, maxRetries: 0 });
  return await collect(model);
}

const begin = event({
  type: "response.created",
  response: { status: "in_progress", output: [], error: null },
});
const message = (id = "msg_1"): Json => (
  { id, type: "message", role: "assistant", status: "in_progress", content: [] }
);
const said = (value: string, id = "msg_1"): Json => (
  { ...message(id), status: "completed", content: [{ type: "output_text", text: value, annotations: [] }] }
);
const thought = (id = "rs_1"): Json => ({ id, type: "reasoning", summary: [] });
const summary = (delta: string, summary_index = 0): string =>
  event({
    type: "response.reasoning_summary_text.delta",
    item_id: "rs_1",
    output_index: 0,
    summary_index,
    delta,
  });
const x = added(0, message()) + text("x");

Deno.test("openaiResponses() gives one event for neighbours of one kind in one network read", async () => {
  const events = await streamed([
    begin + added(0, thought()) + summary("a") + summary("b") +
    closed(0, { ...thought(), summary: [{ type: "summary_text", text: "ab" }], encrypted_content: "E" }) +
    added(1, message()) + text("c", { item_id: "msg_1", output_index: 1 }) +
    text("d", { item_id: "msg_1", output_index: 1 }),
    text("e", { item_id: "msg_1", output_index: 1 }) + added(2, call("x")) +
    input({ item_id: "fc_x", output_index: 2 }, '{"q"') + added(3, call("y")) +
    input({ item_id: "fc_y", output_index: 3 }, "{") + input({ item_id: "fc_x", output_index: 2 }, ":1}") +
    input({ item_id: "fc_y", output_index: 3 }, "}"),
    ": keep-alive\n\n",
    ending(),
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
  const { content } = finishOf(events).message;
  assert.ok(typeof content !== "string");
  assert.deepEqual(content.map(({ providerOptions: _, ...part }) => part), [
    { type: "reasoning", text: "ab" },
    { type: "text", text: "cde" },
    { type: "tool-call", toolCallId: "x", toolName: "get", input: { q: 1 } },
    { type: "tool-call", toolCallId: "y", toolName: "get", input: {} },
  ]);
});

Deno.test.each([["\n"], ["\r\n"], ["\r"]])(
  "openaiResponses() reads frames split at any byte, lines ending in %j",
  async (eol) => {
    const wire = begin + added(0, message()) + text("é😀") + ": ping\n\n" + added(1, call("a")) +
      input({ item_id: "fc_a", output_index: 1 }, '{"q":') +
      input({ item_id: "fc_a", output_index: 1 }, '"ü"}') + ending();
    const content = [
      { type: "text", text: "é😀" },
      { type: "tool-call", toolCallId: "a", toolName: "get", input: { q: "ü" } },
    ];
    await assertHoweverSplit(wire.replaceAll("\n", eol), streamed, { content, text: "é😀" });
  },
);

const usage = { input_tokens: 9, output_tokens: 4, total_tokens: 13 };

Deno.test.each([
  ["at the end", usage, { inputTokens: 9, outputTokens: 4 }],
  [
    "with cached and reasoning tokens",
    { ...usage, input_tokens_details: { cached_tokens: 6 }, output_tokens_details: { reasoning_tokens: 3 } },
    { inputTokens: 9, outputTokens: 4, cachedTokens: 6 },
  ],
  ["with details that are null", { ...usage, input_tokens_details: null }, {
    inputTokens: 9,
    outputTokens: 4,
  }],
  ["nowhere", undefined, undefined],
  ["that is null", null, undefined],
  ["as zeros", { input_tokens: 0, output_tokens: 0 }, undefined],
  ["as nonsense", { input_tokens: "9" }, undefined],
])("openaiResponses() takes usage %s", async (_, billed, expected) => {
  const finish = finishOf(await streamed([begin + x + ending({ usage: billed })]));
  assert.deepEqual(finish.usage, expected);
  assert.equal("usage" in finish, expected !== undefined);
});

const q = (id: string, n: number): Json => call(id, { arguments: `{"q":${n}}`, status: "completed" });
const at = (output_index: number, id = ""): Json => ({ output_index, ...(id === "" ? {} : { item_id: id }) });
const bare = ({ id: _, ...item }: Json): Json => item;
const nameless = (n: number): Json => ({ ...bare(q("", n)), call_id: undefined });
const unnamed = [["call_0", "get", { q: 1 }], ["call_1", "get", { q: 2 }]];
const one = [["a", "get", { q: 1 }]];
const two = [["a", "get", { q: 1 }], ["b", "get", { q: 2 }]];

const CALLS: readonly (readonly [string, string, unknown])[] = [
  ["in pieces", added(0, call("a")) + input(at(0, "fc_a"), '{"q"') + input(at(0, "fc_a"), ":1}"), one],
  ["with arguments whole at the start", added(0, q("a", 1)), one],
  ["with arguments whole at the end alone", added(0, call("a")) + closed(0, q("a", 1)), one],
  ["at the end alone", closed(0, q("a", 1)) + closed(1, q("b", 2)), two],
  ["in the response alone", ending({ output: [q("a", 1), q("b", 2)] }), two],
  [
    "in pieces, at the end and in the response",
    added(0, call("a")) + input(at(0, "fc_a"), '{"q":1}') + closed(0, q("a", 1)) +
    ending({ output: [q("a", 1)] }),
    one,
  ],
  ["twice at the end", added(0, call("a")) + closed(0, q("a", 1)) + closed(0, q("a", 1)), one],
  ["twice at the start", added(0, call("a")) + added(0, call("a")) + input(at(0, "fc_a"), '{"q":1}'), one],
  [
    "with another text at the end",
    added(0, call("a")) + input(at(0), '{ "q": 1 }') + closed(0, q("a", 1)),
    one,
  ],
  ["with an object for arguments", closed(0, call("a", { arguments: { q: 1 } })), one],
  ["without arguments", added(0, call("a")), [["a", "get", {}]]],
  ["with blank arguments", added(0, call("a")) + input(at(0), " "), [["a", "get", {}]]],
  ["with a list for arguments", closed(0, call("a", { arguments: "[1]" })), [["a", "get", {
    unparsed_arguments: "[1]",
  }]]],
  ["cut off", added(0, call("a")) + input(at(0), '{"q'), [["a", "get", { unparsed_arguments: '{"q' }]]],
  [
    "interleaved",
    added(0, call("a")) + added(1, call("b")) + input(at(1, "fc_b"), '{"q":2}') +
    input(at(0, "fc_a"), '{"q":1}'),
    two,
  ],
  [
    "with index 0 for all",
    added(0, call("a")) + input(at(0, "fc_a"), '{"q":1}') + added(0, call("b")) +
    input(at(0, "fc_b"), '{"q":2}') +
    ending({ output: [q("a", 1), q("b", 2)] }),
    two,
  ],
  [
    "with index 0 for all, the pieces mixed",
    added(0, call("a")) + added(0, call("b")) + input(at(0, "fc_a"), '{"q":1}') +
    input(at(0, "fc_b"), '{"q":2}'),
    two,
  ],
  [
    "without index",
    added(undefined, call("a")) + input({ item_id: "fc_a" }, '{"q":1}') + closed(undefined, q("a", 1)) +
    added(undefined, call("b")) + input({ item_id: "fc_b" }, '{"q":2}') + closed(undefined, q("b", 2)),
    two,
  ],
  [
    "without index and ids",
    added(undefined, call("a", { id: undefined })) + input({}, '{"q":1}') +
    closed(undefined, { ...q("a", 1), id: undefined }) + added(undefined, call("b", { id: undefined })) +
    input({}, '{"q":2}') + closed(undefined, { ...q("b", 2), id: undefined }) +
    ending({ output: [{ ...q("a", 1), id: undefined }, { ...q("b", 2), id: undefined }] }),
    two,
  ],
  [
    "with an id of its own for every event",
    added(0, call("a", { id: "1" })) + input(at(0, "2"), '{"q"') + input(at(0, "3"), ":1}") +
    closed(0, { ...q("a", 1), id: "4" }) + added(1, call("b", { id: "5" })) + input(at(1, "6"), '{"q":2}') +
    ending({ output: [{ ...q("a", 1), id: "7" }, { ...q("b", 2), id: "8" }] }),
    two,
  ],
  [
    "with one id for all",
    added(0, call("a", { id: "fc" })) + input(at(0, "fc"), '{"q":1}') +
    closed(0, { ...q("a", 1), id: "fc" }) +
    added(1, call("b", { id: "fc" })) + input(at(1, "fc"), '{"q":2}') + closed(1, { ...q("b", 2), id: "fc" }),
    two,
  ],
  [
    "at the end alone, with one id for all",
    closed(0, { ...q("a", 1), id: "fc" }) + closed(1, { ...q("b", 2), id: "fc" }) +
    ending({ output: [{ ...q("a", 1), id: "fc" }, { ...q("b", 2), id: "fc" }] }),
    two,
  ],
  [
    "in the response alone, with one id for all",
    ending({ output: [{ ...q("a", 1), id: "fc" }, { ...q("b", 2), id: "fc" }] }),
    two,
  ],
  [
    "begun one after the other, with one id for all and no index",
    added(undefined, call("a", { id: "fc" })) + added(undefined, call("b", { id: "fc" })) +
    closed(undefined, { ...q("a", 1), id: "fc" }) + closed(undefined, { ...q("b", 2), id: "fc" }),
    two,
  ],
  [
    "without ids in the response, only the last of which was streamed",
    closed(0, nameless(2)) + ending({ output: [nameless(1), nameless(2)] }),
    [["call_0", "get", { q: 2 }], ["call_1", "get", { q: 1 }]],
  ],
  [
    "with the call_id alone",
    closed(undefined, bare(q("a", 1))) + closed(undefined, bare(q("b", 2))) +
    ending({ output: [bare(q("a", 1)), bare(q("b", 2))] }),
    two,
  ],
  ["with one call_id for all", closed(0, q("a", 1)) + closed(1, { ...q("a", 2), id: "fc_b" }), [
    ["a", "get", { q: 1 }],
    ["a", "get", { q: 2 }],
  ]],
  ["with one id and call_id for all", closed(0, q("a", 1)) + closed(1, q("a", 2)), [
    ["a", "get", { q: 1 }],
    ["a", "get", { q: 2 }],
  ]],
  [
    "without ids and index",
    closed(undefined, nameless(1)) + closed(undefined, nameless(2)) +
    ending({ output: [thought(), nameless(1), nameless(2)] }),
    unnamed,
  ],
  ["without ids", closed(0, nameless(1)) + closed(1, nameless(2)), unnamed],
  [
    "without ids, with index 0 for all, and one twice",
    closed(0, nameless(1)) + closed(0, nameless(2)) + closed(0, nameless(2)),
    unnamed,
  ],
  ["without ids in the response alone", ending({ output: [nameless(1), nameless(2)] }), unnamed],
  [
    "without ids, begun one after the other",
    added(undefined, { ...nameless(1), arguments: "" }) +
    added(undefined, { ...nameless(2), arguments: "" }) +
    closed(undefined, nameless(1)) + closed(undefined, nameless(2)),
    unnamed,
  ],
  ["with an index that starts at 5", added(5, call("a")) + input(at(5), '{"q":1}'), one],
  [
    "with the name at the end",
    added(0, call("a", { name: "" })) + input(at(0), '{"q":1}') + closed(0, q("a", 1)),
    one,
  ],
  ["without a call_id", closed(0, { ...q("a", 1), call_id: undefined }), [["fc_a", "get", { q: 1 }]]],
  [
    "without any id",
    closed(0, { ...q("a", 1), call_id: "", id: undefined }),
    [["call_0", "get", { q: 1 }]],
  ],
];

Deno.test.each(CALLS)("openaiResponses() takes calls %s", async (_, wire, expected) => {
  const events = await streamed([begin + wire + ending()]);
  const { message, reason } = finishOf(events);
  assert.equal(reason, "tool-calls");
  assert.ok(typeof message.content !== "string");
  const calls = message.content.filter(({ type }) => type !== "reasoning").map((part) => {
    assert.ok(part.type === "tool-call");
    return [part.toolCallId, part.toolName, part.input];
  });
  assert.deepEqual(calls, expected);
  for (const index of calls.keys()) {
    const told = events.filter((event) => event.type === "tool.input.delta" && event.call === index);
    assert.ok(told.length > 0 && told.every((event) => "name" in event && event.name === "get"));
  }
});

const TEXTS: readonly (readonly [string, readonly string[]])[] = [
  ["in pieces", [begin + x + ending()]],
  ["without the last line's end", [(begin + x + ending()).trimEnd()]],
  ["without the start of the item", [begin + text("x") + ending()]],
  ["without the start of the item, index and id", [begin + text("x", {}) + ending()]],
  ["at the end alone", [begin + closed(0, said("x")) + ending()]],
  ["in the response alone", [begin + ending({ output: [said("x")] })]],
  ["in pieces, at the end and in the response", [
    begin + x + closed(0, said("x")) + ending({ output: [said("x")] }),
  ]],
  ["that the response repeats under another id", [begin + x + ending({ output: [said("x", "msg_2")] })]],
  ["with an empty end", [begin + x + closed(0, said("")) + ending()]],
  ["with content that is a text", [begin + closed(0, { ...message(), content: "x" }) + ending()]],
  ["as a refusal", [
    begin + added(0, message()) +
    event({
      type: "response.refusal.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "x",
    }) +
    ending(),
  ]],
  ["with events that are yet to come", [
    begin + event({ type: "response.queued" }) + event({ type: "constructor" }) +
    event({ type: "response.news.delta", delta: "y" }) + x +
    event({ type: "response.output_text.annotation.added", annotation: {} }) + ending(),
  ]],
  ["with items that are yet to come", [
    begin + x + added(1, { id: "n_1", type: "news", text: "y" }) + ending(),
  ]],
  ["with events that have no name", [(begin + x + ending()).replaceAll(/^event: .*\n/gm, "")]],
  ["with data that has no type", [(begin + x + ending()).replaceAll(/"type":"response\.[^"]*",?/g, "")]],
  ["with empty data for keep-alive", ["data: \n\n", begin + x + ending()]],
  ["with an end mark as well", [begin + x + ending() + "data: [DONE]\n\n"]],
  ["with fields that event streams do not have", ["hello\n\n", begin + x + ending()]],
  ["with events after the end", [`${begin + x + ending()}data: {oops\n\n`]],
  ["with an empty item", [begin + x + added(1, message("msg_2")) + ending()]],
  ["with an item that is none", [begin + added(0, 1 as never) + closed(0, null as never) + x + ending()]],
  ["with a null error", [begin + 'data: {"error":null}\n\n' + x + ending()]],
];

Deno.test.each(TEXTS)("openaiResponses() takes a text %s", async (_, reads) => {
  const events = await streamed(reads);
  const { content } = finishOf(events).message;
  assert.ok(typeof content !== "string");
  assert.deepEqual(content.map((part) => part.type === "text" ? part.text : part), ["x"]);
  assert.equal(textOf(events), "x");
});

Deno.test("openaiResponses() takes texts without ids and index as texts of their own", async () => {
  const output = [bare(said("x")), bare(said("y"))];
  const events = await streamed([
    begin + output.map((item) => closed(undefined, item)).join("") + ending({ output }),
  ]);
  assert.equal(textOf(events), "xy");
});

Deno.test("openaiResponses() takes what of a text was not streamed from the end", async () => {
  const events = await streamed([begin + x + closed(0, said("x and y")) + ending()]);
  assert.equal(textOf(events), "x and y");
});

Deno.test("openaiResponses() takes items that only the response has, in its order", async () => {
  const output = [said("x"), said("y", "msg_2"), q("a", 1)];
  const events = await streamed([begin + x + ending({ output })]);
  const { content } = finishOf(events).message;
  assert.ok(typeof content !== "string");
  assert.deepEqual(content.map((part) => part.type === "text" ? part.text : part.type), [
    "x",
    "y",
    "tool-call",
  ]);
  assert.equal(textOf(events), "xy");
});

Deno.test("openaiResponses() takes the items before those that were streamed from the response", async () => {
  const output = [said("y", "msg_2"), said("x")];
  const events = await streamed([begin + x + ending({ output })]);
  assert.equal(textOf(events), "xy");
});

const REASONING: readonly (readonly [string, string, string])[] = [
  ["summaries", added(0, thought()) + summary("a") + summary("b", 1) + summary("c", 1), "a\n\nbc"],
  [
    "reasoning as it is",
    added(0, thought()) + event({
      type: "response.reasoning_text.delta",
      item_id: "rs_1",
      output_index: 0,
      content_index: 0,
      delta: "a",
    }) + closed(0, { ...thought(), content: [{ type: "reasoning_text", text: "a" }] }),
    "a",
  ],
  [
    "one of both",
    added(0, thought()) + summary("a") + event({
      type: "response.reasoning_text.delta",
      item_id: "rs_1",
      output_index: 0,
      content_index: 0,
      delta: "b",
    }),
    "a",
  ],
  ["summaries without the start of the item", summary("a"), "a"],
  [
    "summaries at the end alone",
    closed(0, {
      ...thought(),
      summary: [{ type: "summary_text", text: "a" }, { type: "summary_text", text: "b" }],
    }),
    "a\n\nb",
  ],
];

Deno.test.each(REASONING)("openaiResponses() takes %s", async (_, wire, expected) => {
  const events = await streamed([begin + wire + ending()]);
  const { content } = finishOf(events).message;
  assert.ok(typeof content !== "string");
  assert.deepEqual(content.map((part) => part.type === "reasoning" && part.text), [expected]);
  assert.equal(events.map((event) => event.type === "reasoning.delta" ? event.text : "").join(""), expected);
});

Deno.test.each([
  ["completed", {}, "stop"],
  ["in_progress", {}, "stop"],
  ["incomplete", { incomplete_details: { reason: "max_output_tokens" } }, "length"],
  ["incomplete", { incomplete_details: { reason: "content_filter" } }, "content-filter"],
  ["incomplete", { incomplete_details: { reason: "news" } }, "length"],
  ["incomplete", { incomplete_details: null }, "length"],
])("openaiResponses() reads the status %s with %j as %s", async (status, details, reason) => {
  const type = status === "incomplete" ? "response.incomplete" : "response.completed";
  const end = event({ type, response: { status, output: [], ...details } });
  assert.equal(finishOf(await streamed([begin + x + end])).reason, reason);
});

Deno.test("openaiResponses() keeps the reason length where calls were cut off", async () => {
  const end = ending({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
  const finish = finishOf(await streamed([begin + added(0, call("a")) + input(at(0), '{"q') + end]));
  assert.equal(finish.reason, "length");
});

const half = { ...q("a", 1), status: "incomplete" };

Deno.test.each([
  ["at its end", closed(0, half) + ending({ output: [q("a", 1)] })],
  ["in the response", closed(0, q("a", 1)) + ending({ output: [half] })],
  ["in the response alone", ending({ output: [half] })],
])("openaiResponses() reads a call that is incomplete %s as cut by the limit", async (_, wire) => {
  assert.equal(finishOf(await streamed([begin + wire])).reason, "length");
});

Deno.test("openaiResponses() takes no answer that waits for an approval that nobody can give", async () => {
  const asked = { type: "mcp_approval_request", id: "m", name: "get", arguments: "{}" };
  for (const wire of [closed(0, asked) + ending(), ending({ output: [asked] })]) {
    await assert.rejects(streamed([begin + wire]), {
      code: "model_bad_response",
      message: /found a mcp_approval_request that nobody here can answer/,
    });
  }
});

Deno.test.each([["failed"], ["cancelled"]])(
  "openaiResponses() takes no response for an answer that is called completed and is %s",
  async (status) => {
    for (const error of [null, { code: "server_error", message: "oh no" }]) {
      const end = event({ type: "response.completed", response: { status, error, output: [q("a", 1)] } });
      await assert.rejects(streamed([begin + end]), { code: "model_unavailable" });
      await assert.rejects(streamed([begin + x + end]), { code: "model_stream_error" });
    }
  },
);

Deno.test("openaiResponses() finishes an answer that says nothing", async () => {
  const { message, reason } = finishOf(await streamed([begin + ending()]));
  assert.deepEqual([message.content, reason], [[], "stop"]);
});

Deno.test.each([["close"], ["error"], ["hang"]] as const)(
  "openaiResponses() ends with response.completed, whatever the connection does then (%s)",
  async (after) => {
    assert.equal(finishOf(await streamed([begin + x + ending()], after)).reason, "stop");
  },
);

Deno.test("openaiResponses() takes a provider's call that came with its answer in an item of its own", async () => {
  const shell = { id: "sh_1", type: "shell_call", call_id: "s", action: { commands: ["ls"] } };
  const output = { id: "sho_1", type: "shell_call_output", call_id: "s", output: [] };
  const events = await streamed([begin + closed(0, shell) + closed(1, output) + ending()]);
  assert.equal(events.length, 1, "no event of ours tells of calls that we do not answer");
  const { content } = finishOf(events).message;
  assert.ok(typeof content !== "string");
  assert.deepEqual(content.map(({ type }) => type), ["tool-call", "tool-result", "reasoning"]);
});
