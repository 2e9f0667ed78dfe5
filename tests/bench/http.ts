/**
 * What the service costs, against a server that hands the same requests through, and against the AI SDK in a Hono app:
 * processor time per step and per delta, time to the first delta, memory of slow streams, cold start, the stall of a
 * slow summary. A double, a server and this client are three processes; servers take turns in one run, and what is
 * judged are ratios.
 *
 *     deno task bench                      all of it, on a quiet machine
 *     deno task bench loop                 steps and deltas against the floor alone, which two servers share a machine for
 *     deno task bench http "10 steps"      one row; further words are flags of the service's process (--cpu-prof)
 *     deno task bench smoke                less than a minute, with loose limits, for busy machines
 */
import { measureColdStart } from "./http/cold.ts";
import { measureCpu, warmUp } from "./http/cpu.ts";
import { measureFirst } from "./http/first.ts";
import { hasSteps } from "./http/plan.ts";
import { CPU_ROWS, type CpuRow, type Limit } from "./http/rows.ts";
import { type Side, type SideName, startSide } from "./http/sides.ts";
import { measureMemory } from "./http/slow.ts";
import { measureStall } from "./_stall.ts";

/** What one row came to: a figure for each server, smaller is better. */
export type Figures = Readonly<Partial<Record<SideName, number>>>;

/** The servers of a run. The smoke form leaves out the one that nothing is held against. */
export type Sides = ReadonlyMap<SideName, Side>;

const NAMES = ["raw", "memory", "kv", "AI SDK"] as const;

/** A table of ratios, and whether all limits were kept. */
class Report {
  readonly #table: Record<string, Record<string, string>> = {};
  readonly #isSmoke: boolean;
  isMet = true;

  constructor(isSmoke: boolean) {
    this.#isSmoke = isSmoke;
  }

  /** Adds a row; its figures are shown against those of `base`. */
  add(name: string, figures: Figures, limits: readonly Limit[], base: SideName = "raw"): void {
    const of = figures[base] ?? NaN;
    const own = figures.memory ?? NaN;
    const shown = NAMES.map((side) => {
      const figure = figures[side];
      if (figure === undefined) return [side, ""] as const;
      // Nothing has no multiple: figures are shown as they are.
      return [side, of > 0 ? `${(figure / of).toFixed(2)}x` : figure.toFixed(1)] as const;
    });
    const held = limits.map(({ to, wanted, loose }) => {
      const limit = this.#isSmoke ? loose : wanted;
      const floor = figures[to] ?? NaN;
      // As with streams that fit what a process had grown to before: there is nothing to be held against.
      if (floor === 0) return { text: `${to} took nothing: no ratio (${own.toFixed(1)})`, isMet: true };
      const ratio = own / floor;
      return { text: `<= ${limit.toFixed(2)} ${to} (${ratio.toFixed(2)})`, isMet: ratio <= limit };
    });
    this.#add(name, Object.fromEntries(shown), held);
  }

  /** Adds a row that is no ratio. */
  say(
    name: string,
    text: string,
    { wanted, isMet }: { readonly wanted: string; readonly isMet: boolean },
  ): void {
    this.#add(name, { memory: text }, [{ text: wanted, isMet }]);
  }

  #add(
    name: string,
    columns: Readonly<Record<string, string>>,
    held: readonly { readonly text: string; readonly isMet: boolean }[],
  ): void {
    const isMet = held.every((limit) => limit.isMet);
    this.isMet &&= isMet;
    this.#table[name] = {
      ...columns,
      "wanted of memory": held.map(({ text }) => text).join(", "),
      met: held.length === 0 ? "" : isMet ? "yes" : "NO",
    };
  }

  print(): void {
    console.table(this.#table);
  }
}

/** Measures everything, or the row that is named, and prints one table. */
export async function run(): Promise<void> {
  const [kind = "http", wanted = "", ...flags] = Deno.args;
  const isSmoke = kind === "smoke";
  const isLoop = kind === "loop";
  const isHeld = ({ to }: Limit): boolean => !isLoop || to === "raw";
  const isMeant = ({ limits, smoke }: CpuRow): boolean => limits.some(isHeld) && (!isSmoke || smoke > 0);
  const rows = CPU_ROWS.filter((row) => wanted === "" ? isMeant(row) : row.name === wanted);
  if (rows.length === 0) {
    const names = CPU_ROWS.map(({ name }) => JSON.stringify(name)).join(", ");
    throw new RangeError(`Cannot measure the row ${JSON.stringify(wanted)}: wanted one of ${names}`);
  }
  const report = new Report(isSmoke);
  await using double = await startSide("double");
  const start = (name: SideName, flags: readonly string[] = []) =>
    startSide(name, { double: double.url, flags });
  const left: readonly SideName[] = isLoop ? ["kv", "AI SDK"] : isSmoke ? ["kv"] : [];
  const names = NAMES.filter((name) => !left.includes(name));
  await using started = new AsyncDisposableStack();
  const sides = new Map<SideName, Side>();
  for (const name of names) sides.set(name, started.use(await start(name, name === "memory" ? flags : [])));

  // V8 compiles for good what has run a few thousand times; the loose limits are for servers that it has yet to.
  await warmUp(sides, isSmoke ? 100 : 2_000);
  let lost = 0;
  for (const row of rows) {
    const cost = await measureCpu(row, { sides, rounds: isSmoke ? row.smoke : row.rounds });
    const unit = hasSteps(row.plan) ? "step" : "delta";
    report.add(`CPU per ${unit}: ${row.name}`, cost.figures, row.limits.filter(isHeld));
    lost += cost.lost.memory ?? 0;
    if (wanted !== "") console.table({ [`${row.name}, µs per ${unit}`]: cost.micros, lost: cost.lost });
  }
  report.say("deltas lost", String(lost), { wanted: "0", isMet: lost === 0 });

  if (wanted === "" && !isLoop) {
    const first = await measureFirst(sides, isSmoke ? 30 : 150);
    report.add("time to the first delta", first, [{ to: "AI SDK", wanted: 1, loose: 1.5 }]);
    const added = (first.memory ?? NaN) - (first.raw ?? NaN);
    report.say("first delta, added to raw", `${added.toFixed(2)} ms`, {
      wanted: isSmoke ? "" : "<= 1 ms",
      // Milliseconds say nothing of a machine that does other things, too.
      isMet: isSmoke || added <= 1,
    });
    const cold = await measureColdStart(names, { double: double.url, count: isSmoke ? 3 : 5 });
    // Both take half a second, which whatever else the machine does moves by a third.
    report.add("cold start, to the end of a first turn", cold, [{ to: "AI SDK", wanted: 0.5, loose: 1.5 }]);
    // A few streams for a few seconds would say nothing of what each costs.
    if (!isSmoke) {
      const figures = await measureMemory(names, { double: double.url, count: 500, words: 60 });
      report.add("memory of each of 500 slow streams", figures, [{ to: "raw", wanted: 1, loose: 1 }]);
    }
    const [base, behind] = [await measureStall("none"), await measureStall("background")];
    const stall = behind.ms - base.ms;
    report.say("stall by a summary of 5 s", `${stall} ms`, { wanted: "<= 50 ms", isMet: stall <= 50 });
  }
  report.print();
  if (!report.isMet) Deno.exitCode = 1;
}
