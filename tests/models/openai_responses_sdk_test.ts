/** The provider's own client as a judge: of the double's streams, and of what the adapter makes of them. */
import assert from "node:assert/strict";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { type ResponsesReply, startResponsesDouble } from "../support/responses_double.ts";
import type { Json } from "../support/wire_json.ts";
import { collect, type Finish, finishOf } from "./_answers.ts";
import { REPLIES } from "./_replies.ts";

/** What the official client assembles. */
interface Assembled {
  readonly output: readonly Json[];
  readonly status: string;
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly input_tokens_details: { readonly cached_tokens: number };
  };
}

const question = { model: "m", store: false, include: ["reasoning.encrypted_content"], input: "hi" } as const;

/** The double's stream for a reply, each network read by itself. */
async function record(reply: ResponsesReply): Promise<Uint8Array[]> {
  await using upstream = startResponsesDouble({ script: () => reply });
  const response = await fetch(`${upstream.url}/responses`, {
    method: "POST",
    body: JSON.stringify({ ...question, stream: true }),
  });
  assert.equal(response.status, 200);
  return await Array.fromAsync(response.body ?? []);
}

async function readByAdapter(reads: readonly Uint8Array[]): Promise<Finish> {
  const model = openaiResponses({ model: "m", fetch: fakeFetch({ reads }).fetch });
  return finishOf(await collect(model));
}

async function readByClient(
  fetch: typeof globalThis.fetch,
  baseURL = "http://127.0.0.1:1/v1",
): Promise<Assembled> {
  const { default: OpenAI } = await import("npm:openai@7.59.0");
  const client = new OpenAI({ apiKey: "k", baseURL, fetch, maxRetries: 0 });
  const response = await client.responses.stream({ ...question, include: [...question.include] })
    .finalResponse();
  return JSON.parse(JSON.stringify(response));
}

/** A part without what only the provider reads. */
function plain(part: object): unknown {
  const { providerOptions: _, ...rest } = part as { readonly providerOptions?: unknown };
  return rest;
}

/** An item as the adapter shows it. */
function partsOf(item: Json): readonly unknown[] {
  const texts = (list: unknown): string[] =>
    (list as readonly Json[]).map((part) => String(part.text ?? part.refusal));
  switch (item.type) {
    case "message":
      return [{ type: "text", text: texts(item.content).join("") }];
    case "reasoning":
      return [{ type: "reasoning", text: texts(item.summary).join("\n\n") }];
    case "function_call":
      return [{
        type: "tool-call",
        toolCallId: item.call_id,
        toolName: item.name,
        input: JSON.parse(String(item.arguments)),
      }];
    default:
      return [
        {
          type: "tool-call",
          toolCallId: item.id,
          toolName: "web_search",
          input: item.action,
          providerExecuted: true,
        },
        {
          type: "tool-result",
          toolCallId: item.id,
          toolName: "web_search",
          output: { type: "json", value: {} },
        },
      ];
  }
}

const thought = (...texts: string[]): Json => ({
  type: "reasoning",
  summary: texts.map((text) => ({ type: "summary_text", text })),
});

const replies: readonly (readonly [string, ResponsesReply])[] = [
  ...REPLIES,
  ["all kinds of items", {
    items: [
      thought("one", "two"),
      { type: "web_search_call", status: "completed", action: { type: "search", query: "é😀" } },
      thought(),
      {
        type: "message",
        status: "completed",
        role: "assistant",
        content: [
          { type: "output_text", text: "It says ", annotations: [], logprobs: [] },
          { type: "output_text", text: "yes.", annotations: [], logprobs: [] },
        ],
      },
      {
        type: "message",
        status: "completed",
        role: "assistant",
        content: [{ type: "refusal", refusal: "No more." }],
      },
      {
        type: "function_call",
        status: "completed",
        call_id: "a",
        name: "get",
        arguments: '{"deep":{"q":[1]}}',
      },
    ],
  }],
  ["an answer that was cut off", { text: "so far", incomplete: "max_output_tokens" }],
];

Deno.test.each(replies)(
  "openaiResponses() assembles of %s what the provider's own client does",
  async (_, reply) => {
    const reads = await record(reply);
    const client = await readByClient(fakeFetch({ reads }).fetch);
    const { message, reason, usage } = await readByAdapter(reads);
    assert.ok(client.output.length > 0 && typeof message.content !== "string");
    assert.deepEqual(message.content.map(plain), client.output.flatMap(partsOf));
    const sealed = message.content.flatMap(({ providerOptions, type }) =>
      type === "reasoning" ? [providerOptions?.["openai"]?.["item"]] : []
    );
    assert.deepEqual(sealed, client.output.filter(({ type }) => type === "reasoning"));
    assert.equal(reason === "length", client.status === "incomplete");
    assert.deepEqual(usage, {
      inputTokens: client.usage.input_tokens,
      outputTokens: client.usage.output_tokens,
      cachedTokens: client.usage.input_tokens_details.cached_tokens,
    });
  },
);

Deno.test("startResponsesDouble() takes what the provider's own client sends", async () => {
  await using upstream = startResponsesDouble({ script: () => ({ reasoning: "well", text: "fine" }) });
  const { output, status } = await readByClient(fetch, upstream.url);
  assert.deepEqual(output.map(({ type }) => type), ["reasoning", "message"]);
  assert.equal(status, "completed");
  assert.deepEqual(upstream.violations, []);
});
