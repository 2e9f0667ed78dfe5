/** Resident memory of another process, in KiB. Deno lets nobody read `/proc` by itself who may not do everything. */
export async function rssOf(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("cat", { args: [`/proc/${pid}/status`] }).output();
  const found = new TextDecoder().decode(stdout).match(/^VmRSS:\s+(\d+) kB/m)?.[1];
  if (found === undefined) throw new Error(`Cannot read the memory of process ${pid}`);
  return Number(found);
}
