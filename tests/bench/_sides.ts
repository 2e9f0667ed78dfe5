/** Servers that a benchmark compares, each a process of its own: how they are started, and how they serve. */

/** A server. */
export interface Side {
  readonly url: string;
  readonly process: Deno.ChildProcess;
}

/**
 * Starts a server and waits until it has said its URL.
 *
 * @param script The program, beside this file.
 * @param options Its words, and further flags of `deno run`.
 */
export async function startSide(
  script: string,
  { args, flags = [] }: { readonly args: readonly string[]; readonly flags?: readonly string[] },
): Promise<Side> {
  const path = new URL(script, import.meta.url).pathname;
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-lock", "--quiet", "--allow-net=127.0.0.1", ...flags, path, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  reader.releaseLock();
  return { url: value.trim(), process };
}

/** Ends servers. */
export async function stopSides(...sides: readonly Side[]): Promise<void> {
  for (const { process } of sides) {
    process.kill("SIGTERM");
    await process.status;
  }
}

/** Serves on a free port of loopback and says the URL: what {@link startSide} waits for. */
export function serveSide(handle: Deno.ServeHandler): void {
  Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: ({ port }) => console.log(`http://127.0.0.1:${port}`),
  }, handle);
}
