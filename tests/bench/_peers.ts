/** The functions of others that shorten transcripts, as a process beside the benchmark. */
import { TextLineStream } from "@std/streams";
import type { Json } from "../support/wire_json.ts";

/** What one of them made of a transcript; null where it threw. */
export interface PeerAnswer {
  readonly messages: readonly Json[] | null;
  readonly error: string | null;
  readonly milliseconds: number;
}

/** A running worker. */
export interface Peers extends AsyncDisposable {
  /** What they are called. */
  readonly names: readonly string[];
  ask(
    way: string,
    question: { readonly messages: readonly Json[]; readonly budget: number; readonly reserve: number },
  ): Promise<PeerAnswer>;
}

/** Starts the worker; its packages are installed on first use, by its own lock file. */
export async function startPeers(): Promise<Peers> {
  const folder = new URL("./shorteners/", import.meta.url).pathname;
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
  const lines = process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
    .getReader();
  const encoder = new TextEncoder();
  const read = async () => {
    const { value: line, done } = await lines.read();
    if (done) throw new Error("Cannot ask a peer: its process has ended");
    return JSON.parse(line);
  };
  return {
    names: await read(),
    async ask(way, question) {
      await writer.write(encoder.encode(`${JSON.stringify({ way, ...question })}\n`));
      return { messages: null, error: null, ...await read() };
    },
    async [Symbol.asyncDispose]() {
      await writer.close();
      await process.status;
      lines.releaseLock();
    },
  };
}
