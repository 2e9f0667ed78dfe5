/** Answers behind which nobody reads: the turn goes on, and no connection is kept for it. */
import { deepEqual, equal } from "node:assert/strict";
import * as z from "zod";
import type { ClientTurnRequest, Fetch } from "../../src/client/mod.ts";
import { createApp } from "../../src/http/mod.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { clientOf } from "./_cuts.ts";

/** A service whose turns ask their client once; it knows which bodies of answers are open. */
function makeService() {
  const where = defineTool({ name: "where", description: "Where it is", input: z.object({}) });
  const model = scripted({
    script: ({ messages }) =>
      messages.at(-1)?.role === "tool" ? { text: "Found." } : { calls: [{ name: "where", input: {} }] },
  });
  const app = createApp({ agents: { default: { model, tools: [where] } }, store: memoryStore() });
  const open = new Set<string>();
  const fetch: Fetch = async (url, init) => {
    const response = await app.request(url, init);
    const name = `${open.size} ${init.method} ${url}`;
    const reader = response.body?.getReader();
    if (reader === undefined) return response;
    open.add(name);
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { value, done } = await reader.read();
        if (!done) return controller.enqueue(value);
        open.delete(name);
        controller.close();
      },
      async cancel(reason) {
        open.delete(name);
        await reader.cancel(reason);
      },
    }, { highWaterMark: 0 });
    return new Response(body, response);
  };
  const client = clientOf(fetch);
  /** Waits until the turn of the session is over, without reading it. */
  const over = async (session: string): Promise<string | undefined> => {
    for (;;) {
      const { running, paused } = await client.sessions.get(session);
      const { entries } = await client.sessions.messages(session);
      if (running === null) return paused === null ? entries.at(-1)?.kind : "paused";
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  return { client, open, over };
}

const ANSWER = { results: [{ ref: "e1.0", output: "here" }] };

for (const onDisconnect of [undefined, "continue"] as const) {
  const asked: ClientTurnRequest = { session: "s", input: "go", ...(onDisconnect && { onDisconnect }) };
  const name = onDisconnect ?? "no word on it";

  Deno.test(`turn.answer() lets a turn go on whose events nobody reads: ${name}`, async () => {
    const { client, open, over } = makeService();
    const turn = client.turn(asked);
    equal((await turn.result()).reason, "paused");
    await turn.answer(ANSWER);
    deepEqual([...open], []);
    equal(await over("s"), "assistant");
    // Whoever reads later finds all of it.
    const { reason, text } = await turn.result();
    deepEqual([reason, text], ["stop", "Found."]);
    deepEqual([...open], []);
  });

  Deno.test(`turn.answer() in a loop that is left then lets the turn go on: ${name}`, async () => {
    const { client, open, over } = makeService();
    const turn = client.turn(asked);
    for await (const { type } of turn) {
      if (type !== "turn.paused") continue;
      await turn.answer(ANSWER);
      break;
    }
    deepEqual([...open], []);
    equal(await over("s"), "assistant");
    equal((await turn.result()).reason, "stop");
  });
}

Deno.test("turn.answer() keeps the connection of a turn that ends without one, until it is cancelled", async () => {
  const { client, open } = makeService();
  const turn = client.turn({ session: "s", input: "go", onDisconnect: "abort" });
  await turn.result();
  await turn.answer(ANSWER);
  equal(open.size, 1);
  equal(await turn.cancel(), true);
  deepEqual([...open], []);
  equal((await turn.result()).reason, "aborted");

  const stop = new AbortController();
  const other = client.turn({ session: "t", input: "go", onDisconnect: "abort", signal: stop.signal });
  await other.result();
  await other.answer(ANSWER);
  equal(open.size, 1);
  stop.abort();
  await new Promise((resolve) => setTimeout(resolve, 0));
  deepEqual([...open], []);
});
