/** What has to be downloaded before the service starts by `deno serve`: its own packages, and none of the tests. */
import { equal, ok } from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };
import { startServer } from "../support/server.ts";

/** What `deno info --json` tells, as far as it is needed here. */
interface Info {
  readonly npmCache: string;
  readonly modules: readonly { readonly npmPackage?: string }[];
  readonly npmPackages: Readonly<
    Record<
      string,
      { readonly name: string; readonly version: string; readonly dependencies: readonly string[] }
    >
  >;
}

async function infoOf(...args: readonly string[]): Promise<Info> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", ...args] }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Makes a cache that has of all packages those alone that `main.ts` may ask for, now or later. */
async function cacheOfService(folder: string): Promise<number> {
  const [{ npmCache }, { modules, npmPackages }] = await Promise.all([infoOf(), infoOf("main.ts")]);
  const used = new Set<string>();
  const use = (id: string): void => {
    if (used.has(id)) return;
    used.add(id);
    npmPackages[id]?.dependencies.forEach(use);
  };
  for (const { npmPackage } of modules) if (npmPackage !== undefined) use(npmPackage);
  for (const { name: registry, isDirectory } of Deno.readDirSync(npmCache)) {
    if (!isDirectory) continue;
    for (const id of used) {
      const { name = "", version = "" } = npmPackages[id] ?? {};
      const from = `${npmCache}/${registry}/${name}/${version}`;
      const to = `${folder}/npm/${registry}/${name}`;
      if (!await Deno.stat(from).then(() => true, () => false)) continue;
      await Deno.mkdir(to, { recursive: true });
      // No links: a package is where its files are, and that would be the other cache.
      const { success } = await new Deno.Command("cp", { args: ["-R", from, `${to}/${version}`] }).output();
      ok(success, from);
    }
  }
  return Object.keys(npmPackages).length - used.size;
}

Deno.test("the service starts with its own packages in the cache alone, and runs a turn", async () => {
  const folder = await Deno.makeTempDir({ prefix: "selvage-packages-" });
  try {
    ok(await cacheOfService(folder) > 30, "the tests have packages of their own");
    await using server = await startServer({ SELVAGE_KV: ":memory:", DENO_DIR: folder }, {
      args: ["--cached-only", "--host", "127.0.0.1", "--port", "0"],
    });
    const body = JSON.stringify({ session: "s", input: "check 07", stream: false });
    equal((await (await fetch(`${server.url}/v1/turns`, { method: "POST", body })).json()).reason, "stop");
    // What is loaded later.
    for (const path of ["/", "/doctor", "/openapi.json", "/v1/models"]) {
      const response = await fetch(server.url + path);
      equal(response.status, 200, path);
      await response.body?.cancel();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("every entry point checks in a project that links the clone and has Deno's own compiler options", async () => {
  const folder = await Deno.makeTempDir({ prefix: "selvage-linked-" });
  try {
    const links = [new URL("../../", import.meta.url).pathname];
    await Deno.writeTextFile(
      `${folder}/deno.json`,
      JSON.stringify({ links, unstable: ["kv", "no-legacy-abort"] }),
    );
    const entries = Object.keys(config.exports).map((entry) => `@selvage/selvage${entry.slice(1)}`);
    await Deno.writeTextFile(`${folder}/main.ts`, entries.map((entry) => `import "${entry}";\n`).join(""));
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "main.ts"],
      cwd: folder,
      env: { NO_COLOR: "1" },
    }).output();
    ok(success, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
