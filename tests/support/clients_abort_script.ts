/**
 * Starts 500 answers in a dialect, as many in each phase that an answer has, lets them fall silent there, forces garbage
 * collections and lets all clients leave at once. Prints how many iterations have ended with their abort and how many
 * answers the upstreams still have open. To be run with the dialect's name, and `--v8-flags=--expose-gc`.
 */
import type { ModelEvent } from "../../src/ports.ts";
import { DIALECTS } from "../models/_dialects.ts";
import { startRaw } from "./raw_upstream.ts";

/** Clients of one phase. */
const CLIENTS = 125;
const { gc } = globalThis as unknown as { gc(): void };

async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 5; round++) {
    gc();
    // A turn of the event loop, so that finalizers run.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
}

const dialect = DIALECTS.find(({ name }) => name === Deno.args[0]);
if (dialect === undefined) throw new Error(`Cannot run: found no dialect ${Deno.args[0]}`);
const { frames } = dialect;
const calls = [{ name: "get", input: { text: "x".repeat(99) } }, { name: "get", input: {} }];
const request = {
  system: "",
  messages: [{ role: "user", content: "hi" }],
  tools: [{ name: "get", description: "Gets", inputSchema: { type: "object", properties: {} } }],
  maxOutput: 100,
} as const;
const controller = new AbortController();

/** Reads the rest of an answer, of which little comes and no end. */
type Rest = () => Promise<unknown>;

/** Begins the answers of one phase, and reads on until they fall silent there. */
async function begin(
  baseURL: string,
  isSilent: ((event: ModelEvent) => boolean) | null,
): Promise<readonly Rest[]> {
  const model = await dialect?.model({ baseURL });
  return await Promise.all(Array.from({ length: CLIENTS }, async () => {
    const events = model?.stream(request, controller.signal)[Symbol.asyncIterator]();
    if (events === undefined) throw new Error("Cannot run: found no model");
    if (isSilent === null) {
      const next = events.next();
      // It is looked at later.
      next.catch(() => {});
      return () => next;
    }
    for (let isOver = false; !isOver;) {
      const { value } = await events.next();
      isOver = value !== undefined && isSilent(value);
    }
    return async () => {
      while ((await events.next()).done !== true);
    };
  }));
}

function untilWords(): (event: ModelEvent) => boolean {
  return (event) => event.type === "text.delta" && event.text.endsWith("two");
}

let unanswered = 0;
const headless = startRaw(async ({ closed }) => {
  unanswered++;
  await closed;
  unanswered--;
});
const silent = dialect.start({
  script: () => ({ text: "one" }),
  faults: () => ({ hangAfter: frames.silent }),
});
const talking = dialect.start({
  script: () => ({ text: "one two three" }),
  faults: () => ({ hangAfter: frames.words }),
});
const calling = dialect.start({ script: () => ({ calls }), faults: () => ({ hangAfter: frames.call }) });

const clients = (await Promise.all([
  begin(headless.url, null),
  begin(silent.url, null),
  begin(talking.url, untilWords()),
  begin(calling.url, ({ type }) => type === "tool.input.delta"),
])).flat();
await until(() => unanswered === CLIENTS && silent.open === CLIENTS);
await collectGarbage();
const ended = clients.map((rest) => rest().then(() => "an end", (reason) => reason));
await collectGarbage();
controller.abort("enough");
const closed = (await Promise.all(ended)).filter((reason) => reason === "enough").length;
await until(() => unanswered === 0);
const doubles = [silent, talking, calling];
for (const double of doubles) await double.untilLeft(CLIENTS);
const open = doubles.reduce((sum, double) => sum + double.open, unanswered);
for (const upstream of [headless, ...doubles]) await upstream[Symbol.asyncDispose]();
console.log(`${closed} of ${clients.length} closed, ${open} open`);
