/**
 * The three servers of the loop's benchmark, each a process of its own: the model that answers at once, the pass-through
 * that is the floor, and the service itself. Run as a program with a role, and the model's URL; prints its own.
 */
import process from "node:process";
import * as z from "zod";
import { createApp } from "../../src/http/app.ts";
import { openAccess } from "../../src/http/auth.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { serveSide } from "./_sides.ts";

/** Where each server tells of its processor time, in microseconds. */
export const CPU_PATH = "/cpu";

/** What a run asks of the model. */
export interface Plan {
  /** `steps`: calls of a tool, then a text. `deltas`: one text, each word read by itself. */
  readonly kind: "steps" | "deltas";
  /** Steps, or words. */
  readonly count: number;
  /** Characters of each result. */
  readonly size: number;
}

/** The user's message of a plan, under an id that no other run has. */
export function planText(id: string, { count, kind, size }: Plan): string {
  return `plan ${id} ${kind} ${count} ${size}`;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache" };

export function frame(delta: unknown, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
  return `data: ${
    JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 0, model: "m", choices })
  }\n\n`;
}

export function ending(reason: string, tokens: number): string {
  const usage = { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 };
  return `${frame({}, reason)}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
}

/** One call of `read_file`, its arguments in three pieces. */
function callFrames(step: number, size: number): string {
  const args = JSON.stringify({ path: `src/${step}.ts`, size });
  const third = Math.ceil(args.length / 3);
  const start = {
    index: 0,
    id: `call_${step}`,
    type: "function",
    function: { name: "read_file", arguments: "" },
  };
  const pieces = [0, 1, 2].map((n) => args.slice(n * third, (n + 1) * third));
  return frame({ role: "assistant", content: null }) + frame({ tool_calls: [start] }) +
    pieces.map((piece) => frame({ tool_calls: [{ index: 0, function: { arguments: piece } }] })).join("");
}

/** A model that follows the plan in the first user message that has one. */
function model(): (request: Request) => Promise<Response> {
  const steps = new Map<string, number>();
  return async (request) => {
    const body = new Uint8Array(await request.arrayBuffer());
    const tokens = Math.ceil(body.length / 4);
    // Not parsed: the history grows, and this process is not what is measured.
    const plan = /plan (\S+) (\w+) (\d+) (\d+)/.exec(decoder.decode(body.subarray(0, 8_192)));
    const [, id = "", kind = "steps", count = "0", size = "0"] = plan ?? [];
    const step = (steps.get(id) ?? 0) + 1;
    steps.set(id, step);
    if (kind === "steps") {
      const text = step <= Number(count)
        ? callFrames(step, Number(size)) + ending("tool_calls", tokens)
        : frame({ role: "assistant", content: "Done." }) + ending("stop", tokens);
      return new Response(text, { headers: HEADERS });
    }
    const words = Array.from({ length: Number(count) }, (_, n) => frame({ content: ` word${n}` }));
    let at = 0;
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        // Apart, so that each is read by itself.
        await new Promise((resolve) => setTimeout(resolve, 0));
        const word = words[at++];
        controller.enqueue(encoder.encode(word ?? ending("stop", tokens)));
        if (word === undefined) controller.close();
      },
    }, { highWaterMark: 0 });
    return new Response(stream, { headers: HEADERS });
  };
}

/** Passes requests on, read by read, and lets go of the model where the client has gone. */
export function raw(url: string): (request: Request) => Promise<Response> {
  return async (request) => {
    const body = await request.arrayBuffer();
    const response = await fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    const reader = (response.body ?? new ReadableStream()).getReader();
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await reader.cancel();
      },
    }, { highWaterMark: 0 });
    return new Response(stream, { headers: HEADERS });
  };
}

/** The service, as an embedder makes it. */
export function own(url: string): Deno.ServeHandler {
  const lines = "const line = 0;\n".repeat(1_000);
  const readFile = defineTool({
    name: "read_file",
    description: "Reads a file",
    input: z.object({ path: z.string(), size: z.number() }),
    execute: ({ size }) => lines.slice(0, size),
  });
  // So large that no compaction comes: each step checks whether one is due.
  const chat = openaiChat({ model: "m", baseURL: url, window: 1_000_000, maxOutput: 4_000 });
  const app = createApp({
    agents: { default: { model: chat, tools: [readFile], maxSteps: 1_000 } },
    store: memoryStore(),
    auth: openAccess(),
  });
  return app.fetch;
}

if (import.meta.main) {
  const [role, url = ""] = Deno.args;
  const handle = role === "model" ? model() : role === "raw" ? raw(url) : own(url);
  const serve = (request: Request, info: Deno.ServeHandlerInfo): Response | Promise<Response> => {
    if (!request.url.endsWith(CPU_PATH)) return handle(request, info);
    const { system, user } = process.cpuUsage();
    return new Response(String(user + system));
  };
  // An exit like any other, so that a profile is written.
  Deno.addSignalListener("SIGTERM", () => Deno.exit());
  serveSide(serve);
}
