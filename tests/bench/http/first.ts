/** Time to the first delta of a text whose words come 2 ms apart, requests of all servers in turn. */
import type { Figures, Sides } from "../http.ts";
import { median } from "./median.ts";
import { runTurn, type SideName } from "./sides.ts";

/** Medians over so many turns of each, in milliseconds. */
export async function measureFirst(sides: Sides, count: number): Promise<Figures> {
  const all = new Map<SideName, number[]>([...sides.keys()].map((name) => [name, []]));
  for (let n = 0; n < count; n++) {
    for (const [name, { url }] of sides) {
      const plan = { kind: "paced", count: 10, size: 0 } as const;
      const { firstMs } = await runTurn(name, { url, plan });
      all.get(name)?.push(firstMs);
    }
  }
  return Object.fromEntries([...all].map(([name, found]) => [name, median(found)]));
}
