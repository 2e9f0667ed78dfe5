/** What `docker compose up` runs, as far as it can be seen without Docker. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { startServer } from "../support/server.ts";

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
const dockerfile = await read("Dockerfile");

Deno.test("compose.yaml hands on every variable of the README, so that none is without effect there", async () => {
  const compose = await read("compose.yaml");
  const handed = new Set([...compose.matchAll(/^ {4}([A-Z_]+):/gm)].map(([, name]) => name));
  const known = [...(await read("README.md")).matchAll(/^\| `([A-Z_]+)` /gm)].map(([, name]) => name);
  ok(known.length > 25, known.join());
  // The address is that of the command in the Dockerfile.
  deepEqual(known.filter((name) => !handed.has(name)), ["DENO_SERVE_ADDRESS"]);
});

Deno.test("the image serves with the flags for V8 that the task has", async () => {
  const { tasks } = JSON.parse(await read("deno.json"));
  const [flags = "none"] = tasks.start.command.match(/--v8-flags=\S+/) ?? [];
  ok(dockerfile.includes(`"${flags}"`), flags);
});

Deno.test("the image has every file that the service is made of", async () => {
  const copied = [...dockerfile.matchAll(/^COPY (.*) \S+$/gm)].flatMap(([, paths = ""]) => paths.split(" "));
  const root = new URL("../../", import.meta.url).href;
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json", "main.ts"] })
    .output();
  const { modules }: { modules: readonly { specifier: string }[] } = JSON.parse(
    new TextDecoder().decode(stdout),
  );
  const own = modules.map(({ specifier }) => specifier).filter((name) => name.startsWith(root))
    .map((name) => name.slice(root.length));
  ok(own.length > 100, `${own.length} modules`);
  const has = (file: string) => copied.some((path) => file === path || file.startsWith(`${path}/`));
  deepEqual(own.filter((file) => !has(file)), []);
});

Deno.test("the health check of the image tells a service that takes turns from one that does not", async () => {
  const check = dockerfile.match(/^HEALTHCHECK .*\\\n +CMD (\[.*\])$/m)?.[1] ?? "[]";
  const [command, ...args]: readonly string[] = JSON.parse(check);
  equal(command, "deno");
  const codeAt = async (url: string) => {
    const asked = args.map((arg) => arg.replace("http://127.0.0.1:8000", url));
    ok(asked.some((arg) => arg.includes(url)), check);
    return (await new Deno.Command(Deno.execPath(), { args: asked, stderr: "null" }).output()).code;
  };
  let url: string;
  {
    await using server = await startServer({ SELVAGE_KV: ":memory:" });
    ({ url } = server);
    equal(await codeAt(url), 0);
  }
  equal(await codeAt(url), 1);
});
