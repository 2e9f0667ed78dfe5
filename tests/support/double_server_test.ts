/** How the doubles of all services break an answer off, and know who has left. */
import assert from "node:assert/strict";
import { startAnthropicDouble } from "./anthropic_double.ts";
import type { AnyDouble, StreamFault } from "./double_server.ts";
import { startGeminiDouble } from "./gemini_double.ts";
import { startDouble } from "./openai_double.ts";
import { startResponsesDouble } from "./responses_double.ts";
import type { Json } from "./wire_json.ts";

interface Service {
  readonly start: (options: {
    readonly script: () => { readonly text: string };
    readonly faults: () => StreamFault;
  }) => AnyDouble;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Json;
  /** What the first frame holds. */
  readonly first: RegExp;
}

const messages = [{ role: "user", content: "hi" }];

const SERVICES: readonly Service[] = [
  {
    start: startDouble,
    path: "/chat/completions",
    body: { model: "m", stream: true, messages },
    first: /assistant/,
  },
  {
    start: startAnthropicDouble,
    path: "/v1/messages",
    headers: { "x-api-key": "k", "anthropic-version": "2023-06-01" },
    body: { model: "m", max_tokens: 100, stream: true, messages },
    first: /message_start/,
  },
  {
    start: startResponsesDouble,
    path: "/responses",
    body: { model: "m", stream: true, input: messages },
    first: /response\.created/,
  },
  {
    start: startGeminiDouble,
    path: "/models/m:streamGenerateContent?alt=sse",
    headers: { "x-goog-api-key": "k" },
    body: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
    first: /candidates/,
  },
];

for (const { body, first, headers = {}, path, start } of SERVICES) {
  const broken = (fault: StreamFault): AnyDouble =>
    start({ script: () => ({ text: "one two three" }), faults: () => fault });
  const post = (double: AnyDouble): Promise<Response> =>
    fetch(`${double.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });

  Deno.test(`${start.name}() can cut the connection`, async () => {
    await using double = broken({ cutAfter: 2 });
    const response = await post(double);
    await assert.rejects(response.text(), TypeError);
    assert.equal(double.open, 0);
  });

  Deno.test(`${start.name}() can fall silent, and sees the client leave`, async () => {
    await using double = broken({ hangAfter: 1 });
    const reader = (await post(double)).body?.getReader();
    await reader?.read();
    assert.equal(double.open, 1);
    await reader?.cancel();
    await double.untilLeft(1);
    assert.equal(double.open, 0);
  });

  Deno.test(`${start.name}() ends silent answers when it is disposed of`, async () => {
    const double = broken({ hangAfter: 1 });
    const response = await post(double);
    const text = response.text();
    await double[Symbol.asyncDispose]();
    assert.match(await text, first);
  });
}
