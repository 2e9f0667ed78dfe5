/**
 * The environment, parsed once. A bad value stops the start with a sentence that names the variable, what was
 * found and what is allowed.
 *
 * @module
 */
import * as z from "zod";
import { SelvageError } from "./src/core/errors.ts";
import { isOrigin } from "./src/http/headers.ts";

const share = z.coerce.number().gt(0).lte(1);
const tokens = z.coerce.number().int().min(2_000).max(100_000_000);

/** A limit that may be left out. */
const count = (most: number) => z.coerce.number().int().min(1).max(most).optional();

const MINUTE_MS = 60_000;
const UNITS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: 60 * MINUTE_MS, d: 1_440 * MINUTE_MS };

/** A duration in milliseconds; null for none. */
function durationMs(text: string): number | null {
  return text === "off" ? null : Number(text.slice(0, -1)) * (UNITS[text.slice(-1)] ?? NaN);
}

/** The parts of a list: several with commas, or with spaces. */
function partsOf(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((part) => part !== "");
}

/** Names of tenants and their keys: NAME=KEY, several with commas. Null for a list that is none. */
function readKeys(text: string): Readonly<Record<string, readonly string[]>> | null {
  const keys: Record<string, string[]> = {};
  for (const part of partsOf(text)) {
    const [, name, key] =
      part.match(/^([A-Za-z0-9][A-Za-z0-9._-]{0,63})=(sha256:[0-9a-f]{64}|(?!sha256:)\S{16,})$/) ?? [];
    if (name === undefined || key === undefined) return null;
    keys[name] = [...Object.hasOwn(keys, name) ? keys[name] ?? [] : [], key];
  }
  return Object.keys(keys).length === 0 ? null : keys;
}

/** Whether a header can have the value: bytes, and no line of its own. */
function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text.trim());
}

const SERVER_NAME = /^[A-Za-z0-9_-]{1,32}$/;
const mcpServer = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/), z.string().refine(isHeaderValue)).exactOptional(),
  timeoutMs: z.int().min(1).exactOptional(),
  needsApproval: z.boolean().exactOptional(),
});
const mcpSettings = z.union([mcpServer.shape.url.transform((url) => ({ url })), mcpServer]);

/** MCP servers as they are read, or what is wrong with the first that does not fit; no secret is part of that. */
type Servers =
  | { readonly servers: Readonly<Record<string, z.output<typeof mcpSettings>>> }
  | { readonly fault: string };

/** MCP servers: NAME=URL, several with commas, or JSON. */
function readServers(text: string): Servers {
  if (!text.trimStart().startsWith("{")) {
    return serversOf(
      partsOf(text).map((part) => {
        const [name = "", url = ""] = part.split(/=(.*)/s, 2);
        return [name, url];
      }),
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: "it is no JSON" };
  }
  return serversOf(Object.entries(value as object));
}

function serversOf(entries: readonly (readonly [name: string, settings: unknown])[]): Servers {
  const servers = new Map<string, z.output<typeof mcpSettings>>();
  for (const [index, [name, settings]] of entries.entries()) {
    // What stands behind a stray comma may be the rest of a token: a name is shown where it is surely one.
    const isShown = SERVER_NAME.test(name) && (typeof settings !== "string" || settings.includes(":"));
    const fault = (what: string): Servers => ({ fault: `${isShown ? name : `entry ${index + 1}`}: ${what}` });
    if (!SERVER_NAME.test(name)) return fault("found no name of letters, digits, _ or -, at most 32 of them");
    if (servers.has(name)) return fault("found the name a second time");
    const parsed = mcpSettings.safeParse(settings);
    if (!parsed.success) return fault(faultOf(settings));
    servers.set(name, parsed.data);
  }
  return { servers: Object.fromEntries(servers) };
}

/** What is wrong with the settings of one server. */
function faultOf(settings: unknown): string {
  if (typeof settings !== "object" || settings === null) return sayURL(settings);
  const { issues = [] } = mcpServer.safeParse(settings).error ?? {};
  const field = String(issues[0]?.path[0] ?? "");
  if (field === "") return "found a field that nobody knows";
  if (field === "url") return sayURL((settings as { readonly url?: unknown }).url);
  return `found what does not fit in ${field}`;
}

/** What is said of a URL that does not fit: its query, its path and its user may be secrets. */
function sayURL(url: unknown): string {
  return typeof url === "string" && URL.canParse(url)
    ? `found a URL of ${new URL(url).protocol}`
    : "found no URL";
}

/** A model of a service. */
const HOSTED = "(?:openai|responses|anthropic):[^\\s,]+";

/** Each variable: its schema, and what is allowed in words. */
const VARIABLES = {
  SELVAGE_MODEL: [
    z.string().regex(new RegExp(`^(scripted|${HOSTED}(,${HOSTED})*)$`)).default("scripted"),
    "scripted, openai:NAME, responses:NAME or anthropic:NAME, with a comma between a model and its fallbacks",
  ],
  OPENAI_API_KEY: [z.string().min(1).optional(), "an API key"],
  OPENAI_BASE_URL: [z.url({ protocol: /^https?$/ }).optional(), "an http or https URL"],
  ANTHROPIC_API_KEY: [z.string().min(1).optional(), "an API key"],
  ANTHROPIC_BASE_URL: [z.url({ protocol: /^https?$/ }).optional(), "an http or https URL"],
  SELVAGE_SYSTEM: [z.string().optional(), "text"],
  SELVAGE_WINDOW: [tokens.optional(), "a whole number of tokens, 2000 or more"],
  SELVAGE_MAX_OUTPUT: [
    z.coerce.number().int().min(1).max(10_000_000).optional(),
    "a whole number of tokens, 1 or more",
  ],
  SELVAGE_COMPACT_AT: [share.default(0.65), "a share of the usable window, over 0 and below SELVAGE_STOP_AT"],
  SELVAGE_STOP_AT: [
    share.default(0.92),
    "a share of the usable window, above SELVAGE_COMPACT_AT and up to 1",
  ],
  SELVAGE_COMPACT_TO: [
    share.default(0.35),
    "a share of the usable window, over 0 and at most 0.9 of SELVAGE_COMPACT_AT",
  ],
  SELVAGE_SUMMARIZER: [
    z.string().regex(new RegExp(`^(off|same|${HOSTED})$`)).default("off"),
    "off, same, openai:NAME, responses:NAME or anthropic:NAME",
  ],
  SELVAGE_POLICY: [z.enum(["full", "backward"]).default("full"), "full or backward"],
  SELVAGE_DEMO: [z.enum(["0", "1"]).default("1"), "1 or 0"],
  SELVAGE_MAX_STEPS: [z.coerce.number().int().min(1).max(100_000).default(50), "a whole number, 1 or more"],
  SELVAGE_TURNS_PER_MINUTE: [count(1_000_000), "a whole number, 1 or more"],
  SELVAGE_CONCURRENT_TURNS: [count(500), "a whole number, 1 to 500"],
  SELVAGE_MAX_TOKENS: [count(1_000_000_000), "a whole number of tokens, 1 or more"],
  SELVAGE_MAX_SECONDS: [count(86_400), "a whole number of seconds, 1 to 86400"],
  SELVAGE_MEMORY_MB: [
    z.coerce.number().int().min(64).max(1_048_576).default(512),
    "a whole number of MiB, 64 or more",
  ],
  SELVAGE_KV: [z.string().min(1).optional(), "a file path, :memory: or a KV Connect URL"],
  SELVAGE_RETENTION: [
    z.string().regex(/^(off|[1-9]\d{0,5}[mhd])$/).transform(durationMs).default(null),
    "off, or how long an unused session is kept: 90m, 12h or 30d",
  ],
  SELVAGE_API_KEYS: [
    z.string().transform((text, context) => {
      const keys = readKeys(text);
      if (keys === null) context.addIssue("no keys");
      return keys ?? {};
    }).optional(),
    "NAME=KEY with a comma between several, a key of at least 16 characters or its sha256: hash " +
    "(`deno task key NAME` makes one)",
  ],
  SELVAGE_CORS: [
    z.string().transform(partsOf)
      .refine((origins) => origins.every(isOrigin)).default([]),
    "origins of pages that may call, such as https://app.example, with a comma between several",
  ],
  SELVAGE_MCP_SERVERS: [
    z.string().transform((text, context) => {
      const read = readServers(text);
      if ("servers" in read) return read.servers;
      context.addIssue(read.fault);
      return z.NEVER;
    }).default({}),
    "NAME=URL, http or https, with a comma between several, or JSON: " +
    '{ "NAME": { "url", "headers"?, "timeoutMs"?, "needsApproval"? } }',
  ],
  SELVAGE_LOG: [
    // A level by itself is the same as the default is, with one level in place of another: lines for people.
    z.string().regex(/^(off|(debug|info|warn|error)(,(text|json))?)$/)
      .transform((log) => log === "off" || log.includes(",") ? log : `${log},text`).default("info,text"),
    "off, or debug, info, warn or error, then ,text or ,json",
  ],
  SELVAGE_LOG_CONTENT: [z.enum(["0", "1"]).default("0"), "1 or 0"],
  SELVAGE_CONFIG: [z.string().min(1).optional(), "the path of a module"],
  DENO_DEPLOY: [z.string().optional(), "what Deno Deploy sets"],
  DENO_DEPLOYMENT_ID: [z.string().optional(), "what Deno Deploy sets"],
  DENO_SERVE_ADDRESS: [
    // Anything else would make Deno listen on 0.0.0.0:8000 without a word.
    z.string().regex(/^tcp:(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:.]+\]):\d{1,5}$/)
      .refine((address) => Number(address.slice(address.lastIndexOf(":") + 1)) <= 65_535).optional(),
    "tcp:IP:PORT, for example tcp:127.0.0.1:8000",
  ],
} as const satisfies Record<string, readonly [z.ZodType, string]>;

/** The settings of a server. */
export type Config = { readonly [Name in keyof typeof VARIABLES]: z.output<(typeof VARIABLES)[Name][0]> };

/** Whose API a model speaks; null for the scripted one, and where there is none. */
export function providerOf(model: string): "OPENAI" | "ANTHROPIC" | null {
  if (!model.includes(":")) return null;
  return model.startsWith("anthropic:") ? "ANTHROPIC" : "OPENAI";
}

function fail(name: string, found: string, allowed: string, fault = ""): never {
  // Keys are never shown, nor is anything that could hold one.
  const shown = found === "not set"
    ? found
    : name === "SELVAGE_MCP_SERVERS"
    ? `a value that does not fit (${fault})`
    : /KEY/.test(name)
    ? "a value that does not fit"
    : JSON.stringify(found.slice(0, 100));
  throw new SelvageError("bad_config", `Cannot start: ${name} is ${shown}, wanted ${allowed}`);
}

/**
 * Parses the environment.
 *
 * @param env Variables by name. Unknown `SELVAGE_` names are refused: a misspelt limit is no limit.
 * @throws SelvageError `bad_config`.
 */
export function parseConfig(env: Readonly<Record<string, string>>): Config {
  const names = Object.keys(VARIABLES);
  for (const name of Object.keys(env)) {
    if (name.startsWith("SELVAGE_") && !names.includes(name)) {
      const known = names.filter((known) => known.startsWith("SELVAGE_")).join(", ");
      throw new SelvageError(
        "bad_config",
        `Cannot start: found the unknown variable ${name}, wanted one of ${known}`,
      );
    }
  }
  const config = Object.fromEntries(
    Object.entries(VARIABLES).map(([name, [schema, allowed]]) => {
      // An empty variable is one that is not set, as in a compose file.
      const found = env[name] === "" ? undefined : env[name];
      const parsed = schema.safeParse(found);
      if (!parsed.success) fail(name, found ?? "not set", allowed, parsed.error.issues[0]?.message);
      return [name, parsed.data];
    }),
  ) as Config;
  requireOrder(config, (name) => (env[name] ?? "") !== "");
  // A module of options may have agents of its own: whether the models here are asked is known once it is loaded.
  if (config.SELVAGE_CONFIG === undefined) requireKeys(config);
  return config;
}

/**
 * Holds the shares of the window against each other. What is wrong between two is said of one that is set: the other
 * one may be its default.
 */
function requireOrder(config: Config, isSet: (name: keyof Config) => boolean): void {
  const { SELVAGE_COMPACT_TO: to, SELVAGE_COMPACT_AT: at, SELVAGE_STOP_AT: stop } = config;
  const said = (name: "SELVAGE_COMPACT_TO" | "SELVAGE_COMPACT_AT" | "SELVAGE_STOP_AT"): string =>
    `${name} (${config[name]}${isSet(name) ? "" : ", its default"})`;
  // Closer together no compaction could save the tenth that makes it worth while.
  if (!(to <= 0.9 * at)) {
    if (isSet("SELVAGE_COMPACT_TO")) {
      fail("SELVAGE_COMPACT_TO", String(to), `at most 0.9 of ${said("SELVAGE_COMPACT_AT")}`);
    }
    fail(
      "SELVAGE_COMPACT_AT",
      String(at),
      `more, for ${said("SELVAGE_COMPACT_TO")} may be at most 0.9 of it`,
    );
  }
  if (!(at < stop)) {
    if (isSet("SELVAGE_COMPACT_AT")) {
      fail("SELVAGE_COMPACT_AT", String(at), `less than ${said("SELVAGE_STOP_AT")}`);
    }
    fail("SELVAGE_STOP_AT", String(stop), `more than ${said("SELVAGE_COMPACT_AT")}`);
  }
}

/**
 * Looks for the keys of the models that are named.
 *
 * @throws SelvageError `bad_config` where one is neither set nor, with a base URL of its own, done without.
 */
export function requireKeys(config: Config): void {
  for (const name of ["SELVAGE_MODEL", "SELVAGE_SUMMARIZER"] as const) {
    for (const model of config[name].split(",")) {
      const provider = providerOf(model);
      if (provider === null) continue;
      if (config[`${provider}_API_KEY`] !== undefined || config[`${provider}_BASE_URL`] !== undefined) {
        continue;
      }
      fail(`${provider}_API_KEY`, "not set", `an API key, as ${name} is ${config[name]}`);
    }
  }
}
