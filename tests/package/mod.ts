/**
 * The package for npm, as Node has it: packed, installed into an empty project, and used. It needs Node and a registry,
 * so it is no part of `deno task test`.
 *
 *     deno task test:package
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { createApp, memoryStore, openAccess, scripted } from "../../src/mod.ts";
import { pack } from "../../tools/pack.ts";

const NPM = ["npm", "install", "--silent", "--no-audit", "--no-fund"];
/** What the programs beside this one need; the packages of this project come as its dependencies. */
const PEERS = ["ai@6.0.326", "typescript@5.9.3", "@types/node@20.19.25"];

const project = await Deno.makeTempDir({ prefix: "package_" });
globalThis.addEventListener("unload", () => Deno.removeSync(project, { recursive: true }));

async function run(words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const [program = "", ...args] = words;
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args,
    cwd: project,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).output();
  return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
}

/** Runs what has to succeed. */
async function mustRun(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await run(words);
  equal(code, 0, `${words.join(" ")}: ${out}${err}`);
  return out;
}

const tarball = await pack(project);
await Deno.writeTextFile(`${project}/package.json`, '{ "private": true, "type": "module" }');
await mustRun(...NPM, tarball, ...PEERS);
for await (const { name } of Deno.readDir(new URL("app/", import.meta.url))) {
  await Deno.copyFile(new URL(`app/${name}`, import.meta.url), `${project}/${name}`);
}

Deno.test("the package brings the selvage command", async () => {
  const call = { id: "c1", type: "function", function: { name: "read", arguments: "{}" } };
  const messages = [
    { role: "user", content: "Go." },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "user", content: "Go on." },
  ];
  await Deno.writeTextFile(`${project}/trace.json`, JSON.stringify(messages));
  const checked = await run(["npx", "--no-install", "selvage", "check", "trace.json"]);
  equal(checked.code, 1);
  match(checked.out, /missing_result/);
  const { out } = await run(["npx", "--no-install", "selvage", "repair", "trace.json"]);
  deepEqual(JSON.parse(out).map(({ role }: { role: string }) => role), ["user", "assistant", "tool", "user"]);
});

Deno.test("every entry point of the package loads", async () => {
  const { exports } = JSON.parse(
    await Deno.readTextFile(`${project}/node_modules/@selvage/selvage/package.json`),
  );
  for (const name of Object.keys(exports).filter((name) => name !== "./cli")) {
    await mustRun("node", "--input-type=module", "-e", `import "@selvage/selvage${name.slice(1)}"`);
  }
});

Deno.test("no path of the machine that made the package is in it", async () => {
  const { code, out } = await run(["grep", "-rl", "file:///", "node_modules/@selvage/selvage"]);
  equal(code, 1, out);
});

for (const name of ["core", "ai_sdk"]) {
  Deno.test(`the package runs ${name}.mjs`, async () => void await mustRun("node", `${name}.mjs`));
}

Deno.test("the package runs client.mjs against a service", async () => {
  const model = scripted({ script: () => ({ text: "Hello." }) });
  const app = createApp({ agents: { default: { model } }, store: memoryStore(), auth: openAccess() });
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, app.fetch);
  await mustRun("node", "client.mjs", `http://127.0.0.1:${server.addr.port}`);
});

Deno.test("a strict TypeScript project compiles against the package", async () => {
  const options = ["--noEmit", "--strict", "--target", "es2023", "--module", "nodenext"];
  await mustRun("npx", "--no-install", "tsc", ...options, "types.ts");
});
