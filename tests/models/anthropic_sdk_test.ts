/** The provider's own client as a judge: of the double's streams, and of what the adapter makes of them. */
import assert from "node:assert/strict";
import { anthropic } from "../../src/models/anthropic.ts";
import { type MessagesReply, startAnthropicDouble } from "../support/anthropic_double.ts";
import type { Json } from "../support/wire_json.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { collect, type Finish, finishOf } from "./_answers.ts";
import { REPLIES } from "./_replies.ts";

/** What the official client assembles. */
interface Assembled {
  readonly content: readonly Json[];
  readonly stop_reason: unknown;
  readonly usage: Readonly<Record<string, number>>;
}

const question = {
  model: "m",
  max_tokens: 4_000,
  thinking: { type: "enabled", budget_tokens: 2_000 },
  messages: [{ role: "user", content: "hi" }],
} as const;

/** The double's stream for a reply, each network read by itself. */
async function record(reply: MessagesReply): Promise<Uint8Array[]> {
  await using upstream = startAnthropicDouble({ script: () => reply });
  const response = await fetch(`${upstream.url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": "k", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ ...question, stream: true }),
  });
  assert.equal(response.status, 200);
  return await Array.fromAsync(response.body ?? []);
}

async function readByAdapter(reads: readonly Uint8Array[]): Promise<Finish> {
  const model = anthropic({ model: "m", fetch: fakeFetch({ reads }).fetch });
  return finishOf(await collect(model));
}

async function readByClient(
  fetch: typeof globalThis.fetch,
  baseURL = "http://127.0.0.1:1",
): Promise<Assembled> {
  const { default: Anthropic } = await import("npm:@anthropic-ai/sdk@1.14.0");
  const client = new Anthropic({ apiKey: "k", baseURL, fetch, maxRetries: 0 });
  const message = await client.messages.stream({ ...question, messages: [...question.messages] })
    .finalMessage();
  // Input is read lazily there: as JSON it is what it will be.
  return JSON.parse(JSON.stringify(message));
}

/** A block as the adapter keeps it. */
function partOf(block: Json, content: readonly Json[]): unknown {
  const kept = (anthropic: Json) => ({ providerOptions: { anthropic } });
  switch (block.type) {
    case "text":
      return {
        type: "text",
        text: block.text,
        ...(Array.isArray(block.citations) ? kept({ citations: block.citations }) : {}),
      };
    case "thinking":
      return { type: "reasoning", text: block.thinking, ...kept({ signature: block.signature }) };
    case "redacted_thinking":
      return { type: "reasoning", text: "", ...kept({ redactedData: block.data }) };
    case "tool_use":
      return { type: "tool-call", toolCallId: block.id, toolName: block.name, input: block.input };
    case "server_tool_use":
      return {
        type: "tool-call",
        toolCallId: block.id,
        toolName: block.name,
        input: block.input,
        providerExecuted: true,
        ...kept({ block }),
      };
    default:
      return {
        type: "tool-result",
        toolCallId: block.tool_use_id,
        toolName: content.find(({ id }) => id === block.tool_use_id)?.name,
        output: { type: "json", value: block.content },
        ...kept({ block }),
      };
  }
}

const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "é😀" } };
const found = {
  type: "web_search_tool_result",
  tool_use_id: "srvtoolu_1",
  content: [{ type: "web_search_result", url: "https://x/y", title: "Y", page_age: null }],
};
const citation = { type: "web_search_result_location", url: "https://x/y", title: "Y", cited_text: "yes" };

const replies: readonly (readonly [string, MessagesReply])[] = [
  ...REPLIES,
  ["all kinds of blocks", {
    blocks: [
      { type: "thinking", thinking: "" },
      { type: "redacted_thinking" },
      { type: "text", text: "I search." },
      search,
      found,
      { type: "text", text: "It says yes.", citations: [citation] },
      { type: "tool_use", id: "toolu_a", name: "get", input: { deep: { q: [1] } } },
    ],
  }],
  ["an answer that was cut off", { text: "so far", stopReason: "max_tokens" }],
];

Deno.test.each(replies)(
  "anthropic() assembles of %s what the provider's own client does",
  async (_, reply) => {
    const reads = await record(reply);
    const client = await readByClient(fakeFetch({ reads }).fetch);
    const { message, usage } = await readByAdapter(reads);
    assert.ok(client.content.length > 0);
    assert.deepEqual(message.content, client.content.map((block) => partOf(block, client.content)));
    const { input_tokens = 0, output_tokens, cache_creation_input_tokens = 0, cache_read_input_tokens = 0 } =
      client.usage;
    assert.deepEqual(usage, {
      inputTokens: input_tokens + cache_creation_input_tokens + cache_read_input_tokens,
      outputTokens: output_tokens,
      cachedTokens: cache_read_input_tokens,
    });
  },
);

Deno.test("startAnthropicDouble() takes what the provider's own client sends", async () => {
  await using upstream = startAnthropicDouble({ script: () => ({ reasoning: "well", text: "fine" }) });
  const { content, stop_reason } = await readByClient(fetch, upstream.url);
  assert.deepEqual(content.map(({ type }) => type), ["thinking", "text"]);
  assert.equal(stop_reason, "end_turn");
  assert.deepEqual(upstream.violations, []);
});
