/**
 * The composition root: environment, adapters, app. The only file that reads the environment and picks adapters.
 *
 * @module
 */
import { type Config, parseConfig, providerOf } from "./config.ts";
import { SelvageError } from "./src/core/errors.ts";
import { isLoopback } from "./src/http/auth.ts";
import { apiKeys, createApp, Drain, type Limits, openAccess } from "./src/http/mod.ts";
import { anthropic, clerk, fallback, openaiChat, openaiResponses, scripted } from "./src/models/mod.ts";
import type { Model, Store } from "./src/ports.ts";
import { systemClock } from "./src/loop/clock.ts";
import { kvStore } from "./src/store/kv.ts";
import { deleteUnused } from "./src/store/retention.ts";
import { workspaceTools } from "./src/tools/workspace.ts";

/** Milliseconds between two looks for sessions that are unused for too long. */
const RETENTION_EVERY_MS = 600_000;

/** Milliseconds that running turns have to store what they did before the process ends. */
const DRAIN_MS = 4_000;

/** Milliseconds within which a second signal is the first one again. */
const SAME_SIGNAL_MS = 1_000;

function stopStart(message: string): never {
  console.error(message);
  Deno.exit(1);
}

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

async function openStore(path: string): Promise<Store> {
  const isFile = path !== ":memory:" && !/^https?:/.test(path);
  const folder = path.match(/^(.*)\/[^/]*$/)?.[1];
  if (isFile && folder !== undefined && folder !== "") await Deno.mkdir(folder, { recursive: true });
  const store = await kvStore({ path });
  console.error(
    `Sessions are kept in ${isFile ? `the file ${path}` : path === ":memory:" ? "memory" : "Deno KV by URL"}`,
  );
  return store;
}

/** Deletes unused sessions now and every so often. The timer keeps nothing alive. */
function keepFor(unusedMs: number): void {
  const work = async (): Promise<void> => {
    try {
      const deleted = await deleteUnused(store, { unusedMs, clock: systemClock, signal: drain.signal });
      if (deleted > 0) console.error(`Deleted ${deleted} sessions that were unused for too long`);
    } catch (error) {
      console.error("Cannot delete unused sessions:", error);
    }
  };
  void work();
  Deno.unrefTimer(setInterval(work, RETENTION_EVERY_MS));
}

let isListening = false;

// A rejection that nobody handles would end the process and every stream in it.
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  if (!isListening) {
    const { message } = event.reason instanceof Error ? event.reason : { message: String(event.reason) };
    stopStart(`Cannot start: ${message}; DENO_SERVE_ADDRESS names another address`);
  }
  console.error("Unhandled rejection:", event.reason);
});

let config: Config;
let store: Store;
let model: Model;
try {
  config = parseConfig(Deno.env.toObject());
  const { SELVAGE_MODEL, SELVAGE_WINDOW: window, SELVAGE_MAX_OUTPUT: maxOutput } = config;
  model = makeModel(SELVAGE_MODEL, config, {
    ...(window === undefined ? {} : { window }),
    ...(maxOutput === undefined ? {} : { maxOutput }),
  });
  store = await openStore(config.SELVAGE_KV);
} catch (error) {
  if (error instanceof SelvageError) stopStart(error.message);
  stopStart(`Cannot start: ${error instanceof Error ? error.message : error}`);
}

const { SELVAGE_API_KEYS: keys } = config;
if (keys === undefined && config.DENO_DEPLOYMENT_ID !== undefined) {
  stopStart(
    "Cannot start: found Deno Deploy, which everybody can reach, and no authentication, wanted SELVAGE_API_KEYS",
  );
}

const drain = new Drain();
const app = createApp({
  agents: {
    default: {
      model,
      system: config.SELVAGE_SYSTEM ??
        "You are a careful agent with a virtual workspace. Look before you write, and say what you found.",
      tools: workspaceTools(),
      maxSteps: config.SELVAGE_MAX_STEPS,
      ...makeSummarizer(config, model),
      compaction: {
        policy: config.SELVAGE_POLICY,
        compactAt: config.SELVAGE_COMPACT_AT,
        stopAt: config.SELVAGE_STOP_AT,
        compactTo: config.SELVAGE_COMPACT_TO,
      },
    },
  },
  store,
  auth: keys === undefined ? openAccess() : apiKeys(keys),
  limits: limitsFrom(config),
  // What is made of a body takes several times its bytes.
  maxBodyBytes: config.SELVAGE_MEMORY_MB * 1_048_576 / 4,
  drain,
});

if (config.SELVAGE_RETENTION !== null) keepFor(config.SELVAGE_RETENTION);

let goingDownSince: number | null = null;

function onSignal(): void {
  if (goingDownSince !== null) {
    // Process groups and supervisors send the same signal twice; somebody who means it waits a little longer.
    if (performance.now() - goingDownSince > SAME_SIGNAL_MS) Deno.exit(1);
    return;
  }
  goingDownSince = performance.now();
  const end = (): void => {
    store.close();
    Deno.exit(0);
  };
  setTimeout(end, DRAIN_MS);
  // A moment for the last bytes to leave: the streams have ended, their frames may still be in the socket.
  void drain.start().then(() => setTimeout(end, 50));
}
for (const name of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(name, onSignal);

export default {
  fetch: app.fetch,
  onListen({ hostname, port }: { readonly hostname: string; readonly port: number }): void {
    if (keys === undefined && !isLoopback(hostname)) {
      stopStart(
        `Cannot start: found the address ${hostname}:${port}, which other machines can reach, and no ` +
          "authentication, wanted a loopback address such as 127.0.0.1, or SELVAGE_API_KEYS",
      );
    }
    isListening = true;
    console.error(
      `Listening on http://${hostname}:${port}/ (model ${config.SELVAGE_MODEL}, policy ${config.SELVAGE_POLICY})`,
    );
  },
};
