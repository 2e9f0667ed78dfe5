/**
 * Makes the scripts of the page: each entry and what it imports in one file, for browsers. They are checked in, so that
 * nobody who runs the service has to build anything; a test holds them to their sources.
 *
 *     deno task page:build
 *
 * @module
 */
import { runDeno } from "./_run.ts";

/** Scripts, by the module that each is made of. */
const ENTRIES: Readonly<Record<string, string>> = {
  "chat.js": "src/web/chat/app.ts",
  "doctor.js": "src/web/doctor/app.ts",
  "doctor_worker.js": "src/web/doctor/worker.ts",
};

const NOTE = "// Made by `deno task page:build`; the sources are the modules beside this folder.\n";

/** Bundles one module. It is not minified: it can be read where it runs, and two changes to it can be merged. */
async function bundle(entry: string): Promise<string> {
  const made = await runDeno(["bundle", "--quiet", "--platform", "browser", entry]);
  // Paths of this machine are no part of it.
  return NOTE + made.replaceAll(/^\/\/ \S+\.(?:ts|m?js)\n/gm, "");
}

/** The scripts, by name. */
export async function buildScripts(): Promise<Readonly<Record<string, string>>> {
  const made = Object.entries(ENTRIES).map(async ([name, entry]) => [name, await bundle(entry)] as const);
  return Object.fromEntries(await Promise.all(made));
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(await buildScripts())) {
    await Deno.writeTextFile(`src/web/dist/${name}`, text);
    console.log(`src/web/dist/${name}: ${text.length.toLocaleString("en-US")} characters`);
  }
}
