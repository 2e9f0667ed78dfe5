/**
 * What a slow stream costs: memory of the service for each of 500 streams that last a minute, against a server that
 * passes the same bytes on, in the same run; and what is left of 500 that are dropped at once. `streams SECONDS COUNT`
 * takes other numbers.
 */
import { startSide } from "./http/sides.ts";
import { dropMany, memoryOf } from "./http/slow.ts";

/** Measures both, and prints what was wanted and what was found. */
export async function run(): Promise<void> {
  const [seconds = 60, count = 500] = Deno.args.slice(1).map(Number);
  await using double = await startSide("double");
  await using raw = await startSide("raw", { double: double.url });
  await using memory = await startSide("memory", { double: double.url });
  const plain = await memoryOf("raw", raw, { count, words: seconds });
  const ours = await memoryOf("memory", memory, { count, words: seconds });
  const dropped = await dropMany({ memory }, { double: double.url, count });
  console.table({
    [`memory of each of ${count} streams of ${seconds} s`]: {
      wanted: `<= ${plain.toFixed(0)} KiB (raw)`,
      measured: `${ours.toFixed(0)} KiB`,
      met: ours <= plain ? "yes" : "NO",
    },
    [`streams left of ${dropped.open} dropped at once`]: {
      wanted: "0",
      measured: `${dropped.left} after ${dropped.ms.toFixed(0)} ms`,
      met: dropped.left === 0 && dropped.open === count ? "yes" : "NO",
    },
  });
}
