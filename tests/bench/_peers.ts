/** The functions of others that shorten transcripts, as a process beside the benchmark. */
import type { Json } from "../support/dialects.ts";

/** What they are called. */
export const PEERS = [
  "LangChain summarizationMiddleware",
  "LangChain trimMessages",
  "AI SDK pruneMessages",
] as const;

/** What one of them made of a transcript; null where it threw. */
export interface PeerAnswer {
  readonly messages: readonly Json[] | null;
  readonly error: string | null;
  readonly milliseconds: number;
}

/** A running worker. */
export interface Peers extends AsyncDisposable {
  ask(
    way: string,
    question: { readonly messages: readonly Json[]; readonly budget: number; readonly reserve: number },
  ): Promise<PeerAnswer>;
}

/** Starts the worker; its packages are installed on first use, by its own lock file. */
export function startPeers(): Peers {
  const folder = new URL("./peers/", import.meta.url).pathname;
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      `--config=${folder}deno.json`,
      "--frozen",
      "--allow-env",
      "--allow-read",
      "--allow-sys",
      `${folder}worker.ts`,
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = process.stdin.getWriter();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const encoder = new TextEncoder();
  let rest = "";
  return {
    async ask(way, question) {
      await writer.write(encoder.encode(`${JSON.stringify({ way, ...question })}\n`));
      while (!rest.includes("\n")) {
        const { value, done } = await reader.read();
        if (done) throw new Error("Cannot ask a peer: its process has ended");
        rest += value;
      }
      const end = rest.indexOf("\n");
      const answer = JSON.parse(rest.slice(0, end));
      rest = rest.slice(end + 1);
      return { messages: null, error: null, ...answer };
    },
    async [Symbol.asyncDispose]() {
      await writer.close();
      await process.status;
      reader.releaseLock();
    },
  };
}
