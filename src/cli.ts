/**
 * The `selvage` command: checks, repairs and compacts transcripts in files. Web and `node:` APIs only, so that it
 * runs wherever they do.
 *
 *     deno task cli check FILE
 *
 * @module
 */
import process from "node:process";
import { runCommand } from "./_cli_run.ts";

// Whoever reads the output may stop before its end, as `head` does.
process.stdout.on("error", (error: Error & { readonly code?: string }) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});
process.exitCode = await runCommand(process.argv.slice(2), process);
