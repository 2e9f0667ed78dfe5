/**
 * A server of the crash suite: the real app, store and model adapter, with tools that keep a tally, a clock that
 * may run fast, and a way to be killed at a write or a tool that was named beforehand.
 */
import * as z from "zod";
import { createApp, Drain } from "../../src/http/mod.ts";
import { systemClock } from "../../src/loop/clock.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import type { Tool } from "../../src/ports.ts";
import { kvStore } from "../../src/store/kv.ts";
import { type Death, fastClock, MAX_OUTPUT, type Setup, WINDOW } from "./_setup.ts";

const setup: Setup = JSON.parse(Deno.env.get("CRASH_SETUP") ?? "{}");
const clock = fastClock(setup);
const drain = new Drain();
let death: Death | null = null;
let passed = 0;

/** Dies here if this is the place. */
function pass(at: Death["at"]): void {
  if (death?.at === at && ++passed === death.n) Deno.kill(Deno.pid, "SIGKILL");
}

// Every write of the store goes through here: a death can be before it, or after it and before anybody knows.
const { commit } = Deno.AtomicOperation.prototype;
Deno.AtomicOperation.prototype.commit = async function () {
  pass("before_write");
  const result = await commit.call(this);
  pass("after_write");
  return result;
};

function note(line: string): void {
  // One write in append mode: lines of several processes do not mix.
  Deno.writeTextFileSync(setup.tally, `${line}\n`, { append: true });
}

function countingTool(name: string, sideEffect: "none" | "some"): Tool {
  return defineTool({
    name,
    description: "Counts how often it is run",
    input: z.object({ key: z.string(), ms: z.number(), chars: z.number() }),
    sideEffect,
    execute: async ({ key, ms, chars }, { session, signal }) => {
      note(`begin ${name} ${key} ${session}`);
      pass("before_tool");
      try {
        if (ms > 0) await systemClock.sleep(ms, signal);
      } finally {
        note(`end ${name} ${key} ${session}`);
      }
      pass("after_tool");
      return `${key}: ${"some words of a result, ".repeat(Math.ceil(chars / 24)).slice(0, chars)}`;
    },
  });
}

const app = createApp({
  agents: {
    default: {
      model: openaiChat({
        // One whose pictures cost what their size says.
        model: "gpt-4o",
        baseURL: setup.model,
        apiKey: "none",
        window: WINDOW,
        maxOutput: MAX_OUTPUT,
      }),
      system: "You count.",
      tools: [countingTool("count_some", "some"), countingTool("count_none", "none")],
      // Some calls of a step wait for others.
      toolConcurrency: 2,
    },
  },
  store: await kvStore({ path: setup.kv, clock }),
  clock,
  drain,
});

Deno.addSignalListener("SIGTERM", () => void drain.start().then(() => Deno.exit(0)));

async function handle(request: Request, info: Deno.ServeHandlerInfo): Promise<Response> {
  if (new URL(request.url).pathname !== "/death") return await app.fetch(request, info);
  passed = 0;
  death = await request.json();
  return new Response(null, { status: 204 });
}

globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  console.error("Unhandled rejection:", event.reason);
});

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.error(`Listening on http://127.0.0.1:${port}/`),
}, handle);

// Whoever started this server has gone: nobody else would end it.
for await (const _ of Deno.stdin.readable) { /* Nothing is said there. */ }
Deno.exit(0);
