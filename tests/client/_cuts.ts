/** A way to a service that breaks wherever it can, by numbers that come again, and turns that are read over it. */
import { deepEqual, equal, ok } from "node:assert/strict";
import * as z from "zod";
import { type Client, type ClientTurn, createClient, type Fetch } from "../../src/client/mod.ts";
import { createApp } from "../../src/http/mod.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Clock } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";

/** A clock for which waits between tries take no time, and time limits never run out. */
export const impatient: Clock = {
  now: () => 1_700_000_000_000,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      // 5 s are the moment that a turn has to say its name: no wait between tries is as long to the millisecond.
      const isLimit = ms >= 20_000 || ms === 5_000;
      const timer = isLimit ? undefined : setTimeout(resolve, 0);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      }, { once: true });
    }),
};

/** What was done to the requests of a client. */
export interface Cuts {
  readonly fetch: Fetch;
  readonly seen: { requests: number; unsent: number; unanswered: number; refused: number; cut: number };
}

/** Breaks what goes through it: requests before and after the service has them, answers at any byte. */
export function cutting(fetch: Fetch, random: () => number): Cuts {
  const seen = { requests: 0, unsent: 0, unanswered: 0, refused: 0, cut: 0 };
  return {
    seen,
    async fetch(url, init) {
      seen.requests++;
      const fate = random();
      if (fate < 0.08) {
        seen.unsent++;
        throw new TypeError("connection refused");
      }
      if (fate < 0.14) {
        seen.refused++;
        return new Response("<h1>Bad gateway</h1>", { status: 502 });
      }
      const response = await fetch(url, init);
      if (fate < 0.22) {
        seen.unanswered++;
        await response.body?.cancel();
        throw new TypeError("connection reset");
      }
      const { body, status, headers } = response;
      if (body === null) return response;
      const isCut = random() < 0.6;
      return new Response(pieces(body, random, isCut ? () => void seen.cut++ : null), { status, headers });
    },
  };
}

/** A body in pieces of any length, which ends somewhere, in silence or with an error, where it is cut. */
function pieces(
  body: ReadableStream<Uint8Array>,
  random: () => number,
  onCut: (() => void) | null,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = onCut === null ? Infinity : Math.floor(random() ** 3 * 3_000);
  let held = new Uint8Array();
  return new ReadableStream({
    async pull(controller) {
      if (held.length === 0) {
        const { value, done } = await reader.read();
        if (done) return controller.close();
        held = value.slice();
      }
      const size = Math.min(1 + Math.floor(random() * 400), held.length, left);
      if (size > 0) controller.enqueue(held.slice(0, size));
      held = held.slice(size);
      left -= size;
      if (left > 0) return;
      onCut?.();
      await reader.cancel();
      if (random() < 0.5) controller.close();
      else controller.error(new TypeError("connection reset"));
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

/** A service whose agent looks things up, asks the client, and answers at length. */
export function makeService() {
  let looked = 0;
  const look = defineTool({
    name: "look",
    description: "Looks",
    input: z.object({ at: z.number() }),
    execute: ({ at }) => `found ${++looked && at} ✓ ${"ä".repeat(at * 7 % 90)}`,
  });
  const model = scripted({
    script: ({ messages }) => {
      const last = messages.at(-1);
      const from = messages.findLastIndex(({ role }) => role === "user");
      const steps = messages.slice(from).filter(({ role }) => role === "assistant").length;
      const wanted = Number(String(JSON.stringify(messages[from]?.content)).match(/\d+/)?.[0] ?? 1);
      const calls = [...Array(1 + wanted % 3).keys()].map((at) => ({
        name: "look",
        input: { at: at + steps },
      }));
      if (steps < wanted % 4) return { text: "Looking… 🔎", calls };
      if (steps === wanted % 4 && wanted % 2 === 1) {
        return { calls: [...calls, { name: "ask", input: { wanted } }] };
      }
      return { text: `Done with ${wanted}: ${"word 😀 ".repeat(wanted % 40)}${last?.role}` };
    },
  });
  const app = createApp({ agents: { default: { model, tools: [look] } }, store: memoryStore() });
  const fetch: Fetch = async (url, init) => await app.request(url, init);
  return { app, fetch, looked: () => looked };
}

/** The tool that the client answers. */
const tools = {
  ask: {
    description: "Asks",
    inputSchema: { type: "object", properties: { wanted: { type: "number" } } },
    execute: ({ wanted }: { readonly wanted: number }) => ({ wanted, answer: "yes" }),
  },
};

/** Reads a turn to its end, and holds what was seen against what the service has stored; gives its text. */
export async function readTurn(turn: ClientTurn, straight: Client): Promise<string> {
  const seen = await Array.fromAsync(turn);
  const { text, reason, session } = await turn.result();
  equal(reason, "stop");
  deepEqual(seen, await Array.fromAsync(straight.follow(turn.id ?? "")), session);
  const { entries } = await straight.sessions.messages(session);
  equal(entries.filter(({ kind }) => kind === "user").length, 1, `the turn of ${session} was started once`);
  return text;
}

/** Runs a turn of {@link makeService} over a way that breaks. */
export async function runTurn(
  { cut, straight, n }: { readonly cut: Client; readonly straight: Client; readonly n: number },
): Promise<void> {
  const text = await readTurn(cut.turn({ session: `s${n}`, input: `number ${n}`, tools }), straight);
  ok(text.startsWith(`Done with ${n}`), text);
}

/** A client of a service for tests. */
export function clientOf(fetch: Fetch, random: () => number = () => 0.5): Client {
  return createClient({ url: "http://127.0.0.1", fetch, clock: impatient, random, maxTries: 40 });
}
