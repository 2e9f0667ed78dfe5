/** Deno Deploy as its documentation tells of it: all permissions, no flags, its variables, and a KV database or none. */
import { deepEqual, equal, match } from "node:assert/strict";
import { startRefused, startServer } from "../support/server.ts";

const KEY = "a-long-random-key-of-acme";
const PLATFORM = { DENO_DEPLOY: "true", DENO_SERVE_ADDRESS: "tcp:127.0.0.1:0" };

/** A module that makes the runtime what the platform is, loaded before the service. */
async function platform(kv: string) {
  const file = await Deno.makeTempFile({ prefix: "selvage-platform-", suffix: ".ts" });
  const set = 'const set = (value: unknown) => Object.defineProperty(Deno, "openKv", { value });';
  await Deno.writeTextFile(file, `${set}\n${kv}`);
  const { deploy } = JSON.parse(await Deno.readTextFile("deno.json"));
  return {
    command: ["run", "--allow-all", `--preload=${file}`, deploy.runtime.entrypoint],
    [Symbol.asyncDispose]: () => Deno.remove(file),
  };
}

/** A database that is assigned to the app: it has no path. */
const ASSIGNED = `const open = Deno.openKv;
set((path?: string) => path === undefined ? open(":memory:") : Promise.reject(new Error("There are no files")));`;
const NONE = "set(() => Promise.reject(new Error('No database is assigned')));";
const UNKNOWN = "set(undefined);";

function turn(url: string): Promise<Response> {
  return fetch(`${url}/v1/turns`, {
    method: "POST",
    headers: { "x-api-key": KEY, "x-forwarded-for": "203.0.113.7" },
    body: JSON.stringify({ session: "s", input: "list units", stream: false }),
  });
}

for (
  const [name, kv, env] of [
    ["the database that is assigned", ASSIGNED, {}],
    ["memory, where that was asked for and there is no KV", UNKNOWN, { SELVAGE_KV: ":memory:" }],
  ] as const
) {
  Deno.test(`the entrypoint of deno.json serves on Deno Deploy with ${name}`, async () => {
    await using simulated = await platform(kv);
    const all = { ...PLATFORM, SELVAGE_API_KEYS: `acme=${KEY}`, ...env };
    await using server = await startServer(all, simulated);
    const first = await turn(server.url);
    deepEqual([first.status, (await first.json()).reason], [200, "stop"]);
    const ready = await fetch(`${server.url}/readyz`);
    deepEqual([ready.status, await ready.json()], [200, { status: "ready" }]);
    server.kill("SIGINT");
    equal((await server.status).code, 0, "it goes down by itself");
  });
}

for (
  const [name, kv, env, message] of [
    [
      "no KV database",
      NONE,
      {},
      /found no KV database on Deno Deploy.*wanted one assigned to the app, or SELVAGE_KV=:memory:/,
    ],
    ["a runtime that has no KV", UNKNOWN, {}, /found no KV database on Deno Deploy/],
    [
      "nobody authenticated",
      ASSIGNED,
      { SELVAGE_API_KEYS: "" },
      /found Deno Deploy, which everybody can reach/,
    ],
    [
      "nobody authenticated, by its other variable",
      ASSIGNED,
      { SELVAGE_API_KEYS: "", DENO_DEPLOY: "", DENO_DEPLOYMENT_ID: "d1" },
      /found Deno Deploy, which everybody can reach/,
    ],
  ] as const
) {
  Deno.test(`the service does not start on Deno Deploy with ${name}`, async () => {
    await using simulated = await platform(kv);
    const all = { ...PLATFORM, SELVAGE_API_KEYS: `acme=${KEY}`, ...env };
    const { code, text } = await startRefused(all, simulated);
    equal(code, 1, text);
    match(text, message);
  });
}
