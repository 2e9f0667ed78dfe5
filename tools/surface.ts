/**
 * The public surface: every name that an entry point exports, with its signature, as one text that is checked in. A
 * change to what others build on so stands in the diff; a test holds the text to the sources.
 *
 *     deno task surface
 *
 * @module
 */
import config from "../deno.json" with { type: "json" };
import { runDeno } from "./_run.ts";

/** Where the report is, from the root of the project. */
export const SURFACE = "tests/surface.txt";

const NOTE = "Made by `deno task surface`: what the package exports, and its signatures.\n";

/** Copies sources without what they say of themselves: words change more often than signatures. */
async function copyBare(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { isDirectory, name } of Deno.readDir(from)) {
    if (isDirectory) await copyBare(`${from}/${name}`, `${to}/${name}`);
    else if (name.endsWith(".ts")) {
      const text = await Deno.readTextFile(`${from}/${name}`);
      await Deno.writeTextFile(`${to}/${name}`, text.replaceAll(/^ *\/\*\*(?:[^*]|\*(?!\/))*\*\/\n/gm, ""));
    }
  }
}

/** The report. Where a name is exported by a second entry point, too, it stands there without its signature. */
export async function readSurface(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "surface_" });
  try {
    await copyBare("src", `${folder}/src`);
    await Deno.writeTextFile(`${folder}/deno.json`, JSON.stringify({ ...config, lock: false }));
    const known = new Map<string, string>();
    const parts = Object.entries(config.exports).map(async ([entry, file]) =>
      [entry, await runDeno(["doc", file], { cwd: folder })] as const
    );
    let text = NOTE;
    for (const [entry, doc] of await Promise.all(parts)) {
      const name = `${config.name}${entry.slice(1)}`;
      text += `\n# ${name}\n`;
      for (const block of doc.split(/^Defined in .*$/m)) {
        const signature = block.trim().replaceAll(/\n{2,}/g, "\n");
        if (signature === "") continue;
        const before = known.get(signature);
        if (before === undefined) known.set(signature, name);
        text += before === undefined
          ? `\n${signature}\n`
          : `\n${/^[^({=\n]*/.exec(signature)?.[0].trim()} (as in ${before})\n`;
      }
    }
    return text;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const text = await readSurface();
  await Deno.writeTextFile(SURFACE, text);
  console.log(`${SURFACE}: ${text.split("\n").length.toLocaleString("en-US")} lines`);
}
