/**
 * `deno task test:hostile [COUNT] [SEED]`: 10,000 hostile requests over raw TCP, and 200 bodies that never end. A seed
 * repeats a run.
 */
import { runHostile } from "./run.ts";

const [count = 10_000, seed = Math.floor(Math.random() * 2 ** 31)] = Deno.args.map(Number);
console.log(`${count} requests, seed ${seed}`);
const started = performance.now();
const { faults, statuses, ...figures } = await runHostile({ count, slow: 200, seed });
for (const fault of faults) console.error(fault);
console.table(figures);
console.table(statuses);
console.log(`${faults.length} faults, ${((performance.now() - started) / 1_000).toFixed(0)} s`);
Deno.exit(faults.length === 0 ? 0 : 1);
