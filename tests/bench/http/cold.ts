/** From the start of a process to the end of its first turn, which has one step. */
import type { Figures } from "../http.ts";
import { median } from "./median.ts";
import { runTurn, type SideName, startSide } from "./sides.ts";

/** Medians over so many starts, in milliseconds. One more comes before them: it fills caches, and does not count. */
export async function measureColdStart(
  names: readonly SideName[],
  { double, count }: { readonly double: string; readonly count: number },
): Promise<Figures> {
  const all = new Map<SideName, number[]>(names.map((name) => [name, []]));
  for (let n = 0; n <= count; n++) {
    for (const name of names) {
      const since = performance.now();
      await using side = await startSide(name, { double });
      await runTurn(name, { url: side.url, plan: { kind: "steps", count: 1, size: 64 } });
      if (n > 0) all.get(name)?.push(performance.now() - since);
    }
  }
  return Object.fromEntries([...all].map(([name, found]) => [name, median(found)]));
}
