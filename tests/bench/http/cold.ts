/** From the start of a process to the end of its first turn, which has one step. */
import type { Figures } from "../http.ts";
import { median } from "./median.ts";
import { runTurn, type SideName, startSide } from "./sides.ts";

/**
 * Medians over so many starts, in milliseconds. Before each of them comes one that does not count: sides share packages,
 * and V8's cache of their code fits only the flags of whoever was started last.
 */
export async function measureColdStart(
  names: readonly SideName[],
  { double, count }: { readonly double: string; readonly count: number },
): Promise<Figures> {
  const all = new Map<SideName, number[]>(names.map((name) => [name, []]));
  for (let n = 0; n < count; n++) {
    for (const name of names) {
      await startOnce(name, double);
      all.get(name)?.push(await startOnce(name, double));
    }
  }
  return Object.fromEntries([...all].map(([name, found]) => [name, median(found)]));
}

/** Milliseconds of one start. */
async function startOnce(name: SideName, double: string): Promise<number> {
  const since = performance.now();
  await using side = await startSide(name, { double });
  await runTurn(name, { url: side.url, plan: { kind: "steps", count: 1, size: 64 } });
  return performance.now() - since;
}
