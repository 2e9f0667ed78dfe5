/**
 * From settings to the options of `createApp()`: models, the agent, limits, and the options of a module over them.
 * Neither the environment nor `Deno` is known here.
 *
 * @module
 */
import { type Config, providerOf, requireKeys } from "./config.ts";
import { computeBudget } from "./src/compaction/budget.ts";
import { SelvageError } from "./src/core/errors.ts";
import { apiKeys, type AppOptions, type Limits, lineLog, type Log, type LogLevel } from "./src/http/mod.ts";
import { anthropic, clerk, fallback, openaiChat, openaiResponses, scripted } from "./src/models/mod.ts";
import { systemClock } from "./src/loop/clock.ts";
import { fixedTokens } from "./src/loop/measures.ts";
import { knownAgent } from "./src/loop/ready.ts";
import type { Model } from "./src/ports.ts";
import { mcpTools } from "./src/tools/mcp.ts";
import { workspaceTools } from "./src/tools/workspace.ts";

/** Makes a model out of its name; several, with commas, are one with fallbacks. */
function makeModel(
  names: string,
  config: Config,
  limits: { readonly window?: number; readonly maxOutput?: number },
): Model {
  const models = names.split(",").map((name): Model => {
    const provider = providerOf(name);
    if (provider === null) return scripted({ script: clerk, ...limits });
    const apiKey = config[`${provider}_API_KEY`];
    const baseURL = config[`${provider}_BASE_URL`];
    const options = {
      model: name.slice(name.indexOf(":") + 1),
      ...limits,
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(baseURL === undefined ? {} : { baseURL }),
    };
    if (provider === "ANTHROPIC") return anthropic(options);
    return name.startsWith("responses:") ? openaiResponses(options) : openaiChat(options);
  });
  const [first, ...others] = models;
  return first !== undefined && others.length === 0 ? first : fallback(models);
}

/** Who writes prose beside the ledger: nobody, the model itself, or one of its own. */
function makeSummarizer(config: Config, model: Model): { readonly summarizer?: Model } {
  const { SELVAGE_SUMMARIZER: name } = config;
  if (name === "off") return {};
  return { summarizer: name === "same" ? model : makeModel(name, config, {}) };
}

/** The limits of each tenant. */
function limitsFrom(config: Config): Limits {
  const {
    SELVAGE_TURNS_PER_MINUTE: turnsPerMinute,
    SELVAGE_CONCURRENT_TURNS: concurrentTurns,
    SELVAGE_MAX_TOKENS: tokens,
    SELVAGE_MAX_SECONDS: seconds,
  } = config;
  const limits = { turnsPerMinute, concurrentTurns, tokens, seconds };
  return Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
}

/**
 * Instructions and tools of the environment: of MCP servers where there are any, and of the virtual workspace, which is
 * there to be tried out. A real model with tools of its own has none of that: of two `read_file` it would call the one
 * of the example.
 */
function makeTools(config: Config): Pick<AppOptions["agents"][string], "system" | "tools"> {
  const { SELVAGE_MCP_SERVERS: servers, SELVAGE_MODEL, SELVAGE_SYSTEM } = config;
  const hasServers = Object.keys(servers).length > 0;
  const hasWorkspace = !hasServers || SELVAGE_MODEL === "scripted";
  const system = SELVAGE_SYSTEM ??
    `You are a careful agent${hasWorkspace ? WORKSPACE : ""}. Look before you write, and say what you found.`;
  const tools = hasWorkspace ? workspaceTools() : [];
  if (!hasServers) return { system, tools };
  const log = logFrom(config);
  const say = (message: string): void => log({ level: "warn", event: "mcp", message });
  return { system, tools: mcpTools(servers, { tools, say }).tools };
}

const WORKSPACE = " with a virtual workspace";

/** The log of the environment. */
export function logFrom({ SELVAGE_LOG: log }: Config): Log {
  const [level, format] = log.split(",") as [LogLevel | "off", "text" | "json" | undefined];
  return level === "off" ? () => {} : lineLog({ level, ...(format === undefined ? {} : { format }) });
}

/** The agent of the environment. */
function makeAgent(config: Config): AppOptions["agents"][string] {
  const { SELVAGE_MODEL, SELVAGE_WINDOW: window, SELVAGE_MAX_OUTPUT: maxOutput } = config;
  const model = makeModel(SELVAGE_MODEL, config, {
    ...(window === undefined ? {} : { window }),
    ...(maxOutput === undefined ? {} : { maxOutput }),
  });
  const agent = {
    model,
    ...makeTools(config),
    maxSteps: config.SELVAGE_MAX_STEPS,
    ...makeSummarizer(config, model),
    compaction: {
      policy: config.SELVAGE_POLICY,
      compactAt: config.SELVAGE_COMPACT_AT,
      stopAt: config.SELVAGE_STOP_AT,
      compactTo: config.SELVAGE_COMPACT_TO,
    },
  };
  requireWindow(agent, config);
  return agent;
}

/** A window in which anything fits that fits at all, and the steps in which one that fits is looked for. */
const LARGEST_WINDOW = 100_000_000;
const WINDOW_STEP = 100;

/**
 * Refuses a window that leaves an agent no room beside its instructions and tools. The app would refuse it, too, and
 * know nothing of the variable.
 */
function requireWindow(agent: AppOptions["agents"][string], { SELVAGE_WINDOW: window }: Config): void {
  const { model: { window: found, maxOutput }, compaction: settings = {} } = agent;
  const fixed = fixedTokens(knownAgent(agent));
  const fits = (window: number): boolean => {
    try {
      computeBudget({ window, maxOutput }, { fixed, settings });
      return true;
    } catch (error) {
      if (error instanceof SelvageError) return false;
      throw error;
    }
  };
  if (fits(found)) return;
  const refuse = (what: string): never => {
    throw new SelvageError("bad_config", `Cannot start: ${what}`);
  };
  if (!fits(LARGEST_WINDOW)) {
    refuse(
      `SELVAGE_COMPACT_AT is "${settings.compactAt}", wanted a larger share: in no window would it leave room for ` +
        "an input beside the summary and the newest messages",
    );
  }
  let least = Math.ceil(found / WINDOW_STEP) * WINDOW_STEP;
  while (!fits(least)) least += WINDOW_STEP;
  const name = window === undefined
    ? `SELVAGE_WINDOW is not set and the window of the model ${found}`
    : `SELVAGE_WINDOW is "${window}"`;
  refuse(
    `${name}, wanted at least ${least} tokens: instructions and tools take about ${fixed}, and an answer up to a ` +
      "fifth of the window",
  );
}

/** Milliseconds before each delta of the demo: slow enough to be watched, a turn in half a minute. */
const DEMO_PAUSE_MS = 70;

/**
 * The agent behind the page's demo: the long task in a window so small that it compacts every few seconds. Its model is
 * the scripted one and its workspace is in memory, whatever the operator's own agent is, so that it costs nobody
 * anything.
 */
function demoAgent(): AppOptions["agents"][string] {
  return {
    model: scripted({
      script: clerk,
      window: 10_000,
      maxOutput: 1_000,
      pause: (signal) => systemClock.sleep(DEMO_PAUSE_MS, signal),
    }),
    system:
      "You are a careful agent with a virtual workspace. Look before you write, and say what you found.",
    tools: workspaceTools(),
    maxSteps: 400,
  };
}

/**
 * The options that settings stand for, all but the store.
 *
 * @param config The settings.
 * @param own What a module of options has; its agents take the place of those of the settings, whose models then need
 *   no key.
 * @throws SelvageError `bad_config` where the key of a model is missing.
 */
export function optionsFrom(config: Config, own: Partial<AppOptions> = {}): Omit<AppOptions, "store"> {
  const { SELVAGE_API_KEYS: keys, SELVAGE_CORS: cors } = config;
  return {
    agents: own.agents ?? makeAgents(config),
    ...(keys === undefined ? {} : { auth: apiKeys(keys) }),
    limits: limitsFrom(config),
    // What is made of a body takes several times its bytes.
    maxBodyBytes: config.SELVAGE_MEMORY_MB * 1_048_576 / 4,
    cors,
    log: logFrom(config),
    logContent: config.SELVAGE_LOG_CONTENT === "1",
    ...own,
  };
}

/** The agents of the environment. */
function makeAgents(config: Config): AppOptions["agents"] {
  requireKeys(config);
  return { default: makeAgent(config), ...(config.SELVAGE_DEMO === "1" ? { demo: demoAgent() } : {}) };
}

/**
 * Says why the store of the environment does not open. `kvStore()` knows no variable, and what Deno finds wrong with a
 * path comes with the advice to use a flag, which `deno task start` does not pass on.
 *
 * @param path The file or URL.
 * @param config Whether the environment names it.
 * @param error What `kvStore()` has thrown.
 */
export function cannotOpenStore(path: string, { SELVAGE_KV: set }: Config, error: unknown): SelvageError {
  const shown = /^https?:/.test(path) ? "a URL" : JSON.stringify(path);
  const cause = error instanceof SelvageError ? error.cause ?? error : error;
  const why = cause instanceof Error && cause.name === "NotCapable"
    ? "a path that the service may not read or write, wanted one below .selvage (the permissions of the task in " +
      "deno.json), or a folder allowed with --allow-read and --allow-write (docs/operating.md)"
    : `which does not open: found "${
      cause instanceof Error ? cause.message : cause
    }", wanted a database that can ` +
      "be read and written";
  return new SelvageError(
    "kv_unavailable",
    `Cannot start: SELVAGE_KV is ${shown}${set === undefined ? " by default" : ""}, ${why}`,
    { cause: error },
  );
}
