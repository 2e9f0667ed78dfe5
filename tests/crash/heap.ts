/**
 * Thousands of turns in one process: what is left of each when it is over. Run as a program, with the collector
 * exposed, it plays the turns and prints what it measured.
 *
 * @module
 */
import * as z from "zod";
import { createApp, Drain } from "../../src/http/mod.ts";
import { systemClock } from "../../src/loop/clock.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Clock, ModelRequest } from "../../src/ports.ts";
import { kvStore } from "../../src/store/kv.ts";

/** What is played. */
export interface HeapOptions {
  readonly turns: number;
  /** Turns after which the heap is first measured: caches have filled by then. */
  readonly from: number;
}

/** What came of it. */
export interface HeapReport {
  readonly turns: number;
  /** Bytes in use after a forced collection: after `from` turns, half-way, and at the end. */
  readonly first: number;
  readonly middle: number;
  readonly last: number;
  /** Bytes that each turn has left. */
  readonly perTurn: number;
  /** Sleeps under way, and turns and streams not ended, when all turns were over. */
  readonly sleeps: number;
  readonly running: number;
  /** Sentences on what does not hold. */
  readonly faults: readonly string[];
}

type Played = Omit<HeapReport, "perTurn" | "faults">;

/** Share by which the heap may grow: what the engine learns in passing. One event left by each turn is more. */
const GROWTH = 0.02;
/** Milliseconds for the process to end by itself once everything is over. */
const END_MS = 5_000;
/** Turns of one session. */
const SESSION_TURNS = 5;

declare const gc: (() => void) | undefined;

/** A clock that knows how many sleep by it. */
function countingClock(): { readonly clock: Clock; readonly sleeps: () => number } {
  let sleeps = 0;
  return {
    sleeps: () => sleeps,
    clock: {
      now: systemClock.now,
      sleep: (ms, signal) => {
        sleeps++;
        return systemClock.sleep(ms, signal).finally(() => sleeps--);
      },
    },
  };
}

/** Two calls, then the end; in each turn. */
function reply({ messages }: ModelRequest) {
  const last = messages.findLastIndex(({ role }) => role === "user");
  const step = messages.slice(last).filter(({ role }) => role === "assistant").length;
  if (step > 0) return { text: "Both files were read, and nothing is missing." };
  return { calls: [{ name: "read", input: { path: "a" } }, { name: "read", input: { path: "b" } }] };
}

/** Bytes in use once what is over was collected. */
async function settled(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    gc?.();
  }
  return Deno.memoryUsage().heapUsed;
}

async function play({ turns, from }: HeapOptions): Promise<Played> {
  const { clock, sleeps } = countingClock();
  const folder = await Deno.makeTempDir({ prefix: "selvage-heap-" });
  const store = await kvStore({ path: `${folder}/kv.sqlite3`, clock });
  const drain = new Drain();
  const read = defineTool({
    name: "read",
    description: "Reads a file",
    input: z.object({ path: z.string() }),
    execute: ({ path }) => `${path}: ${"some lines of a file, ".repeat(20)}`,
  });
  const model = scripted({ script: reply, window: 8_000, maxOutput: 500 });
  const app = createApp({ agents: { default: { model, tools: [read] } }, store, clock, drain });
  const measured = new Map<number, number>();
  for (let turn = 1; turn <= turns; turn++) {
    const session = `s${Math.floor((turn - 1) / SESSION_TURNS)}`;
    const init = { method: "POST", body: JSON.stringify({ session, input: `Read, for the ${turn}th time` }) };
    const response = await app.request("/v1/turns", init);
    const isLeft = turn % 10 === 0;
    if (isLeft) {
      // A client that goes away in the middle.
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.read();
      await reader?.cancel();
    } else {
      const text = await response.text();
      if (!text.includes('"reason":"stop"')) throw new Error(`Turn ${turn} ended with ${text.slice(-300)}`);
    }
    if (turn % SESSION_TURNS === 0) await app.request(`/v1/sessions/${session}`, { method: "DELETE" });
    if (turn === from || turn === Math.floor((from + turns) / 2) || turn === turns) {
      const limit = (measured.get(from) ?? Infinity) * (1 + GROWTH);
      let used = await settled();
      // On a busy machine something may still be on its way; what was left by turns stays.
      for (let again = 0; used > limit && again < 50; again++) used = await settled();
      measured.set(turn, used);
    }
  }
  const report = {
    turns,
    first: measured.get(from) ?? 0,
    middle: measured.get(Math.floor((from + turns) / 2)) ?? 0,
    last: measured.get(turns) ?? 0,
    sleeps: sleeps(),
    running: drain.running,
  };
  store.close();
  await Deno.remove(folder, { recursive: true });
  return report;
}

/** Plays the turns in a process of their own, and looks at what they left. */
export async function measureHeap(options: HeapOptions): Promise<HeapReport> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "-P=test",
      "--v8-flags=--expose-gc",
      "tests/crash/heap.ts",
      JSON.stringify(options),
    ],
    cwd: new URL("../../", import.meta.url),
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { done, value } = await reader.read();
    if (done) throw new Error("The turns were not played to their end");
    text += value;
  }
  const played: Played = JSON.parse(text);
  const faults: string[] = [];
  // Nothing keeps a process alive in which everything is over.
  const timer = setTimeout(() => {
    faults.push(`the process did not end in ${END_MS} ms`);
    child.kill("SIGKILL");
  }, END_MS);
  await child.status;
  clearTimeout(timer);
  await reader.cancel();
  const perTurn = (played.last - played.first) / (options.turns - options.from);
  if (played.last > played.first * (1 + GROWTH)) {
    faults.push(
      `the heap grew from ${played.first} to ${played.last} bytes, ${perTurn.toFixed(0)} with each turn`,
    );
  }
  if (played.sleeps > 0) faults.push(`${played.sleeps} sleeps are under way`);
  if (played.running > 0) faults.push(`${played.running} turns or streams have not ended`);
  return { ...played, perTurn, faults };
}

if (import.meta.main) {
  if (gc === undefined) throw new Error("Cannot measure the heap: wanted --v8-flags=--expose-gc");
  console.log(JSON.stringify(await play(JSON.parse(Deno.args[0] ?? "{}"))));
}
