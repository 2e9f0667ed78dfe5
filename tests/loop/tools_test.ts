import assert from "node:assert/strict";
import * as z from "zod";
import { ABORTED, type CallOutcome, defineTool, runCall } from "../../src/loop/tools.ts";
import type { Tool, ToolContext } from "../../src/ports.ts";
import { ManualClock } from "../support/clock.ts";
import { tool } from "../support/turns.ts";

const context = { session: "s1", tenant: "acme", user: "ada" };

async function call(
  tools: Tool | readonly Tool[],
  { name = "act", input = {} as unknown, clock = new ManualClock(), signal = new AbortController().signal } =
    {},
): Promise<CallOutcome> {
  const list = Array.isArray(tools) ? tools : [tools as Tool];
  const outcome = await runCall({ name, input }, { tools: list, context, signal, clock, timeoutMs: 60_000 });
  assert.deepEqual(clock.sleeping, [], "a timer is left");
  return outcome;
}

function textOf({ output }: CallOutcome): string {
  assert.ok(output.type === "text" || output.type === "error-text", output.type);
  return output.value;
}

Deno.test("runCall() gives a tool its checked input and whose session it works for", async () => {
  const seen: unknown[] = [];
  const act = defineTool({
    name: "act",
    description: "",
    input: z.object({ n: z.coerce.number() }),
    execute: (input, { signal, ...rest }) => {
      seen.push(input, signal.aborted, rest);
      return "ok";
    },
  });
  assert.deepEqual(await call(act, { input: { n: "4" } }), {
    status: "ok",
    output: { type: "text", value: "ok" },
    ms: 0,
  });
  assert.deepEqual(seen, [{ n: 4 }, false, context]);
});

Deno.test.each(
  [
    ["a text", "x", { type: "text", value: "x" }],
    ["nothing", undefined, { type: "text", value: "" }],
    ["null", null, { type: "json", value: null }],
    ["a number", 4, { type: "json", value: 4 }],
    ["NaN", NaN, { type: "json", value: null }],
    ["a date", new Date(0), { type: "json", value: "1970-01-01T00:00:00.000Z" }],
    ["an object", { a: [1, undefined], b: undefined }, { type: "json", value: { a: [1, null] } }],
    ["a promise", Promise.resolve("later"), { type: "text", value: "later" }],
  ] as const,
)("runCall() stores %s", async (_, value, output) => {
  assert.deepEqual((await call(tool("act", () => value))).output, output);
});

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

Deno.test.each(
  [
    ["a BigInt", (): unknown => 5n],
    ["a BigInt inside", () => ({ n: 5n })],
    ["a cycle", () => cyclic],
    ["a function", () => () => 1],
    ["a symbol", () => Symbol("s")],
    ["a toJSON that throws", () => ({
      toJSON() {
        throw new Error("no");
      },
    })],
  ] as const,
)("runCall() makes an error of an output that JSON cannot say: %s", async (_, execute) => {
  const outcome = await call(tool("act", execute));
  assert.deepEqual([outcome.status, outcome.output.type], ["error", "error-text"]);
  assert.match(textOf(outcome), /^act failed: /);
});

const nameless = Object.create(null);
const hostile = new Error("x");
Object.defineProperty(hostile, "message", {
  get() {
    throw new Error("gotcha");
  },
});

Deno.test.each(
  [
    ["an error", new Error("disk full"), /^act failed: disk full$/],
    ["a text", "disk full", /^act failed: disk full$/],
    ["nothing", undefined, /^act failed: undefined$/],
    ["a symbol", Symbol("s"), /^act failed: Symbol\(s\)$/],
    ["an object without a prototype", nameless, /^act failed/],
    ["an error that does not tell", hostile, /^act failed/],
    [
      "an error whose message is a symbol",
      Object.assign(new Error(), { message: Symbol("m") }),
      /^act failed/,
    ],
  ] as const,
)("runCall() makes an error of a tool that throws %s", async (_, thrown, expected) => {
  const sync = await call(tool("act", () => {
    throw thrown;
  }));
  assert.equal(sync.status, "error");
  assert.match(textOf(sync), expected);
  const later = await call(tool("act", () => Promise.reject(thrown)));
  assert.deepEqual(later, sync);
});

Deno.test("runCall() answers a call of an unknown tool with the names that there are", async () => {
  const tools = [tool("read", () => ""), tool("list", () => "")];
  const outcome = await call(tools, { name: "toString" });
  assert.equal(outcome.status, "error");
  assert.equal(textOf(outcome), 'Cannot call "toString": there is no such tool, available: read, list');
  assert.match(textOf(await call([], { name: "" })), /available: none$/);
});

Deno.test("runCall() runs nothing where the input is invalid", async () => {
  let runs = 0;
  const act = defineTool({
    name: "act",
    description: "",
    input: z.object({ n: z.number() }),
    execute: () => ++runs,
  });
  const outcome = await call(act, { input: { n: "x" } });
  assert.equal(outcome.status, "error");
  assert.match(textOf(outcome), /^Cannot call act: its input is invalid: n: /);
  assert.equal(runs, 0);
});

Deno.test("runCall() runs nothing where the arguments are not JSON, whatever the tool would take", async () => {
  let runs = 0;
  const act = defineTool({
    name: "act",
    description: "",
    input: z.object({ path: z.string().optional() }),
    execute: () => ++runs,
  });
  const outcome = await call(act, { input: { unparsed_arguments: '{"path": "/et' } });
  assert.equal(outcome.status, "error");
  assert.match(textOf(outcome), /not a JSON object/);
  assert.equal(runs, 0);
});

Deno.test("runCall() makes an error of a check that throws", async () => {
  const act = defineTool({
    name: "act",
    description: "",
    input: z.object({ n: z.number() }).refine(async () => await Promise.resolve(true)),
    execute: () => 1,
  });
  const outcome = await call(act, { input: { n: 1 } });
  assert.equal(outcome.status, "error");
  assert.match(textOf(outcome), /^act failed: /);
});

Deno.test("runCall() gives each call an input of its own", async () => {
  const input = { list: [1] };
  await call(tool("act", ({ list }) => void (list as number[]).push(2)), { input });
  assert.deepEqual(input, { list: [1] });
});

Deno.test("runCall() sets no timer for a tool that answers at once, and waits for whatever has a then()", async () => {
  const sleeps: number[] = [];
  class NotingClock extends ManualClock {
    override sleep(ms: number, signal?: AbortSignal): Promise<void> {
      sleeps.push(ms);
      return super.sleep(ms, signal);
    }
  }
  const clock = new NotingClock();
  assert.equal(textOf(await call(tool("act", () => "at once"), { clock })), "at once");
  assert.deepEqual(sleeps, []);
  const later = { then: (resolve: (value: string) => void) => resolve("later") };
  assert.equal(textOf(await call(tool("act", () => later), { clock })), "later");
  assert.deepEqual(sleeps, [60_000]);
});

Deno.test("runCall() answers a tool that hangs when its time is up, and tells it", async () => {
  const clock = new ManualClock();
  const reasons: unknown[] = [];
  const slow: Tool = {
    ...tool("act", (_, { signal }) => {
      signal.addEventListener("abort", () => reasons.push(signal.reason));
      return new Promise(() => {});
    }),
    timeoutMs: 1_500,
  };
  const outcome = runCall({ name: "act", input: {} }, {
    tools: [slow],
    context,
    signal: new AbortController().signal,
    clock,
    timeoutMs: 60_000,
  });
  await clock.advance(1_499);
  assert.deepEqual(reasons, []);
  await clock.advance(1);
  assert.deepEqual(await outcome, {
    status: "error",
    output: { type: "error-text", value: "act did not finish in 1500 ms" },
    ms: 1_500,
  });
  assert.deepEqual(reasons.map((reason) => (reason as DOMException).name), ["TimeoutError"]);
  assert.deepEqual(clock.sleeping, []);
});

Deno.test("runCall() measures the time that a call takes", async () => {
  const clock = new ManualClock();
  const act = tool("act", async () => {
    await clock.sleep(30);
    return "x";
  });
  const outcome = runCall({ name: "act", input: {} }, {
    tools: [act],
    context,
    signal: new AbortController().signal,
    clock,
    timeoutMs: 60_000,
  });
  await clock.advance(30);
  assert.equal((await outcome).ms, 30);
});

Deno.test("runCall() is aborted before it starts, while it runs, and never a success afterwards", async () => {
  const stop = new AbortController();
  let runs = 0;
  let finish = (_: string): void => {};
  const act = tool("act", (_, { signal }) => {
    runs++;
    signal.addEventListener("abort", () => finish("too late"));
    return new Promise<string>((resolve) => finish = resolve);
  });
  const running = call(act, { signal: stop.signal });
  stop.abort(new Error("cancelled"));
  assert.deepEqual(await running, { status: "aborted", output: ABORTED, ms: 0 });
  assert.deepEqual(await call(act, { signal: stop.signal }), { status: "aborted", output: ABORTED, ms: 0 });
  assert.equal(runs, 1);
});

Deno.test("runCall() is aborted where the tool throws because of the abort", async () => {
  const stop = new AbortController();
  const act = tool("act", (_, { signal }) => {
    stop.abort(new Error("cancelled"));
    signal.throwIfAborted();
  });
  assert.equal((await call(act, { signal: stop.signal })).status, "aborted");
});

Deno.test("runCall() leaves no rejection behind where a tool fails after its answer", async () => {
  const clock = new ManualClock();
  const act: Tool = {
    ...tool("act", async () => {
      await clock.sleep(100);
      throw new Error("much later");
    }),
    timeoutMs: 50,
  };
  const outcome = runCall({ name: "act", input: {} }, {
    tools: [act],
    context,
    signal: new AbortController().signal,
    clock,
    timeoutMs: 60_000,
  });
  await clock.advance(200);
  assert.equal((await outcome).status, "error");
});

Deno.test("runCall() gives a tool that is done at once, and asks for its signal afterwards, one that has aborted", async () => {
  let told: ToolContext | undefined;
  const act = tool("act", (_, context) => {
    told = context;
    return "done";
  });
  assert.equal((await call(act)).status, "ok");
  assert.equal(told?.signal.aborted, true);
});
