/**
 * The composition root: environment, adapters, app. The only file that reads the environment and picks adapters.
 *
 * @module
 */
import { cannotOpenStore, logFrom, optionsFrom } from "./compose.ts";
import { type Config, parseConfig } from "./config.ts";
import { loadOptions, withoutEffect } from "./own_options.ts";
import { SelvageError } from "./src/core/errors.ts";
import { isLoopback } from "./src/http/auth.ts";
import { type App, type AppOptions, createApp, Drain } from "./src/http/mod.ts";
import type { Store } from "./src/ports.ts";
import { systemClock } from "./src/loop/clock.ts";
import { kvStore } from "./src/store/kv.ts";
import { memoryStore } from "./src/store/memory.ts";
import { deleteUnused } from "./src/store/retention.ts";

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

/** Says something to whoever runs the server, at the level `info`: a sentence, or in a log of JSON an entry. */
function say(message: string): void {
  if (config.SELVAGE_LOG.endsWith(",json")) options.log?.({ level: "info", event: "service", message });
  else if (/^(info|debug)/.test(config.SELVAGE_LOG)) console.error(message);
}

/** Opens the store. Without a path it is the file of a clone, on Deno Deploy the database that is assigned there. */
async function openStore(path: string | undefined, isDeploy: boolean): Promise<Store> {
  if (path === undefined && isDeploy) {
    const assigned = await kvStore().catch((cause) => {
      throw new SelvageError(
        "kv_unavailable",
        `Cannot start: found no KV database on Deno Deploy (${
          cause instanceof Error ? cause.message : cause
        }), ` +
          "wanted one assigned to the app, or SELVAGE_KV=:memory:, with which sessions end with their instance",
        { cause },
      );
    });
    say("Sessions are kept in the database of Deno Deploy");
    return assigned;
  }
  const at = path ?? ".selvage/kv.sqlite3";
  // Where there is no KV at all, memory is still what was asked for.
  if (at === ":memory:" && typeof Deno.openKv !== "function") return memoryStore();
  const isFile = at !== ":memory:" && !/^https?:/.test(at);
  const opened = await kvStore({ path: at }).catch((error) => {
    throw cannotOpenStore(at, config, error);
  });
  say(`Sessions are kept in ${isFile ? `the file ${at}` : at === ":memory:" ? "memory" : "Deno KV by URL"}`);
  return opened;
}

/** Deletes unused sessions now and every so often. The timer keeps nothing alive. */
function keepFor(unusedMs: number): void {
  const work = async (): Promise<void> => {
    try {
      const deleted = await deleteUnused(store, { unusedMs, clock: systemClock, signal: drain.signal });
      if (deleted > 0) {
        say(`Deleted ${deleted} ${deleted === 1 ? "session" : "sessions"} that nobody has used for too long`);
      }
    } catch (error) {
      console.error("Cannot delete unused sessions:", error);
    }
  };
  void work();
  Deno.unrefTimer(setInterval(work, RETENTION_EVERY_MS));
}

/** What answers, in words: the agents of a module of options have models of their own. */
function agentsOf({ SELVAGE_CONFIG: path, SELVAGE_MODEL, SELVAGE_POLICY }: Config): string {
  if (path === undefined) return `model ${SELVAGE_MODEL}, policy ${SELVAGE_POLICY}`;
  return Object.entries(options.agents).map(([name, { model }]) => `agent ${name} on ${model.id}`).join(", ");
}

/** Whether the app is made, so that what fails before it listens is the address. */
let isMade = false;
let isListening = false;

/** Where the server was to listen, in words, and how to say another place: what `deno serve` was told it does not tell. */
const ADDRESS = `it was to listen on ${
  Deno.env.get("DENO_SERVE_ADDRESS") ?? "the address of its command (tcp:127.0.0.1:8000 by `deno task start`)"
}; another one is named by DENO_SERVE_ADDRESS=tcp:IP:PORT`;

/** Reports what nobody handled: it would end the process and every stream in it, whoever left it behind. */
function survive(event: Event, { what, error }: { readonly what: string; readonly error: unknown }): void {
  event.preventDefault();
  if (!isListening) {
    const message = error instanceof Error ? error.message : String(error);
    stopStart(`Cannot start: ${message}${isMade ? `: ${ADDRESS}` : ""}`);
  }
  console.error(`${what}:`, error);
}
globalThis.addEventListener("unhandledrejection", (event) => {
  survive(event, { what: "Unhandled rejection", error: event.reason });
});
// Thrown out of a timer or a microtask of some tool, where no caller is left to catch it.
globalThis.addEventListener("error", (event) => {
  survive(event, { what: "Uncaught error", error: event.error });
});

const [argument] = Deno.args;
if (argument !== undefined) {
  stopStart(
    `Cannot start: found the argument ${JSON.stringify(argument)}, wanted none: variables say everything, ` +
      "DENO_SERVE_ADDRESS where to listen, as in DENO_SERVE_ADDRESS=tcp:0.0.0.0:9100",
  );
}

let config: Config;
let options: Omit<AppOptions, "store">;
let store: Store;
/** Whether whoever calls has to show who it is. */
let isShut: boolean;
try {
  const env = Deno.env.toObject();
  config = parseConfig(env);
  const { SELVAGE_CONFIG: path, SELVAGE_API_KEYS: keys } = config;
  const own = path === undefined ? {} : await loadOptions(path, Deno.cwd());
  options = optionsFrom(config, own);
  for (const sentence of withoutEffect(own, (name) => (env[name] ?? "") !== "")) say(sentence);
  isShut = keys !== undefined || own.auth !== undefined;
  const isDeploy = config.DENO_DEPLOY !== undefined || config.DENO_DEPLOYMENT_ID !== undefined;
  if (isDeploy && !isShut) {
    stopStart(
      "Cannot start: found Deno Deploy, which everybody can reach, and no authentication, wanted SELVAGE_API_KEYS",
    );
  }
  store = own.store ?? await openStore(config.SELVAGE_KV, isDeploy);
} catch (error) {
  if (error instanceof SelvageError) stopStart(error.message);
  stopStart(`Cannot start: ${error instanceof Error ? error.message : error}`);
}

if (config.SELVAGE_LOG.endsWith(",json")) {
  // Whatever else is reported is an entry, too: every line is one JSON object. The log itself writes as before.
  const log = logFrom(config);
  console.error = (...found: readonly unknown[]) => {
    const message = found.map((value) => typeof value === "string" ? value : Deno.inspect(value)).join(" ");
    log({ level: "error", event: "fault", message });
  };
}

const drain = new Drain();
let app: App;
try {
  app = createApp({ ...options, store, drain });
} catch (error) {
  stopStart(`Cannot start: ${error instanceof Error ? error.message : error}`);
}
isMade = true;

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
  fetch(request: Request, info: Deno.ServeHandlerInfo): Response | Promise<Response> {
    // Not every platform calls `onListen`.
    isListening = true;
    return app.fetch(request, info);
  },
  onListen({ hostname, port }: { readonly hostname: string; readonly port: number }): void {
    if (!isShut && !isLoopback(hostname)) {
      stopStart(
        `Cannot start: found the address ${hostname}:${port}, which other machines can reach, and no ` +
          "authentication, wanted a loopback address such as 127.0.0.1, or SELVAGE_API_KEYS",
      );
    }
    isListening = true;
    // An address of version 6 stands in brackets in a URL.
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    say(`Listening on http://${host}:${port}/ (${agentsOf(config)})`);
  },
};
