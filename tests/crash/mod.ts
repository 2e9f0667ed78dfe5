/**
 * `deno task test:crash`: the long proofs. Without an argument, rounds of killed processes (`SELVAGE_CRASH_ROUNDS`,
 * default 200); `contention`, `restarts` (processes that are told to go down) and `heap` are the others. `SELVAGE_SEED`
 * repeats a run, as far as processes can be repeated.
 */
interface Report {
  /** Sentences on what does not hold. */
  readonly faults: readonly string[];
}

const seed = Number(Deno.env.get("SELVAGE_SEED") ?? Math.floor(Math.random() * 2 ** 31));

const PROOFS: Readonly<Record<string, () => Promise<Report>>> = {
  async rounds() {
    const { runRounds } = await import("./rounds.ts");
    const rounds = Number(Deno.env.get("SELVAGE_CRASH_ROUNDS") ?? 200);
    console.log(`${rounds} rounds, seed ${seed}`);
    const onRound = (round: number): void => {
      if (round % 20 === 0) console.log(`round ${round} is over`);
    };
    return await runRounds({ rounds, seed, onRound });
  },
  async contention() {
    const { runContention } = await import("./contention.ts");
    console.log(`8 processes, 200 sessions, seed ${seed}`);
    return await runContention({ processes: 8, sessions: 200, seed });
  },
  async restarts() {
    const { runRestarts } = await import("./restarts.ts");
    const restarts = Number(Deno.env.get("SELVAGE_CRASH_ROUNDS") ?? 50);
    console.log(`${restarts} restarts, seed ${seed}`);
    return await runRestarts({ restarts, seed });
  },
  async heap() {
    const { measureHeap } = await import("./heap.ts");
    return await measureHeap({ turns: 10_000, from: 2_000 });
  },
};

const [name = "rounds"] = Deno.args;
const proof = Object.hasOwn(PROOFS, name) ? PROOFS[name] : undefined;
if (proof === undefined) {
  console.error(`Cannot run ${JSON.stringify(name)}: wanted one of ${Object.keys(PROOFS).join(", ")}`);
  Deno.exit(2);
}
const started = performance.now();
const { faults, ...figures } = await proof();
for (const fault of faults) console.error(fault);
console.table(figures);
console.log(`${faults.length} faults, ${((performance.now() - started) / 1_000).toFixed(0)} s`);
Deno.exit(faults.length === 0 ? 0 : 1);
