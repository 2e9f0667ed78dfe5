/**
 * Options of `createApp()` of somebody's own, from the module of `SELVAGE_CONFIG`, and what they make of the variables.
 *
 * @module
 */
import type { Config } from "./config.ts";
import { SelvageError } from "./src/core/errors.ts";
import type { AppOptions } from "./src/http/mod.ts";

/** What a module of options may have: all but what ends the service. */
const OPTIONS: Readonly<Record<Exclude<keyof AppOptions, "drain">, true>> = {
  agents: true,
  store: true,
  auth: true,
  limits: true,
  maxBodyBytes: true,
  cors: true,
  log: true,
  logContent: true,
  clock: true,
  newId: true,
};

/**
 * The options that a module exports as its default; they take the place of those of the environment.
 *
 * @param path Where the module is, as a path.
 * @param from The folder from which a path counts that is not absolute.
 * @throws SelvageError `bad_config` where it cannot be loaded, or exports something else.
 */
export async function loadOptions(path: string, from: string): Promise<Partial<AppOptions>> {
  const fail = (what: string, cause?: unknown): never => {
    throw new SelvageError("bad_config", `Cannot start: SELVAGE_CONFIG is ${JSON.stringify(path)}${what}`, {
      cause,
    });
  };
  const refuse = (found: string): never =>
    fail(
      `: found ${found}, wanted a module whose default export is an object of ${
        Object.keys(OPTIONS).join(", ")
      }`,
    );
  const [{ resolve }, { pathToFileURL }] = await Promise.all([import("node:path"), import("node:url")]);
  const url = pathToFileURL(resolve(from, path)).href;
  const module = await import(url).catch((error) => {
    // What its own code has thrown, or Deno has found, is a sentence of its own.
    const message: string = error instanceof Error ? error.message : String(error);
    return fail(`, which does not load: ${message.replace(/\.+$/, "")}`, error);
  });
  const found: unknown = module.default;
  if (typeof found !== "object" || found === null) return refuse(`a default export that is ${typeof found}`);
  const unknown = Object.keys(found).find((name) => !Object.hasOwn(OPTIONS, name));
  if (unknown !== undefined) return refuse(`the unknown option ${unknown}`);
  return found;
}

/** The variables that an option of a module takes the place of. */
const REPLACED: Readonly<{ [Name in keyof AppOptions]?: readonly (keyof Config)[] }> = {
  agents: [
    "SELVAGE_MODEL",
    "SELVAGE_SYSTEM",
    "SELVAGE_WINDOW",
    "SELVAGE_MAX_OUTPUT",
    "SELVAGE_COMPACT_AT",
    "SELVAGE_STOP_AT",
    "SELVAGE_COMPACT_TO",
    "SELVAGE_POLICY",
    "SELVAGE_SUMMARIZER",
    "SELVAGE_MAX_STEPS",
    "SELVAGE_MCP_SERVERS",
  ],
  store: ["SELVAGE_KV"],
  auth: ["SELVAGE_API_KEYS"],
  limits: [
    "SELVAGE_TURNS_PER_MINUTE",
    "SELVAGE_CONCURRENT_TURNS",
    "SELVAGE_MAX_TOKENS",
    "SELVAGE_MAX_SECONDS",
  ],
  maxBodyBytes: ["SELVAGE_MEMORY_MB"],
  cors: ["SELVAGE_CORS"],
  logContent: ["SELVAGE_LOG_CONTENT"],
};

/** What the models of the environment are made with. Code of a module may read them, too; nothing here sees that. */
const OF_MODELS: readonly (keyof Config)[] = [
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_BASE_URL",
];

/** `SELVAGE_CONFIG has …` of one option and the variables beside it; nothing where there are none. */
function sentenceOf(option: string, set: readonly string[], reads = false): readonly string[] {
  if (set.length === 0) return [];
  const isOne = set.length === 1;
  const unless = reads ? `, unless the module reads ${isOne ? "it" : "them"} itself` : "";
  return [
    `SELVAGE_CONFIG has ${option} of its own: ${set.join(", ")} ${isOne ? "has" : "have"} no effect${unless}`,
  ];
}

/**
 * Says which variables have no effect, since a module of options says the same: a sentence for each such option, and
 * one for what the module's own models are to be given by its code. A conversation would go to another place than
 * `OPENAI_BASE_URL` says, and nobody would know.
 *
 * @param own What the module has.
 * @param isSet Whether the environment has a variable.
 */
export function withoutEffect(
  own: Partial<AppOptions>,
  isSet: (name: keyof Config) => boolean,
): readonly string[] {
  return Object.entries(REPLACED).flatMap(([option, names]) =>
    Object.hasOwn(own, option)
      ? [
        ...sentenceOf(option, names.filter(isSet)),
        ...option === "agents" ? sentenceOf(option, OF_MODELS.filter(isSet), true) : [],
      ]
      : []
  );
}
