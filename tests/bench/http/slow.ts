/** Slow streams: what each of many costs in memory, and what is left of many that are dropped at once. */
import { rssOf } from "../../support/memory.ts";
import type { Figures } from "../http.ts";
import { OPEN_PATH } from "./serve.ts";
import { ask, readTurn, runTurn, type Side, type SideName, startSide } from "./sides.ts";

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Many {
  readonly count: number;
  /** A second each. */
  readonly words: number;
}

async function openMany(count: number, make: () => Promise<Response>): Promise<Response[]> {
  const all: Response[] = [];
  // In groups: a listen queue holds only so many.
  for (let at = 0; at < count; at += 50) {
    all.push(...await Promise.all(Array.from({ length: Math.min(50, count - at) }, make)));
  }
  return all;
}

/** Memory per stream in KiB: the most that was seen, over what there was after a warm-up. */
export async function memoryOf(name: SideName, side: Side, { count, words }: Many): Promise<number> {
  const { pid, url } = side;
  // As many streams as are measured, 50 at a time: a young process grows its heap with what it throws away, which is no
  // stream's cost. What a stream holds while it is open has not been held by these.
  const short = { kind: "deltas", count: 1, size: 0 } as const;
  for (let done = 0; done < count; done += 50) {
    await Promise.all(Array.from({ length: 50 }, () => runTurn(name, { url, plan: short })));
  }
  const before = await rssOf(pid);
  let most = before;
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; await sleep(250)) most = Math.max(most, await rssOf(pid));
  })();
  try {
    const plan = { kind: "slow", count: words, size: 0 } as const;
    const open = await openMany(count, () => ask(name, { url, plan }));
    const seen = await Promise.all(open.map((response) => readTurn(name, response, performance.now())));
    const lost = seen.filter((turn) => turn.words !== words).length;
    if (lost > 0) throw new Error(`Cannot use the streams of ${name}: found ${lost} that lost deltas`);
  } finally {
    isOver = true;
    await watching;
  }
  return (most - before) / count;
}

/** KiB of each stream, by server, one after the other: each is started anew, for one that has grown would grow no more. */
export async function measureMemory(
  names: readonly SideName[],
  { double, ...many }: Many & { readonly double: string },
): Promise<Figures> {
  const figures: Partial<Record<SideName, number>> = {};
  for (const name of names.filter((name) => name !== "kv")) {
    await using side = await startSide(name, { double });
    figures[name] = await memoryOf(name, side, many);
  }
  return figures;
}

/** Drops many streams of the service at once; how many the model still sends some time later. */
export async function dropMany(
  { memory }: { readonly memory: Side },
  { double, count }: { readonly double: string; readonly count: number },
): Promise<{ readonly open: number; readonly left: number; readonly ms: number }> {
  const stop = new AbortController();
  const plan = { kind: "slow", count: 600, size: 0 } as const;
  await openMany(count, () => ask("memory", { url: memory.url, plan, signal: stop.signal }));
  await sleep(3_000);
  const sending = async () => Number(await (await fetch(double + OPEN_PATH)).text());
  const open = await sending();
  stop.abort();
  const since = performance.now();
  let left = await sending();
  while (left > 0 && performance.now() - since < 10_000) {
    await sleep(50);
    left = await sending();
  }
  return { open, left, ms: performance.now() - since };
}
