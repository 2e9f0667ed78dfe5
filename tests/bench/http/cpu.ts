/** Processor time of servers per step or delta, in rounds in which they take turns. */
import type { Figures, Sides } from "../http.ts";
import { median } from "./median.ts";
import { hasSteps } from "./plan.ts";
import type { CpuRow } from "./rows.ts";
import { runTurn, type Side, type SideName } from "./sides.ts";

/** What a row has come to. */
export interface Cost {
  /**
   * Multiples of what the floor took in the same round; medians. What else has the machine moves a round by a half, and
   * both sides of it.
   */
  readonly figures: Figures;
  /** Microseconds per step or delta; medians. */
  readonly micros: Figures;
  /** Deltas that did not come. */
  readonly lost: Figures;
}

/** One round of one server. */
async function round(
  { parallel, plan, runs }: CpuRow,
  { name, side: { cpu, url } }: { readonly name: SideName; readonly side: Side },
): Promise<{ readonly each: number; readonly lost: number }> {
  const wanted = hasSteps(plan) ? 0 : plan.count;
  const before = await cpu();
  let lost = 0;
  for (let done = 0; done < runs; done += parallel) {
    const turns = Array.from({ length: parallel }, () => runTurn(name, { url, plan }));
    for (const { words } of await Promise.all(turns)) lost += wanted - words;
  }
  return { each: (await cpu() - before) / (runs * plan.count), lost };
}

/** Lets every server play turns. A service runs for months: what its compiling costs, it costs in the first minute. */
export async function warmUp(sides: Sides, turns: number): Promise<void> {
  for (const [name, { url }] of sides) {
    for (let n = 0; n < turns; n++) await runTurn(name, { url, plan: { kind: "steps", count: 1, size: 64 } });
  }
}

/** Measures a row. Medians: a round in which something else had the machine counts as one round. */
export async function measureCpu(
  row: CpuRow,
  { sides, rounds }: { readonly sides: Sides; readonly rounds: number },
): Promise<Cost> {
  const each = new Map<SideName, number[]>([...sides.keys()].map((name) => [name, []]));
  const lost = new Map<SideName, number>();
  // A third as many rounds warm all of them up for this kind of turn.
  const warm = Math.ceil(rounds / 3);
  for (let n = 0; n < warm + rounds; n++) {
    for (const [name, side] of sides) {
      const found = await round(row, { name, side });
      lost.set(name, (lost.get(name) ?? 0) + found.lost);
      if (n >= warm) each.get(name)?.push(found.each);
    }
  }
  const floor = each.get("raw") ?? [];
  const of = (figure: (all: readonly number[]) => number): Figures =>
    Object.fromEntries([...each].map(([name, all]) => [name, figure(all)]));
  return {
    figures: of((all) => median(all.map((cost, n) => cost / (floor[n] ?? NaN)))),
    micros: of(median),
    lost: Object.fromEntries(lost),
  };
}
