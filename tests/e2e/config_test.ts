/** `SELVAGE_CONFIG` as its users meet it: with the permissions of the task, and what README shows. */
import { deepEqual, equal, match } from "node:assert/strict";
import { startRefused, startServer } from "../support/server.ts";

function post(url: string, body: unknown): Promise<Response> {
  return fetch(`${url}/v1/turns`, { method: "POST", body: JSON.stringify(body) });
}

/** The module that README shows. */
async function readmeModule(): Promise<string> {
  const readme = await Deno.readTextFile("README.md");
  const blocks = [...readme.matchAll(/^```ts ignore\n([^]*?)^```$/gm)].map(([, code]) => code!);
  const found = blocks.filter((code) => code.includes("\nexport default { agents"));
  equal(found.length, 1, "README shows one module");
  return found[0]!;
}

async function rolled(url: string): Promise<unknown> {
  const { calls, text } = await (await post(url, { input: "Roll.", stream: false })).json();
  return [calls[0].name, calls[0].status, /^rolled [1-6] of 6$/.test(calls[0].output), text];
}

Deno.test("a module of agents in the clone is served as README says, with no permission but those of the task", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile("deno.json"));
  equal(
    tasks.start.command,
    "deno serve --v8-flags=--max-semi-space-size=16,--heap-growing-percent=20,--invocation-count-for-turbofan=1000 -P=serve --host 127.0.0.1 --port 8000 main.ts",
  );
  const folder = await Deno.makeTempDir({ dir: ".", prefix: "my_agents-" });
  try {
    // It imports a module beside itself, too.
    const module = `import "./beside.ts";\n${await readmeModule()}`;
    await Deno.writeTextFile(`${folder}/beside.ts`, "export const beside = true;");
    await Deno.writeTextFile(`${folder}/my_agents.ts`, module);
    const env = { SELVAGE_KV: ":memory:", SELVAGE_CONFIG: `${folder}/my_agents.ts` };
    await using server = await startServer(env);
    deepEqual(await rolled(server.url), ["roll_die", "ok", true, "Done."]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a module of agents in another folder is served with that folder allowed, and refused without", async () => {
  const folder = await Deno.makeTempDir({ prefix: "selvage-agents-" });
  try {
    await Deno.writeTextFile(`${folder}/my_agents.ts`, await readmeModule());
    const env = { SELVAGE_KV: ":memory:", SELVAGE_CONFIG: `${folder}/my_agents.ts` };
    const port = ["--host", "127.0.0.1", "--port", "0"];
    await using server = await startServer(env, { args: [`--allow-read=.,${folder}`, ...port] });
    deepEqual(await rolled(server.url), ["roll_die", "ok", true, "Done."]);
    match(
      (await startRefused(env)).text,
      /SELVAGE_CONFIG is .*, which does not load: Requires read access to/,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the permissions of the service let a module of agents read no secret of the project, and write nothing", async () => {
  const folder = await Deno.makeTempDir({ dir: ".", prefix: "my_agents-" });
  try {
    await Deno.writeTextFile(
      `${folder}/my_agents.ts`,
      `const denied: string[] = [];
for (const path of [".env", ".git/config", "/etc/passwd"]) {
  try { Deno.readTextFileSync(path); } catch (error) { if (error instanceof Deno.errors.NotCapable) denied.push(path); }
}
for (const path of ["written.txt", "src/written.txt", "main.ts"]) {
  try { Deno.openSync(path, { append: true, create: true }).close(); } catch (error) {
    if (error instanceof Deno.errors.NotCapable) denied.push(path);
  }
}
try { new Deno.Command("true").outputSync(); } catch { denied.push("run"); }
throw new Error("denied: " + denied.join(" "));`,
    );
    const { text } = await startRefused({ SELVAGE_CONFIG: `${folder}/my_agents.ts`, SELVAGE_KV: ":memory:" });
    match(text, /denied: \.env \.git\/config \/etc\/passwd written\.txt src\/written\.txt main\.ts run/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("what a tool leaves behind, and throws after its result, ends neither the server nor anybody's turn", async () => {
  const folder = await Deno.makeTempDir({ dir: ".", prefix: "my_agents-" });
  try {
    await Deno.writeTextFile(
      `${folder}/my_agents.ts`,
      `import { defineTool, scripted } from "@selvage/selvage";
import * as z from "zod";
const stray = defineTool({
  name: "stray",
  description: "Leaves faults behind",
  input: z.object({}),
  execute: () => {
    Promise.reject(new Error("of a promise"));
    queueMicrotask(() => { throw new Error("of a microtask"); });
    setTimeout(() => { throw new Error("of a timer"); });
    return "done";
  },
});
const wait = defineTool({
  name: "wait",
  description: "Waits until the faults have happened",
  input: z.object({}),
  execute: () => new Promise((resolve) => setTimeout(() => resolve("waited"), 50)),
});
const calls = [{ name: "stray", input: {} }, { name: "wait", input: {} }];
const model = scripted({
  script: ({ messages }) => messages.length === 1 ? { calls } : { text: "Done." },
});
export default { agents: { default: { model, tools: [stray, wait] } } };
`,
    );
    const env = {
      SELVAGE_KV: ":memory:",
      SELVAGE_LOG: "info,json",
      SELVAGE_CONFIG: `${folder}/my_agents.ts`,
    };
    await using server = await startServer(env);
    const { calls, text } = await (await post(server.url, { input: "Go.", stream: false })).json();
    deepEqual([calls.map(({ output }: { output: string }) => output), text], [["done", "waited"], "Done."]);
    equal((await fetch(`${server.url}/healthz`).then((response) => response.json())).status, "ok");
    const faults = server.log.filter((line) => line.includes('"event":"fault"'))
      .map((line) => JSON.parse(line).message.split("\n")[0]).sort();
    deepEqual(faults, [
      "Uncaught error: Error: of a microtask",
      "Uncaught error: Error: of a timer",
      "Unhandled rejection: Error: of a promise",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
