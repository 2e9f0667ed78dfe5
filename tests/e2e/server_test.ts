import { deepEqual, equal, match, ok } from "node:assert/strict";
import { type Frame, parseFrames, readFrames } from "../support/sse.ts";
import { startRefused, startServer, tempKv } from "../support/server.ts";

function post(url: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/turns`, {
    method: "POST",
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

interface Log {
  readonly entries: readonly {
    readonly kind: string;
    readonly call?: string;
    readonly status?: string;
    readonly calls?: readonly { readonly ref: string }[];
  }[];
}

async function readLog(url: string, session: string): Promise<Log> {
  return await (await fetch(`${url}/v1/sessions/${session}/messages`)).json();
}

/** Every call has exactly one result, behind it. */
function assertPaired({ entries }: Log): void {
  const open = new Set<string>();
  for (const entry of entries) {
    for (const call of entry.calls ?? []) open.add(call.ref);
    if (entry.kind === "result") {
      ok(open.delete(entry.call ?? ""), `the result of ${entry.call} answers an open call`);
    }
  }
  deepEqual([...open], [], "no call is left open");
}

Deno.test({
  name: "the address that a server tells is a URL, of version 6 too",
  // In a container there may be none.
  ignore: !Deno.networkInterfaces().some(({ address }) => address === "::1"),
  async fn() {
    const env = { SELVAGE_KV: ":memory:", DENO_SERVE_ADDRESS: "tcp:[::1]:0" };
    await using server = await startServer(env, { args: [] });
    equal(URL.parse(server.url)?.hostname, "[::1]");
  },
});

Deno.test("a second server goes on with the sessions of the first, and SIGKILL in a turn breaks none", async () => {
  await Deno.mkdir(".selvage", { recursive: true });
  const folder = await Deno.makeTempDir({ dir: ".selvage", prefix: "test-" });
  const env = { SELVAGE_KV: `${folder}/kv.sqlite3` };
  try {
    {
      await using server = await startServer(env);
      equal(
        (await (await post(server.url, { input: "list units", session: "kept", stream: false })).json())
          .reason,
        "stop",
      );
      const response = await post(server.url, { input: "Audit the archive", session: "cut" });
      for await (const frame of readFrames(response)) {
        if (frame.event !== "tool.result") continue;
        server.kill("SIGKILL");
        break;
      }
      await server.status;
    }
    await using server = await startServer(env);
    const kept = await readLog(server.url, "kept");
    equal(kept.entries.length, 4);
    const again = await (await post(server.url, { input: "list units/01", session: "kept", stream: false }))
      .json();
    equal(again.reason, "stop");
    // The lease of the killed turn has to run out first: the new turn waits for it.
    const next = await (await post(server.url, { input: "list units/02", session: "cut", stream: false }))
      .json();
    equal(next.reason, "stop");
    const log = await readLog(server.url, "cut");
    assertPaired(log);
    ok(
      log.entries.some((entry) => entry.status === "aborted"),
      "the calls of the killed turn are closed as aborted",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a turn that SIGTERM puts down goes on in another process, where the client comes again", async () => {
  await using kv = await tempKv();
  const env = { SELVAGE_KV: kv.path };
  await using first = await startServer(env);
  await using second = await startServer(env);
  const response = await post(first.url, { input: "Audit the archive", session: "s" });
  const before: Frame[] = [];
  for await (const frame of readFrames(response)) {
    before.push(frame);
    if (before.filter(({ event }) => event === "tool.call").length === 8) first.kill("SIGTERM");
  }
  ok(before.every(({ event }) => event !== "turn.finished"), "the turn has ended");
  equal((await first.status).code, 0);
  const last = before.at(-1)?.id ?? "";
  const [turn] = last.split(":");
  const again = await fetch(`${second.url}/v1/turns/${turn}/events`, {
    headers: { "last-event-id": last },
  });
  const after = parseFrames(await again.text());
  equal(after.at(-1)?.data.reason, "stop");
  // From both streams together the client knows each call with one result.
  const frames = [...before, ...after];
  const refs = (event: string) => frames.filter((frame) => frame.event === event).map(({ data }) => data.ref);
  deepEqual(refs("tool.result").toSorted(), [...new Set(refs("tool.call"))].toSorted());
  ok(frames.every(({ id }, index) => index === 0 || numberOf(id) > numberOf(frames[index - 1]?.id)));
  assertPaired(await readLog(second.url, "s"));
  // The whole turn can still be read, with the same bytes for the same ids.
  const whole = parseFrames(await (await fetch(`${second.url}/v1/turns/${turn}/events`)).text());
  const known = new Map(whole.map((frame) => [frame.id, frame]));
  for (const frame of after) deepEqual(known.get(frame.id), frame);
  for (const frame of before) if (known.has(frame.id)) deepEqual(known.get(frame.id), frame);
});

function numberOf(id = ""): number {
  return Number(id.slice(id.lastIndexOf(":") + 1));
}

Deno.test("a client that goes away cancels its turn on the server", async () => {
  await using server = await startServer({ SELVAGE_KV: ":memory:" });
  const stop = new AbortController();
  const response = await post(server.url, { input: "Audit the workspace", session: "s" }, stop.signal);
  let results = 0;
  for await (const frame of readFrames(response)) {
    if (frame.event === "tool.result" && ++results === 3) break;
  }
  stop.abort();
  // The next turn is let in as soon as the lease is back, and finds a whole log.
  const next = await (await post(server.url, { input: "list units", session: "s", stream: false })).json();
  equal(next.reason, "stop");
  assertPaired(await readLog(server.url, "s"));
});

Deno.test("a server with a key that `deno task key` made listens for others, and lets in who has it", async () => {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "key", "acme"],
    env: { NO_COLOR: "1" },
  }).output();
  const made = new TextDecoder().decode(stdout);
  const key = made.match(/^(slv_[\w-]{43})$/m)?.[1] ?? "";
  const line = made.match(/^SELVAGE_API_KEYS=(acme=sha256:[0-9a-f]{64})$/m)?.[1] ?? "";
  ok(key !== "" && line !== "", made);
  await using server = await startServer({ SELVAGE_KV: ":memory:", SELVAGE_API_KEYS: line }, {
    args: ["--host", "0.0.0.0", "--port", "0"],
  });
  const url = server.url.replace("0.0.0.0", "127.0.0.1");
  const status = async (headers: Record<string, string>): Promise<number> => {
    const response = await fetch(`${url}/v1/sessions`, { headers });
    await response.body?.cancel();
    return response.status;
  };
  equal(await status({}), 401);
  equal(await status({ authorization: `Bearer ${line}` }), 401);
  equal(await status({ authorization: `Bearer ${key}` }), 200);
  equal(await status({ "x-api-key": key, "x-forwarded-for": "203.0.113.7" }), 200, "over a proxy");
  const health = await fetch(`${url}/healthz`);
  equal(health.status, 200);
  await health.body?.cancel();
  ok(!server.log.join("\n").includes(key));
});

Deno.test("a server with SELVAGE_LOG=info,json writes one JSON object a line, and no key and no text", async () => {
  const key = "a-long-random-key-of-acme";
  await using server = await startServer({
    SELVAGE_KV: ":memory:",
    SELVAGE_LOG: "info,json",
    SELVAGE_API_KEYS: `acme=${key}`,
    SELVAGE_CORS: "https://app.example",
  });
  const response = await fetch(`${server.url}/v1/turns`, {
    method: "POST",
    body: JSON.stringify({ input: "list units" }),
    headers: { "x-api-key": key, "x-request-id": "req-1", origin: "https://app.example" },
  });
  equal(response.headers.get("access-control-allow-origin"), "https://app.example");
  await response.text();
  server.kill("SIGTERM");
  await server.status;
  // Deno itself warns in its own words before the server starts.
  const entries = server.log.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  const first = server.log.findIndex((line) => line.startsWith("{"));
  equal(server.log.length - first, entries.length, server.log.join("\n"));
  const events = entries.filter(({ request }) => request === "req-1").map(({ event }) => event);
  deepEqual(events.toSorted(), ["request", "turn.finished", "turn.started"]);
  for (const secret of [key, "list units"]) ok(!server.log.join("\n").includes(secret), secret);
});

Deno.test("a server takes its options from the module of SELVAGE_CONFIG", async () => {
  await using folder = await tempKv();
  const module = folder.path.replace("kv.sqlite3", "options.ts");
  await Deno.writeTextFile(
    module,
    `export default { auth: () => ({ tenant: "acme" }), limits: { turnsPerMinute: 1 } };`,
  );
  const env = { SELVAGE_KV: ":memory:", SELVAGE_CONFIG: module };
  await using server = await startServer(env, { args: ["--host", "0.0.0.0", "--port", "0"] });
  const url = server.url.replace("0.0.0.0", "127.0.0.1");
  const first = await post(url, { input: "list units", stream: false });
  deepEqual([first.status, first.headers.get("ratelimit")], [200, '"turns";r=0;t=60']);
  await first.text();
  const second = await post(url, { input: "list units", stream: false });
  equal(second.status, 429);
  await second.text();
  ok(!server.log.join("\n").includes("no effect"), server.log.join("\n"));
  await Deno.writeTextFile(module, `export default { limit: 1 };`);
  const { text } = await startRefused(env);
  match(text, /SELVAGE_CONFIG is .*: found the unknown option limit, wanted a module/);
  match((await startRefused({ ...env, SELVAGE_CONFIG: `${module}x` })).text, /SELVAGE_CONFIG is/);
});

Deno.test("a start says which variables have no effect beside the module of SELVAGE_CONFIG", async () => {
  await using folder = await tempKv();
  const module = folder.path.replace("kv.sqlite3", "options.ts");
  const imported = new URL("../../src/mod.ts", import.meta.url).href;
  await Deno.writeTextFile(
    module,
    `import { clerk, scripted } from "${imported}";
     export default { agents: { default: { model: scripted({ script: clerk }) } }, limits: {} };`,
  );
  const env = {
    SELVAGE_KV: ":memory:",
    SELVAGE_CONFIG: module,
    SELVAGE_WINDOW: "20000",
    SELVAGE_MODEL: "",
    SELVAGE_COMPACT_AT: "0.5",
    SELVAGE_MAX_TOKENS: "5",
    SELVAGE_RETENTION: "1h",
    OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
    ANTHROPIC_API_KEY: "a key of nobody",
  };
  await using server = await startServer(env);
  deepEqual(server.log.filter((line) => line.includes("effect")), [
    "SELVAGE_CONFIG has agents of its own: SELVAGE_WINDOW, SELVAGE_COMPACT_AT have no effect",
    "SELVAGE_CONFIG has agents of its own: OPENAI_BASE_URL, ANTHROPIC_API_KEY have no effect, " +
    "unless the module reads them itself",
    "SELVAGE_CONFIG has limits of its own: SELVAGE_MAX_TOKENS has no effect",
  ]);
});

const REFUSED: readonly (readonly [string, Record<string, string>, RegExp])[] = [
  ["a bad number", { SELVAGE_WINDOW: "lots" }, /SELVAGE_WINDOW is "lots", wanted a whole number/],
  [
    "a bad address",
    { DENO_SERVE_ADDRESS: "nonsense" },
    /DENO_SERVE_ADDRESS is "nonsense", wanted tcp:IP:PORT/,
  ],
  [
    "a key that no header can carry",
    { SELVAGE_MODEL: "openai:x", OPENAI_API_KEY: "a\nb" },
    /^Cannot start: |\nCannot start: /,
  ],
  [
    "a file that it may not write",
    { SELVAGE_KV: "/nowhere/kv.sqlite3" },
    /Cannot start: SELVAGE_KV is "\/nowhere\/kv\.sqlite3", a path that the service may not read or write, wanted one /,
  ],
  ["an unknown variable", { SELVAGE_WINDWO: "1" }, /unknown variable SELVAGE_WINDWO/],
  [
    "a key that is too short",
    { SELVAGE_API_KEYS: "acme=secret" },
    /^(?!.*=secret)[^]*SELVAGE_API_KEYS is a value that does not fit, wanted NAME=KEY/,
  ],
  ["Deno Deploy and no keys", { DENO_DEPLOYMENT_ID: "x" }, /found Deno Deploy, which everybody can reach/],
  ["an address that others can reach", { DENO_SERVE_ADDRESS: "tcp:0.0.0.0:0" }, /wanted a loopback address/],
];
for (const [name, env, message] of REFUSED) {
  Deno.test(`the server does not start with ${name}`, async () => {
    const { code, text } = await startRefused({ SELVAGE_KV: ":memory:", ...env });
    equal(code, 1, text);
    match(text, message);
  });
}

Deno.test("the server does not start with an argument, which it would not look at, and says what is wanted", async () => {
  const { code, text } = await startRefused({ SELVAGE_KV: ":memory:" }, {
    command: ["serve", "-P=serve", "--port", "0", "main.ts", "--host", "0.0.0.0"],
  });
  equal(code, 1, text);
  match(text, /^Cannot start: found the argument "--host", wanted none: .*DENO_SERVE_ADDRESS=tcp:/m);
});

Deno.test("the server does not start on an address that is taken, and says which that is", async () => {
  await using first = await startServer({ SELVAGE_KV: ":memory:" });
  const { code, text } = await startRefused({
    SELVAGE_KV: ":memory:",
    DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${new URL(first.url).port}`,
  });
  equal(code, 1, text);
  match(text, /Cannot start: .*in use.*: it was to listen on tcp:127\.0\.0\.1:\d+; another one is named by /);
});
