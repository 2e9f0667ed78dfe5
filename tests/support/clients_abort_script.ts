/**
 * Starts 500 answers in a dialect that fall silent, forces garbage collections and lets all clients leave at once.
 * Prints how many iterations have ended with their abort and how many answers the upstream still has open. To be run
 * with the dialect's name, and `--v8-flags=--expose-gc`.
 */
import { DIALECTS } from "../models/_dialects.ts";

const CLIENTS = 500;
const { gc } = globalThis as unknown as { gc(): void };

async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 5; round++) {
    gc();
    // A turn of the event loop, so that finalizers run.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const dialect = DIALECTS.find(({ name }) => name === Deno.args[0]);
if (dialect === undefined) throw new Error(`Cannot run: found no dialect ${Deno.args[0]}`);
const double = dialect.start({
  script: () => ({ text: "one two three" }),
  faults: () => ({ hangAfter: dialect.frames.words }),
});
const model = await dialect.model({ baseURL: double.url });
const request = {
  system: "",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  maxOutput: 100,
} as const;
const controller = new AbortController();

/** Reads on until the model has said all that it will say. */
async function begin(): Promise<AsyncIterator<unknown>> {
  const events = model.stream(request, controller.signal)[Symbol.asyncIterator]();
  for (let said = ""; said !== "one two";) {
    const { value } = await events.next();
    if (value?.type === "text.delta") said += value.text;
  }
  return events;
}

const clients = await Promise.all(Array.from({ length: CLIENTS }, begin));
await collectGarbage();
const ended = clients.map((client) => client.next().then(() => "an event", (reason) => reason));
await collectGarbage();
controller.abort("enough");
const closed = (await Promise.all(ended)).filter((reason) => reason === "enough").length;
await double.untilLeft(CLIENTS);
const { open } = double;
await double[Symbol.asyncDispose]();
console.log(`${closed} of ${CLIENTS} closed, ${open} open`);
