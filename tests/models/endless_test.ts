/** Answers that go on without end, in whatever an answer can hold. */
import assert from "node:assert/strict";
import { MessageAssembler } from "../../src/models/_assemble_anthropic.ts";
import { AnswerAssembler } from "../../src/models/_assemble_chat.ts";
import { ResponseAssembler } from "../../src/models/_assemble_responses.ts";
import { PartAssembler } from "../../src/models/_assemble_sdk.ts";
import { type Assembler, MAX_ANSWER_CHARS } from "../../src/models/_assembler.ts";
import type { Json } from "../support/wire_json.ts";

const context = { action: "Cannot get an answer from m", wanted: { stream: "a stream", ending: "an end" } };
const PIECE = "x".repeat(MAX_ANSWER_CHARS / 8);

const chat = (delta: Json): Json => ({ choices: [{ index: 0, delta }] });
const chatCall = (text: string, more: Json = {}): Json =>
  chat({ tool_calls: [{ index: 0, function: { arguments: text, ...more } }] });
const block = (content_block: Json): Json => ({ type: "content_block_start", index: 0, content_block });
const delta = (fields: Json): Json => ({ type: "content_block_delta", index: 0, delta: fields });
const json = delta({ type: "input_json_delta", partial_json: PIECE });
const item = { type: "function_call", id: "f", call_id: "a", name: "get", arguments: "" };
const begun = (more: Json = {}): Json => ({ type: "tool-input-start", id: "a", toolName: "get", ...more });
const input = { type: "tool-input-delta", id: "a", delta: PIECE };

const anthropic = () => new MessageAssembler(context);
const responses = () => new ResponseAssembler(context, "m");
const sdk = () => new PartAssembler(context, { clock: { now: () => 0 }, from: "m" });

const ENDLESS: readonly (readonly [string, () => Assembler, Json, Json])[] = [
  ["a chat text", () => new AnswerAssembler(context), chat({}), chat({ content: PIECE })],
  ["chat arguments", () => new AnswerAssembler(context), chatCall("", { name: "get" }), chatCall(PIECE)],
  ["Messages arguments", anthropic, block({ type: "tool_use", id: "a", name: "get" }), json],
  ["a Messages search", anthropic, block({ type: "server_tool_use", id: "a", name: "search" }), json],
  [
    "a signature",
    anthropic,
    block({ type: "thinking" }),
    delta({ type: "signature_delta", signature: PIECE }),
  ],
  ["citations", anthropic, block({ type: "text" }), delta({ type: "citations_delta", citation: { PIECE } })],
  [
    "Responses arguments",
    responses,
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.function_call_arguments.delta", item_id: "f", output_index: 0, delta: PIECE },
  ],
  [
    "encrypted reasoning",
    responses,
    {},
    { type: "response.output_item.done", item: { type: "reasoning", encrypted_content: PIECE } },
  ],
  ["arguments of the AI SDK", sdk, begun(), input],
  ["a search of the AI SDK", sdk, begun({ providerExecuted: true }), input],
];

Deno.test.each(ENDLESS)("%s without end is no answer", (_, make, start, piece) => {
  const answer = make();
  const take = (frame: Json) =>
    answer instanceof PartAssembler ? answer.part(frame) : answer.accept(JSON.stringify(frame));
  take(start);
  for (let n = 0; n < 8; n++) {
    take(piece);
    answer.drain();
  }
  take(piece);
  const { failure } = answer;
  assert.equal(failure?.code, "model_bad_response");
  const found = `found an answer of more than ${MAX_ANSWER_CHARS} characters, wanted a stream`;
  assert.equal(failure.message, `Cannot get an answer from m: ${found}`);
});
