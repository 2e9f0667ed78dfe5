/**
 * The app: routes, authentication and one place where errors become responses.
 *
 * @module
 */
import { Hono } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import { SelvageError } from "../core/errors.ts";
import type { Agent } from "../loop/agent.ts";
import { requireAgent } from "../loop/agent_options.ts";
import { budgetOf } from "../loop/measures.ts";
import { systemClock } from "../loop/clock.ts";
import { ownTools } from "../loop/tool_set.ts";
import { knownAgent, requireNames } from "../loop/ready.ts";
import { authenticate, openAccess } from "./auth.ts";
import { Bodies } from "./bodies.ts";
import { refuseChat } from "./chat_errors.ts";
import { Drain } from "./drain.ts";
import { type AppEnv, peerOf } from "./env.ts";
import { allowOrigins, secureHeaders } from "./headers.ts";
import { TurnHost } from "./host.ts";
import { makeParts } from "./host/parts.ts";
import { addLater, type LaterRoutes } from "./later.ts";
import { Notes } from "./notes.ts";
import { type AppOptions, requireAppOptions } from "./options.ts";
import { refuseOpenAI } from "./openai_errors.ts";
import { problemOf, refuseMethod, refuseWith, speak } from "./problem.ts";
import { causeOf, reportFault, tellRequest } from "./requests.ts";
import { openApiRoutes } from "./routes/openapi.ts";
import { pageRoutes } from "./routes/page.ts";
import { turnRoutes } from "./routes/turns.ts";
import { watchStore } from "./watched_store.ts";

/** Bytes that bodies may take together. */
const MAX_BODY_BYTES = 128 * 1024 * 1024;

/** A Hono app: `app.fetch`, `app.request()`, `other.route("/agent", app)`. */
export type App = Hono;

/**
 * Makes the service as a Hono app.
 *
 * @param options Agents, store and authentication.
 * @returns An app with `fetch`; it can be mounted in another one with `other.route("/agent", app)`.
 * @throws TypeError when there is no agent, an option is unknown or of the wrong kind, or an agent has two tools of one
 *   name; SelvageError `bad_budget` when an agent's window, answer and tools leave nothing for messages.
 *
 * @example
 * ```ts
 * import { createApp, memoryStore, scripted } from "@selvage/selvage";
 *
 * const model = scripted({ script: () => ({ text: "Hello." }) });
 * const app = createApp({ agents: { default: { model } }, store: memoryStore() });
 * const response = await app.request("/v1/turns", {
 *   method: "POST",
 *   body: JSON.stringify({ input: "Hi", stream: false }),
 * });
 * console.log((await response.json()).text); // Hello.
 * ```
 */
export function createApp(options: AppOptions): App {
  requireAppOptions(options);
  for (const [name, agent] of Object.entries(options.agents)) requireFit(name, agent);
  // The default router compiles all routes before the first request is answered, which takes longer than its turn.
  const app = new Hono<AppEnv>({ router: new TrieRouter() });

  const { clock = systemClock, maxBodyBytes = MAX_BODY_BYTES, log, cors = [], drain = new Drain() } = options;
  const { auth = openAccess({ origins: cors }) } = options;
  const store = watchStore(options.store, clock);
  const notes = new Notes();

  app.use(tellRequest({ notes, clock, ...(log === undefined ? {} : { log }) }));
  app.use(secureHeaders());
  if (cors.length > 0) app.use(allowOrigins(cors));
  app.onError((error, c) => {
    c.set("cause", causeOf(error));
    const told = drain.signal.aborted && isCutOff(error) ? goingDown(error) : error;
    return refuseWith(c, problemOf(told, (fault) => reportFault(c, { fault, log })));
  });
  app.notFound((c) =>
    refuseWith(c, { code: "not_found", detail: `Cannot find ${c.req.method} ${c.req.path.slice(0, 200)}` })
  );

  // How a protocol tells errors stands here, above authentication.
  for (const path of ["/v1/chat/*", "/v1/models/*"]) app.use(path, speak(refuseOpenAI));
  app.use("/api/chat/*", speak(refuseChat));

  // What anybody may ask for stands here.
  app.get("/healthz", async (c) => {
    await store.claim({ tenant: "" }, "health");
    return c.json({ status: "ok" });
  });
  app.get("/readyz", async (c) => {
    if (drain.signal.aborted) throw goingDown();
    await store.ready();
    return c.json({ status: "ready" });
  });
  app.route("/", openApiRoutes());

  app.route("/", pageRoutes());

  // From here on nothing is served, not even found, for somebody who is nobody.
  const bodies = new Bodies(clock, maxBodyBytes);
  app.use(async (c, next) => {
    const refused: string[] = [];
    c.set("refused", refused);
    const context = { peer: peerOf(c), onRefused: (cause: string) => void refused.push(cause) };
    const principal = await authenticate(auth, { request: c.req.raw, context });
    notes.of(principal).id = c.get("requestId");
    c.set("principal", principal);
    c.set("bodies", bodies);
    await next();
    for (const [name, value] of Object.entries(notes.of(principal).headers ?? {})) {
      c.res.headers.set(name, value);
    }
  });
  const watched = { ...options, store };
  const host = new TurnHost(makeParts({ ...watched, drain }, notes));
  app.route("/v1/turns", turnRoutes(watched, host));
  for (const routes of laterRoutes(watched, host)) addLater(app, routes);
  refuseOtherMethods(app);
  // The variables above are our own affair: a caller sees a plain Hono app.
  return app as unknown as App;
}

/** Whether it is a body that did not come whole: `deno serve` breaks those off which are under way when it goes down. */
function isCutOff(error: unknown): boolean {
  return error instanceof SelvageError && error.code === "body_cut_off";
}

function goingDown(cause?: unknown): SelvageError {
  return new SelvageError("shutting_down", "The service takes no new work: it is going down", { cause });
}

/** What is not needed before somebody asks for it. */
function laterRoutes(options: AppOptions, host: TurnHost): readonly LaterRoutes[] {
  return [
    {
      at: "/v1/sessions",
      routes: [
        "GET /v1/sessions",
        "GET /v1/sessions/:id",
        "GET /v1/sessions/:id/export",
        "GET /v1/sessions/:id/messages",
        "GET /v1/sessions/:id/context",
        "GET /v1/sessions/:id/entries/:ref",
        "DELETE /v1/sessions/:id",
      ],
      load: async () => (await import("./routes/sessions.ts")).sessionRoutes(options, host),
    },
    {
      at: "/v1/sessions",
      routes: [
        "POST /v1/sessions/:id/compact",
        "GET /v1/sessions/:id/pins",
        "POST /v1/sessions/:id/pins",
      ],
      load: async () => (await import("./routes/at_rest.ts")).restRoutes(options, host),
    },
    {
      at: "/agui",
      routes: ["POST /agui"],
      load: async () => (await import("./routes/agui.ts")).aguiRoutes(options, host),
    },
    {
      at: "/api/chat",
      routes: ["POST /api/chat", "GET /api/chat/:id/stream", "GET /api/chat/:id"],
      load: async () => (await import("./routes/chat.ts")).chatRoutes(options, host),
    },
    {
      at: "/v1",
      routes: ["POST /v1/chat/completions", "GET /v1/models", "GET /v1/models/:id"],
      load: async () => (await import("./routes/completions.ts")).completionRoutes(options, host),
    },
    {
      at: "/v1",
      routes: ["POST /v1/check", "POST /v1/repair", "POST /v1/compact"],
      load: async () => (await import("./routes/transcripts.ts")).transcriptRoutes(),
    },
  ];
}

/** Refuses on every path of the app the methods that it does not take there. */
function refuseOtherMethods(app: Hono<AppEnv>): void {
  const taken = new Map<string, Set<string>>();
  for (const { method, path } of app.routes) {
    // What runs for every method stands before routes, and is none.
    if (method !== "ALL") taken.set(path, (taken.get(path) ?? new Set()).add(method));
  }
  for (const [path, methods] of taken) app.all(path, refuseMethod([...methods].join(", ")));
}

/** What would fail in every turn of an agent fails when the app is made. */
function requireFit(name: string, agent: Agent): void {
  requireAgent(agent, `make the agent ${name}`);
  // Tools that are found out for each turn are held against the same there.
  const known = knownAgent(agent);
  requireNames(ownTools(known.tools).map((tool) => tool.name), `make the agent ${name}`);
  budgetOf(known);
}
