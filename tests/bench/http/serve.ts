/** What each server of the benchmark does beside its work: it says where it is, and what it has cost so far. */

/** Where a server tells of its processor time, in microseconds. */
export const CPU_PATH = "/cpu";

/** Where the double tells how many streams it sends now. */
export const OPEN_PATH = "/open";

/** Serves on a free port of loopback, and prints the address. */
export function listen(handle: Deno.ServeHandler): void {
  Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: ({ port }) => console.log(`http://127.0.0.1:${port}`),
  }, handle);
}

/** Serves until `SIGTERM`, and tells what that has cost. */
export function serve(handle: Deno.ServeHandler): void {
  // An exit like any other, so that a profile is written.
  Deno.addSignalListener("SIGTERM", () => Deno.exit());
  listen((request, info) => request.url.endsWith(CPU_PATH) ? tellCpu() : handle(request, info));
}

/** Its import takes a third of the floor's whole start, so it comes with the first question. */
async function tellCpu(): Promise<Response> {
  const { default: process } = await import("node:process");
  const { system, user } = process.cpuUsage();
  return new Response(String(user + system));
}
