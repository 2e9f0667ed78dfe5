/** Memory of request bodies: used again, and never under somebody who still reads it. */
import { equal } from "node:assert/strict";
import { concat, encodeText, giveBack } from "../../src/models/_bytes.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import type { ModelRequest } from "../../src/ports.ts";

const request = (content: string): ModelRequest => ({
  system: "",
  messages: [{ role: "user", content }],
  tools: [],
  maxOutput: 10,
});

const ANSWER = 'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const headers = { "content-type": "text/event-stream" };

async function askOf(model: ReturnType<typeof openaiChat>, content: string): Promise<void> {
  for await (const _ of model.stream(request(content), new AbortController().signal));
}

Deno.test("a fetch of somebody's own keeps the body that it was given", async () => {
  const bodies: Uint8Array[] = [];
  const model = openaiChat({
    model: "m",
    fetch: (_, init) => {
      bodies.push(init?.body as Uint8Array);
      return Promise.resolve(new Response(ANSWER, { headers }));
    },
  });
  for (const content of ["first", "second", "third"]) await askOf(model, content);
  const said = bodies.map((body) => JSON.parse(new TextDecoder().decode(body)).messages[0].content);
  equal(said.join(), "first,second,third");
  equal(bodies.every((body) => body.buffer.byteLength === body.byteLength), true);
});

Deno.test("bodies sent at once and again after a refusal are each their own", async () => {
  const seen: string[] = [];
  const refused = new Set<string>();
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const { content } = (await request.json()).messages[0];
    seen.push(content);
    if (refused.has(content)) return new Response(ANSWER, { headers });
    refused.add(content);
    return new Response("busy", { status: 503 });
  });
  const clock = {
    now: () => Date.now(),
    // Retries come at once, silence never.
    sleep: (ms: number) => ms > 10_000 ? new Promise<void>(() => {}) : Promise.resolve(),
  };
  const model = openaiChat({ model: "m", baseURL: `http://127.0.0.1:${server.addr.port}`, clock });
  const all = Array.from({ length: 20 }, (_, n) => `${n} `.repeat(n * 400 + 1));
  await Promise.all(all.map((content) => askOf(model, content)));
  equal(seen.toSorted().join("|"), [...all, ...all].toSorted().join("|"));
});

Deno.test("memory that was given back is the next body's, and each body has its own bytes alone", () => {
  const long = concat([encodeText("a".repeat(900_000))]);
  giveBack(long);
  const short = concat([encodeText("b"), encodeText("c".repeat(800_000))]);
  const other = concat([encodeText("d".repeat(800_000))]);
  equal(short.buffer, long.buffer);
  equal(other.buffer === long.buffer, false);
  equal(new TextDecoder().decode(short), `b${"c".repeat(800_000)}`);
  equal(new TextDecoder().decode(other), "d".repeat(800_000));
});
