/** The provider's own client as a judge: of the double's streams, and of what the adapter makes of them. */
import assert from "node:assert/strict";
import { openaiChat } from "../../src/models/openai_chat.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { startDouble } from "../support/openai_double.ts";
import type { Json } from "../support/wire_json.ts";
import { collect, type Finish, finishOf } from "./_answers.ts";
import { REPLIES } from "./_replies.ts";

/** What the official client assembles. */
interface Assembled {
  readonly choices: readonly [{ readonly message: Json; readonly finish_reason: string }];
  readonly usage: Readonly<Record<string, number>>;
}

/** A call as the official client has it. */
interface Called {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

const question = {
  model: "m",
  messages: [{ role: "user", content: "hi" }],
  stream_options: { include_usage: true },
} as const;

/** The double's stream for a reply, each network read by itself. */
async function record(reply: ScriptedReply): Promise<Uint8Array[]> {
  await using upstream = startDouble({ script: () => reply });
  const response = await fetch(`${upstream.url}/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ ...question, stream: true }),
  });
  assert.equal(response.status, 200);
  return await Array.fromAsync(response.body ?? []);
}

async function readByAdapter(reads: readonly Uint8Array[]): Promise<Finish> {
  return finishOf(await collect(openaiChat({ model: "m", fetch: fakeFetch({ reads }).fetch })));
}

async function readByClient(
  fetch: typeof globalThis.fetch,
  baseURL = "http://127.0.0.1:1/v1",
): Promise<Assembled> {
  const { default: OpenAI } = await import("npm:openai@7.59.0");
  const client = new OpenAI({ apiKey: "k", baseURL, fetch, maxRetries: 0 });
  const completion = await client.chat.completions
    .stream({ ...question, messages: [...question.messages] })
    .finalChatCompletion();
  return JSON.parse(JSON.stringify(completion));
}

/** A message as the adapter shows it, but for reasoning: servers have added that, and the client keeps its last piece only. */
function partsOf({ content, tool_calls }: Json): readonly unknown[] {
  const calls = (tool_calls ?? []) as readonly Called[];
  return [
    ...(content ? [{ type: "text", text: content }] : []),
    ...calls.map(({ function: { arguments: text, name }, id }) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: name,
      input: JSON.parse(text),
    })),
  ];
}

Deno.test.each(REPLIES)(
  "openaiChat() assembles of %s what the provider's own client does",
  async (_, reply) => {
    const reads = await record(reply);
    const { choices: [{ finish_reason, message }], usage: billed } = await readByClient(
      fakeFetch({ reads }).fetch,
    );
    const { message: { content }, reason, usage } = await readByAdapter(reads);
    assert.ok(typeof content !== "string" && content.length > 0);
    const parts = content.filter(({ type }) => type !== "reasoning");
    assert.deepEqual(parts, partsOf(message));
    assert.equal(reason, finish_reason.replace("_", "-"));
    assert.deepEqual([usage?.inputTokens, usage?.outputTokens], [
      billed.prompt_tokens,
      billed.completion_tokens,
    ]);
  },
);

Deno.test("startDouble() takes what the provider's own client sends", async () => {
  await using upstream = startDouble({ script: () => ({ text: "fine" }) });
  const { choices: [{ message }] } = await readByClient(fetch, upstream.url);
  assert.equal(message.content, "fine");
  assert.deepEqual(upstream.violations, []);
});
