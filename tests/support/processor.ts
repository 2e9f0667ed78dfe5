/** How much work something is, whatever else the machine does. */
import process from "node:process";

/**
 * Milliseconds that the processor spends in this thread while something runs: nothing that other threads, other
 * processes or a busy machine take is in it. It moves in steps of 10 ms.
 */
export async function processorMs(run: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await run();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
