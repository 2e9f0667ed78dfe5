/**
 * Makes the package for npm: what `deno pack` makes of the entry points, with what it has no field for (the `selvage`
 * command, the versions of Node), with the files of the page as strings, since only Deno imports texts, and without
 * paths of this machine.
 *
 *     deno task pack [FOLDER]
 *
 * @module
 */
import config from "../deno.json" with { type: "json" };
import { run, runDeno } from "./_run.ts";

/** Sources that a package for npm has no use for: the composition root, and what the page is built from. */
const LEFT_OUT = [
  "main.ts",
  "config.ts",
  "compose.ts",
  "own_options.ts",
  "src/web/base/",
  "src/web/doctor/",
  "src/web/chat/",
];

const COMMAND = `#!/usr/bin/env node
import "../src/cli.js";
`;

/** Puts texts that a module imports into it. */
async function inlineTexts(folder: string, name: string): Promise<void> {
  let code = await Deno.readTextFile(`${folder}/${name}`);
  for (
    const [whole, binding, path] of code.matchAll(/\bimport (\w+) from "(.+)" with \{\s*type: "text"\s*\};/g)
  ) {
    const text = await Deno.readTextFile(`${folder}/${path}`);
    // A function: `$` means nothing in it.
    code = code.replace(whole, () => `const ${binding} = ${JSON.stringify(text)};`);
    await Deno.remove(`${folder}/${path}`);
  }
  await Deno.writeTextFile(`${folder}/${name}`, code);
}

/** Writes the tarball into a folder, which has to be there; resolves to its path. */
export async function pack(folder: string): Promise<string> {
  const work = await Deno.makeTempDir({ prefix: "pack_" });
  try {
    const ignore = LEFT_OUT.map((path) => `--ignore=${path}`);
    await runDeno([
      "pack",
      "--allow-dirty",
      "--no-source-maps",
      ...ignore,
      "--output",
      `${work}/deno.tgz`,
    ]);
    await run("tar", ["-xzf", "deno.tgz"], { cwd: work });
    const root = `${work}/package`;
    await inlineTexts(`${root}/src/web`, "assets.js");
    const made = JSON.parse(await Deno.readTextFile(`${root}/package.json`));
    await Deno.mkdir(`${root}/bin`);
    await Deno.writeTextFile(`${root}/bin/selvage.js`, COMMAND);
    const manifest = { ...made, bin: { selvage: "bin/selvage.js" }, engines: { node: ">=20" } };
    await Deno.writeTextFile(`${root}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
    const name = `${config.name.slice(1).replace("/", "-")}-${config.version}.tgz`;
    await run("tar", ["-czf", name, "package"], { cwd: work });
    await Deno.mkdir(folder, { recursive: true });
    await Deno.copyFile(`${work}/${name}`, `${folder}/${name}`);
    return `${folder}/${name}`;
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

if (import.meta.main) console.log(await pack(Deno.args[0] ?? "."));
