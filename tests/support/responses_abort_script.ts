/**
 * Starts 500 answers that fall silent, forces garbage collections and lets all clients leave at once. Prints how many
 * iterations have ended with their abort and how many answers the upstream still has open. To be run with
 * `--v8-flags=--expose-gc`.
 */
import { openaiResponses } from "../../src/models/openai_responses.ts";
import { startResponsesDouble } from "./responses_double.ts";

const CLIENTS = 500;
const { gc } = globalThis as unknown as { gc(): void };

async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 5; round++) {
    gc();
    // A turn of the event loop, so that finalizers run.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const double = startResponsesDouble({
  script: () => ({ text: "one two" }),
  // Past the first word.
  faults: () => ({ hangAfter: 5 }),
});
const model = openaiResponses({ model: "m", baseURL: double.url });
const request = {
  system: "",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  maxOutput: 100,
} as const;
const controller = new AbortController();
const clients = Array.from(
  { length: CLIENTS },
  () => model.stream(request, controller.signal)[Symbol.asyncIterator](),
);
await Promise.all(clients.map((client) => client.next()));
await collectGarbage();
const ended = clients.map((client) => client.next().then(() => "an event", (reason) => reason));
await collectGarbage();
controller.abort("enough");
const closed = (await Promise.all(ended)).filter((reason) => reason === "enough").length;
await double.untilLeft(CLIENTS);
const { open } = double;
await double[Symbol.asyncDispose]();
console.log(`${closed} of ${CLIENTS} closed, ${open} open`);
