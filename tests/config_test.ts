import { deepEqual, doesNotMatch, equal, match, ok, rejects, throws } from "node:assert/strict";
import { cannotOpenStore, optionsFrom } from "../compose.ts";
import { parseConfig } from "../config.ts";
import { loadOptions } from "../own_options.ts";
import { SelvageError } from "../src/core/errors.ts";
import { ownTools } from "../src/loop/tool_set.ts";
import { scripted } from "../src/models/scripted.ts";

Deno.test("parseConfig() has a default for everything", () => {
  const config = parseConfig({ HOME: "/root" });
  equal(config.SELVAGE_MODEL, "scripted");
  equal(config.SELVAGE_WINDOW, undefined);
  equal(config.SELVAGE_POLICY, "full");
  equal(config.SELVAGE_KV, undefined);
  deepEqual([config.SELVAGE_LOG, config.SELVAGE_LOG_CONTENT, config.SELVAGE_CORS], ["info,text", "0", []]);
});

Deno.test.each([["info", "info,text"], ["debug", "debug,text"], ["warn,json", "warn,json"], ["off", "off"]])(
  "parseConfig() reads a level by itself as lines for people, as the default is: %s",
  (given, log) => equal(parseConfig({ SELVAGE_LOG: given }).SELVAGE_LOG, log),
);

Deno.test("a module of agents takes the place of a model whose key is missing", () => {
  const config = parseConfig({ SELVAGE_CONFIG: "./a.ts", SELVAGE_MODEL: "openai:x" });
  const agents = { own: { model: scripted({ script: () => ({ text: "Hi" }) }) } };
  deepEqual(optionsFrom(config, { agents }).agents, agents);
  throws(() => optionsFrom(config, {}), /OPENAI_API_KEY is not set, wanted an API key, as SELVAGE_MODEL/);
});

/** Names of the tools that an agent of the environment has while its MCP servers are down. */
async function toolNames(env: Record<string, string>): Promise<readonly string[]> {
  const { agents } = optionsFrom(parseConfig({ SELVAGE_LOG: "off", ...env }));
  const tools = agents["default"]?.tools;
  const found = typeof tools === "function" ? await tools({ tenant: "acme", session: "s" }) : tools;
  return ownTools(found).map(({ name }) => name);
}

const MCP = { SELVAGE_MCP_SERVERS: "files=http://127.0.0.1:1/mcp" };
const HOSTED = { SELVAGE_MODEL: "openai:x", OPENAI_API_KEY: "k" };

Deno.test("optionsFrom() keeps the tools of the example away from a real model with MCP servers", async () => {
  // Servers of files have a read_file, too, and the model is to read theirs.
  deepEqual(await toolNames({ ...HOSTED, ...MCP }), []);
  doesNotMatch(optionsFrom(parseConfig({ ...HOSTED, ...MCP })).agents["default"]?.system ?? "", /virtual/);
  for (const env of [{}, HOSTED, MCP]) ok((await toolNames(env)).includes("read_file"), JSON.stringify(env));
});

Deno.test("optionsFrom() names the variable of a window that is too small, and the least that fits", () => {
  const start = (env: Record<string, string>) => optionsFrom(parseConfig({ SELVAGE_LOG: "off", ...env }));
  throws(() => start({ SELVAGE_WINDOW: "2000" }), {
    code: "bad_config",
    message:
      /^Cannot start: SELVAGE_WINDOW is "2000", wanted at least 2200 tokens: instructions and tools take about \d+, and an answer up to a fifth of the window$/,
  });
  ok(start({ SELVAGE_WINDOW: "2200" }));
  const SELVAGE_SYSTEM = "Mind the gap. ".repeat(10_000);
  throws(() => start({ SELVAGE_MODEL: "openai:gpt-4", OPENAI_API_KEY: "k", SELVAGE_SYSTEM }), {
    message:
      /^Cannot start: SELVAGE_WINDOW is not set and the window of the model 8192, wanted at least \d+ tokens: /,
  });
  throws(() => start({ SELVAGE_COMPACT_AT: "0.1", SELVAGE_COMPACT_TO: "0.05" }), {
    message: /^Cannot start: SELVAGE_COMPACT_AT is "0.1", wanted a larger share: in no window /,
  });
});

Deno.test("parseConfig() takes an empty variable as one that is not set", () => {
  equal(parseConfig({ SELVAGE_WINDOW: "", OPENAI_API_KEY: "" }).SELVAGE_WINDOW, undefined);
});

Deno.test("parseConfig() takes MCP servers as a list and as JSON", () => {
  const list = parseConfig({ SELVAGE_MCP_SERVERS: "files=https://a/mcp?x=1, web=http://b/" });
  deepEqual(list.SELVAGE_MCP_SERVERS, { files: { url: "https://a/mcp?x=1" }, web: { url: "http://b/" } });
  const servers = {
    files: {
      url: "https://a/mcp",
      headers: { authorization: "Bearer t" },
      timeoutMs: 5,
      needsApproval: true,
    },
  };
  const json = parseConfig({ SELVAGE_MCP_SERVERS: JSON.stringify({ ...servers, web: "http://b/" }) });
  deepEqual(json.SELVAGE_MCP_SERVERS, { ...servers, web: { url: "http://b/" } });
  deepEqual(parseConfig({}).SELVAGE_MCP_SERVERS, {});
});

const BAD: readonly (readonly [Record<string, string>, RegExp])[] = [
  [
    { SELVAGE_MODEL: "gpt" },
    /SELVAGE_MODEL is "gpt", wanted scripted, openai:NAME, responses:NAME or anthropic:NAME/,
  ],
  [
    { SELVAGE_MODEL: "openai:x" },
    /OPENAI_API_KEY is not set, wanted an API key, as SELVAGE_MODEL is openai:x/,
  ],
  [
    { SELVAGE_MODEL: "anthropic:x", OPENAI_API_KEY: "k" },
    /ANTHROPIC_API_KEY is not set, .*as SELVAGE_MODEL is anthropic:x/,
  ],
  [{ SELVAGE_WINDOW: "many" }, /SELVAGE_WINDOW is "many", wanted a whole number/],
  [{ SELVAGE_WINDOW: "100" }, /SELVAGE_WINDOW is "100"/],
  [{ SELVAGE_WINDOW: "1e3" }, /SELVAGE_WINDOW/],
  [{ SELVAGE_MAX_OUTPUT: "-1" }, /SELVAGE_MAX_OUTPUT/],
  [
    { SELVAGE_COMPACT_AT: "65" },
    /SELVAGE_COMPACT_AT is "65", wanted a share of the usable window, over 0 and below SELVAGE_STOP_AT$/,
  ],
  [
    { SELVAGE_STOP_AT: "2" },
    /SELVAGE_STOP_AT is "2", wanted a share .*, above SELVAGE_COMPACT_AT and up to 1$/,
  ],
  [
    { SELVAGE_STOP_AT: "0.5" },
    /SELVAGE_STOP_AT is "0.5", wanted more than SELVAGE_COMPACT_AT \(0.65, its default\)$/,
  ],
  [
    { SELVAGE_STOP_AT: "0.5", SELVAGE_COMPACT_AT: "0.6" },
    /SELVAGE_COMPACT_AT is "0.6", wanted less than SELVAGE_STOP_AT \(0.5\)$/,
  ],
  [
    { SELVAGE_COMPACT_AT: "0.3" },
    /SELVAGE_COMPACT_AT is "0.3", wanted more, for SELVAGE_COMPACT_TO \(0.35, its default\) may be at most 0.9 of it$/,
  ],
  [{ SELVAGE_COMPACT_TO: "0.7" }, /SELVAGE_COMPACT_TO is "0.7", wanted at most 0.9 of SELVAGE_COMPACT_AT/],
  [{ SELVAGE_COMPACT_TO: "0.6" }, /wanted at most 0.9 of SELVAGE_COMPACT_AT \(0.65, its default\)$/],
  [
    { SELVAGE_COMPACT_AT: "0.95" },
    /SELVAGE_COMPACT_AT is "0.95", wanted less than SELVAGE_STOP_AT \(0.92, its default\)$/,
  ],
  [{ SELVAGE_POLICY: "half" }, /SELVAGE_POLICY is "half", wanted full or backward/],
  [{ SELVAGE_MAX_STEPS: "0" }, /SELVAGE_MAX_STEPS/],
  [{ OPENAI_BASE_URL: "localhost" }, /OPENAI_BASE_URL is "localhost", wanted an http or https URL/],
  [{ DENO_SERVE_ADDRESS: "8000" }, /DENO_SERVE_ADDRESS is "8000", wanted tcp:IP:PORT/],
  [
    { DENO_SERVE_ADDRESS: "tcp:localhost:8000" },
    /DENO_SERVE_ADDRESS is "tcp:localhost:8000", wanted tcp:IP:PORT/,
  ],
  [{ DENO_SERVE_ADDRESS: "tcp:127.0.0.1:99999" }, /wanted tcp:IP:PORT/],
  [{ SELVAGE_CORS: "*" }, /SELVAGE_CORS is "\*", wanted origins/],
  [{ SELVAGE_CORS: "https://app.example/" }, /wanted origins of pages that may call/],
  [
    // As it is copied out of a document: no header can hold the dots, and no server would ever be reached.
    { SELVAGE_MCP_SERVERS: '{"a": {"url": "http://a/", "headers": {"authorization": "Bearer …"}}}' },
    /SELVAGE_MCP_SERVERS is a value that does not fit \(a: found what does not fit in headers\), wanted NAME=URL, http or /,
  ],
  [
    { SELVAGE_MCP_SERVERS: "web=http://b/,files=ftp://u:secret@a/secret?secret" },
    /^(?!.*secret).* is a value that does not fit \(files: found a URL of ftp:\), wanted NAME=URL/,
  ],
  [{ SELVAGE_MCP_SERVERS: "files=localhost" }, /\(entry 1: found no URL\)/],
  // A query with a comma, behind which is the rest of a token.
  [{ SELVAGE_MCP_SERVERS: "a=http://a/?t=x,secret" }, /^(?!.*secret).*\(entry 2: found no URL\)/],
  [{ SELVAGE_MCP_SERVERS: "http://a/?t=secret" }, /^(?!.*secret).*\(entry 1: found no name of letters/],
  [{ SELVAGE_MCP_SERVERS: "a=http://a/,a=http://b/" }, /\(a: found the name a second time\)/],
  [
    { SELVAGE_MCP_SERVERS: '{"a": {"url": "http://a/", "token": "secret"}}' },
    /^(?!.*secret).*\(a: found a field that nobody knows\)/,
  ],
  [{ SELVAGE_MCP_SERVERS: '{"a": {"url": "ws://a/"}}' }, /\(a: found a URL of ws:\)/],
  [{ SELVAGE_MCP_SERVERS: '{"a": {}}' }, /\(a: found no URL\)/],
  [
    { SELVAGE_MCP_SERVERS: '{"a": {"url": "http://a/", "timeoutMs": 0}}' },
    /\(a: found what does not fit in timeoutMs\)/,
  ],
  [{ SELVAGE_MCP_SERVERS: '{"a": ' }, /SELVAGE_MCP_SERVERS is a value that does not fit \(it is no JSON\)/],
  [{ SELVAGE_LOG: "loud" }, /SELVAGE_LOG is "loud", wanted off, or debug, info/],
  [{ SELVAGE_LOG_CONTENT: "yes" }, /SELVAGE_LOG_CONTENT is "yes", wanted 1 or 0/],
  [{ SELVAGE_TURNS_PER_MINUTE: "0" }, /SELVAGE_TURNS_PER_MINUTE is "0", wanted a whole number, 1 or more/],
  [{ SELVAGE_CONCURRENT_TURNS: "501" }, /wanted a whole number, 1 to 500/],
  [{ SELVAGE_MAX_TOKENS: "lots" }, /SELVAGE_MAX_TOKENS is "lots"/],
  [{ SELVAGE_MAX_SECONDS: "1.5" }, /wanted a whole number of seconds/],
  [{ SELVAGE_MEMORY_MB: "1" }, /wanted a whole number of MiB, 64 or more/],
  [{ SELVAGE_WINDOWS: "1" }, /unknown variable SELVAGE_WINDOWS/],
  [{ SELVAGE_API_KEY: "a=b" }, /unknown variable SELVAGE_API_KEY,/],
];
for (const [env, message] of BAD) {
  Deno.test(`parseConfig() refuses ${JSON.stringify(env)}`, () => {
    throws(() => parseConfig(env), (error: unknown) => {
      equal(error instanceof SelvageError && error.code, "bad_config");
      return message.test((error as Error).message);
    });
  });
}

Deno.test("parseConfig() reads how long unused sessions are kept, in milliseconds", () => {
  equal(parseConfig({}).SELVAGE_RETENTION, null);
  equal(parseConfig({ SELVAGE_RETENTION: "off" }).SELVAGE_RETENTION, null);
  equal(parseConfig({ SELVAGE_RETENTION: "90m" }).SELVAGE_RETENTION, 5_400_000);
  equal(parseConfig({ SELVAGE_RETENTION: "30d" }).SELVAGE_RETENTION, 2_592_000_000);
  for (const bad of ["30", "0d", "1w", "-1d", "d"]) {
    throws(() => parseConfig({ SELVAGE_RETENTION: bad }), {
      code: "bad_config",
      message: /SELVAGE_RETENTION is/,
    });
  }
});

Deno.test("parseConfig() takes a model with fallbacks, and wants the key of each", () => {
  const model = "responses:gpt-5,anthropic:claude-sonnet-4-5";
  const keys = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" };
  equal(parseConfig({ SELVAGE_MODEL: model, ...keys }).SELVAGE_MODEL, model);
  throws(() => parseConfig({ SELVAGE_MODEL: model, OPENAI_API_KEY: "k" }), {
    message: /ANTHROPIC_API_KEY is not set/,
  });
  throws(() => parseConfig({ SELVAGE_MODEL: model, ANTHROPIC_API_KEY: "k" }), {
    message: /OPENAI_API_KEY is not set/,
  });
  for (const bad of ["gpt-5", "openai:", "openai:a,", "openai:a,scripted", "openai:a, openai:b"]) {
    throws(() => parseConfig({ SELVAGE_MODEL: bad, ...keys }), {
      code: "bad_config",
      message: /SELVAGE_MODEL is/,
    });
  }
});

Deno.test("parseConfig() takes a summarizer of its own, and wants its key", () => {
  equal(parseConfig({}).SELVAGE_SUMMARIZER, "off");
  equal(parseConfig({ SELVAGE_SUMMARIZER: "same" }).SELVAGE_SUMMARIZER, "same");
  throws(() => parseConfig({ SELVAGE_SUMMARIZER: "openai:small" }), { message: /OPENAI_API_KEY is not set/ });
  throws(() => parseConfig({ SELVAGE_SUMMARIZER: "small" }), { message: /SELVAGE_SUMMARIZER is "small"/ });
});

Deno.test("parseConfig() takes keys by tenant, several a name, and shows none of those that do not fit", () => {
  equal(parseConfig({}).SELVAGE_API_KEYS, undefined);
  const hash = `sha256:${"0a".repeat(32)}`;
  deepEqual(
    parseConfig({ SELVAGE_API_KEYS: `acme=first-key-of-acme==,beta=${hash}, acme=second-key-of-acme` })
      .SELVAGE_API_KEYS,
    { acme: ["first-key-of-acme==", "second-key-of-acme"], beta: [hash] },
  );
  for (
    const bad of [
      "secret-key-of-acme",
      "acme=short",
      "acme=sha256:00",
      "=secret-key-of-acme",
      "a b=secret-key-of-acme",
      ",",
    ]
  ) {
    throws(
      () => parseConfig({ SELVAGE_API_KEYS: bad }),
      (error: Error) =>
        /SELVAGE_API_KEYS is a value that does not fit/.test(error.message) &&
        !error.message.includes("secret"),
      bad,
    );
  }
});

Deno.test("loadOptions() names a module that is not there, in one sentence", async () => {
  await rejects(loadOptions("./no_such_module.ts", "/"), {
    code: "bad_config",
    message:
      /^Cannot start: SELVAGE_CONFIG is "\.\/no_such_module\.ts", which does not load: .*no_such_module\.ts"?$/,
  });
});

Deno.test("loadOptions() says of a module that throws what it threw, and no more", async () => {
  const folder = await Deno.makeTempDir({ prefix: "selvage-config-" });
  try {
    await Deno.writeTextFile(`${folder}/own.ts`, 'throw new TypeError("found x, wanted y.");');
    await rejects(loadOptions("own.ts", folder), {
      code: "bad_config",
      message: 'Cannot start: SELVAGE_CONFIG is "own.ts", which does not load: found x, wanted y',
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("cannotOpenStore() names the variable, and what the service may write in place of a flag", () => {
  const fault = (cause: unknown) => new SelvageError("kv_unavailable", "Cannot open Deno KV", { cause });
  const forbidden = fault(
    new Deno.errors.NotCapable('Requires write access to "/root", run again with the --allow-write flag'),
  );
  equal(
    cannotOpenStore("/root/x.sqlite3", parseConfig({ SELVAGE_KV: "/root/x.sqlite3" }), forbidden).message,
    'Cannot start: SELVAGE_KV is "/root/x.sqlite3", a path that the service may not read or write, wanted one below ' +
      ".selvage (the permissions of the task in deno.json), or a folder allowed with --allow-read and --allow-write " +
      "(docs/operating.md)",
  );
  match(
    cannotOpenStore(".selvage/kv.sqlite3", parseConfig({}), forbidden).message,
    /^Cannot start: SELVAGE_KV is "\.selvage\/kv\.sqlite3" by default, a path /,
  );
  equal(
    cannotOpenStore("a.md", parseConfig({ SELVAGE_KV: "a.md" }), fault(new Error("file is not a database")))
      .message,
    'Cannot start: SELVAGE_KV is "a.md", which does not open: found "file is not a database", wanted a database that ' +
      "can be read and written",
  );
  // Who pays for a database by URL may have its key there.
  const url = "https://kv.example/connect?token=secret";
  doesNotMatch(
    cannotOpenStore(url, parseConfig({ SELVAGE_KV: url }), fault(new Error("no"))).message,
    /secret/,
  );
});
