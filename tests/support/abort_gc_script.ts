/**
 * Starts an answer that falls silent, forces garbage collections and aborts. Prints `closed` once the iteration has
 * ended and the upstream has seen the connection go. To be run with `--v8-flags=--expose-gc`.
 */
import { openaiChat } from "../../src/models/openai_chat.ts";
import { startDouble } from "./openai_double.ts";

const { gc } = globalThis as unknown as { gc(): void };

async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 5; round++) {
    gc();
    // A turn of the event loop, so that finalizers run.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const double = startDouble({ script: () => ({ text: "one two" }), faults: () => ({ hangAfter: 2 }) });
const controller = new AbortController();
const model = openaiChat({ model: "m", baseURL: double.url });
const request = {
  system: "",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  maxOutput: 100,
} as const;
const events = model.stream(request, controller.signal)[Symbol.asyncIterator]();
await events.next();
await collectGarbage();
const ended = events.next().then(() => "an event", (reason) => reason);
await collectGarbage();
controller.abort("enough");
const reason = await ended;
if (reason !== "enough") {
  throw new Error(`Cannot pass: the iteration ended with ${reason}, wanted the abort's reason`);
}
await double.untilLeft(1);
await double[Symbol.asyncDispose]();
console.log("closed");
