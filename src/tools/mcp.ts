/**
 * Tools of MCP servers over streamable HTTP.
 *
 * Over 300 lines: a connection, and what its tools are, know each other; options and names are beside it.
 *
 * @module
 */
import {
  aClock,
  aFunction,
  byName,
  number,
  optionsOf,
  orFunction,
  requireOptions,
  type Rule,
  secret,
  text,
  yesOrNo,
} from "../core/options.ts";
import { isObject } from "../formats/format.ts";
import type { AgentTools, ToolsOf } from "../loop/agent.ts";
import { someTools } from "../loop/agent_options.ts";
import { bounded } from "../loop/bounded.ts";
import { systemClock } from "../loop/clock.ts";
import { RECALL } from "../loop/recall.ts";
import { ownTools } from "../loop/tool_set.ts";
import type { Clock, SessionKey, Tool, ToolContext } from "../ports.ts";
import { McpConnection, type McpTool, statusOf } from "./_mcp_connection.ts";
import { mcpNames } from "./_mcp_names.ts";
import { errorOf, outputOf } from "./_mcp_output.ts";
import { Failing } from "./_mcp_failing.ts";

/** Headers of the requests to a server. */
export type McpHeaders = Readonly<Record<string, string>>;

/** A call of a tool of a server, for whoever decides whether a person has to allow it. */
export interface McpCall {
  /** Name of the tool, as its server has it. */
  readonly name: string;
  /** The arguments. */
  readonly input: Readonly<Record<string, unknown>>;
  /** What the server says of the tool: `readOnlyHint`, `destructiveHint` and others. */
  readonly annotations: Readonly<Record<string, unknown>>;
}

/** An MCP server. */
export interface McpServer {
  /** Where it is, for example `https://files.example/mcp`. */
  readonly url: string;
  /**
   * Headers for it; a function of the caller is asked for each turn and each call. Callers with other headers share
   * nothing; one whose headers cannot be found out has the tools of the other servers.
   */
  readonly headers?: McpHeaders | ((caller: SessionKey) => McpHeaders | Promise<McpHeaders>);
  /** Milliseconds before a call is answered with an error. Default: the agent's `toolTimeoutMs`. */
  readonly timeoutMs?: number;
  /** Whether a person has to allow a call before it is run. Default false. */
  readonly needsApproval?: boolean | ((call: McpCall, context: ToolContext) => boolean | Promise<boolean>);
}

/** Settings of {@link mcpTools}. */
export interface McpToolsOptions {
  /** Tools beside those of the servers, in front of them. Default none. */
  readonly tools?: AgentTools;
  /** Is told, in a line, when the tools of a server cannot be had, and when they can again. Default: standard error. */
  readonly say?: (line: string) => void;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

const server = optionsOf<McpServer>({
  url: text,
  headers: secret(orFunction(byName("headers by name", text))),
  timeoutMs: number("milliseconds, over 0", { least: Number.MIN_VALUE }),
  needsApproval: orFunction(yesOrNo),
}, ["url"]);
const aServer: Rule = (value) => typeof value === "string" ? null : server(value);
const someServers = byName("servers by name", aServer);
const rules = optionsOf<McpToolsOptions>({ tools: someTools, say: aFunction, clock: aClock });

/** Tools of MCP servers. */
export interface McpTools extends AsyncDisposable {
  /** For `tools` of an agent. */
  readonly tools: ToolsOf;
  /** Ends all connections. */
  readonly close: () => Promise<void>;
}

/** Milliseconds after which a connection that nobody uses is closed, and connections to one server at a time. */
const IDLE_MS = 600_000;
const MAX_CONNECTIONS = 200;

/**
 * Makes the tools of MCP servers those of an agent. Connections are made when a turn first needs them, and made again
 * when they are lost. A server that cannot be reached costs a turn five seconds at most, and its tools; one that was
 * reached before keeps them, and its calls are answered with errors until it is back. A change of a server's list
 * counts from the next turn on: within a turn the tools, and so the prefix of its requests, stay as they are. A list of
 * over 1,000 tools or 256 Ki characters is refused like a server that is not there, and no redirect to another server
 * is followed.
 *
 * @param servers Servers by name, 1 to 32 of `A-Z a-z 0-9 _ -`. The name stands in front of that of a tool where
 *   another tool has the same, or where it would not fit what providers accept.
 * @param options Other tools, and who is told of failures.
 * @throws TypeError where a name or a URL is none, and where an option is unknown or of another kind.
 *
 * @example
 * ```ts
 * import { mcpTools, scripted } from "@selvage/selvage";
 *
 * const { tools, close } = mcpTools({
 *   files: { url: "https://files.example/mcp", headers: ({ user = "" }) => ({ "x-user": user }) },
 * });
 * const agent = { model: scripted({ script: () => ({ text: "Hello." }) }), tools };
 * console.log(typeof agent.tools); // function
 * await close();
 * ```
 */
export function mcpTools(
  servers: Readonly<Record<string, string | McpServer>>,
  options: McpToolsOptions = {},
): McpTools {
  requireOptions("use MCP servers", servers, someServers);
  requireOptions("use the tools of MCP servers", options, rules);
  const { tools: given, say = console.error, clock = systemClock } = options;
  const own = ownTools(given);
  const all = Object.entries(servers).map(([name, server]) => {
    const settings = typeof server === "string" ? { url: server } : server;
    return new Server(name, { ...settings, clock, say });
  });
  const close = async (): Promise<void> => {
    await Promise.all(all.map((server) => server.close()));
  };
  const tools = async (caller: SessionKey): Promise<readonly Tool[]> => {
    const lists = await Promise.all(all.map((server) => server.list(caller)));
    const named = lists.map((list, at) => ({
      server: all[at]?.name ?? "",
      tools: list.map(({ name }) => name),
    }));
    const names = mcpNames(named, [...own.map(({ name }) => name), RECALL]);
    const made = all.flatMap((server, at) =>
      (lists[at] ?? []).map((tool, n) => server.tool(tool, names[at]?.[n] ?? tool.name))
    );
    return [...own, ...made];
  };
  return { tools, close, [Symbol.asyncDispose]: close };
}

/** Milliseconds for a function that gives headers. */
const HEADERS_MS = 5_000;

/** One server, with a connection for each set of headers. */
class Server {
  readonly name: string;
  readonly #url: URL;
  readonly #settings: McpServer & Required<Pick<McpToolsOptions, "say" | "clock">>;
  readonly #connections = new Map<string, { readonly connection: McpConnection; usedAt: number }>();
  readonly #failing: Failing;

  constructor(name: string, settings: McpServer & Required<Pick<McpToolsOptions, "say" | "clock">>) {
    if (!/^[A-Za-z0-9_-]{1,32}$/.test(name)) {
      throw new TypeError(
        `Cannot use the MCP server: found the name ${
          JSON.stringify(name)
        }, wanted 1 to 32 of A-Z a-z 0-9 _ -`,
      );
    }
    if (!URL.canParse(settings.url) || !/^https?:$/.test(new URL(settings.url).protocol)) {
      throw new TypeError(`Cannot use the MCP server ${name}: its url is none, wanted an http or https URL`);
    }
    this.name = name;
    this.#url = new URL(settings.url);
    this.#settings = settings;
    const { origin, pathname } = this.#url;
    const { clock, say } = settings;
    const tell = (line: string): void => say(`MCP server ${name} (${origin}${pathname}): ${line}`);
    this.#failing = new Failing({ clock, say: tell });
  }

  /** Its tools for a caller; none where it cannot be reached. */
  async list(caller: SessionKey): Promise<readonly McpTool[]> {
    this.#closeUnused();
    // Not by its session: a session that fails may never come again, and its caller does.
    const who = JSON.stringify([caller.tenant, caller.user]);
    let connection: McpConnection;
    try {
      connection = await this.#connection(caller);
    } catch (error) {
      this.#failing.tell(who, reasonOf(error));
      return [];
    }
    const tools = await connection.tools();
    // Behind it: with headers the server may still refuse, and nothing is over then.
    this.#failing.tell(who, null);
    return tools;
  }

  /** A tool of it, under a name for the model. */
  tool({ name, title, description, inputSchema, annotations = {} }: McpTool, own: string): Tool {
    const { timeoutMs, needsApproval = false } = this.#settings;
    // One that is idempotent writes all the same: run again hours after a crash, it would undo what came since.
    const isReadOnly = annotations.readOnlyHint === true;
    const call = (input: unknown): McpCall => ({ name, input: input as McpCall["input"], annotations });
    return {
      name: own,
      description: description ?? title ?? name,
      inputSchema,
      verbatimArgs: [],
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(isReadOnly ? { sideEffect: "none" as const } : {}),
      // The server checks its arguments itself, and says best what is wrong with them.
      parse: (value) => isObject(value) ? { ok: true, value } : { ok: false, message: "wanted an object" },
      execute: (input, context) => this.#call(call(input), context),
      ...(needsApproval === false ? {} : {
        needsApproval: (input: unknown, context: ToolContext) =>
          needsApproval === true || needsApproval(call(input), context),
      }),
    };
  }

  async close(): Promise<void> {
    const all = [...this.#connections.values()];
    this.#connections.clear();
    await Promise.all(all.map(({ connection }) => connection.close()));
  }

  /** Calls a tool: yields what the server tells of its progress, and returns the output. */
  async *#call(
    { name, input }: McpCall,
    { signal, ...caller }: ToolContext,
  ): AsyncGenerator<unknown, unknown> {
    const news: unknown[] = [];
    let wake = (): void => {};
    const onProgress = (progress: unknown): void => {
      news.push(progress);
      wake();
    };
    const connection = await this.#connection(caller);
    const called = connection.call({ name, arguments: { ...input } }, { signal, onProgress });
    const result = called.then((value) => ({ value }), (error: unknown) => ({ error }));
    for (;;) {
      const woken = new Promise<null>((resolve) => wake = () => resolve(null));
      const done = news.length > 0 ? null : await Promise.race([result, woken]);
      yield* news.splice(0);
      if (done === null) continue;
      if ("error" in done) throw signal.aborted ? done.error : new Error(reasonOf(done.error));
      if (done.value.isError === true) throw new Error(errorOf(done.value));
      return outputOf(done.value);
    }
  }

  async #connection({ tenant, user, session }: SessionKey): Promise<McpConnection> {
    const { headers: given = {}, clock } = this.#settings;
    const caller = { tenant, ...(user === undefined ? {} : { user }), session };
    const headers = typeof given === "function" ? await this.#ask(() => given(caller)) : given;
    const key = JSON.stringify(Object.entries(headers).sort());
    const known = this.#connections.get(key);
    const connection = known?.connection ??
      new McpConnection({
        url: this.#url,
        headers,
        clock,
        onState: (failure) => this.#failing.tell(key, failure === null ? null : reasonOf(failure)),
      });
    // The one that was used last stands last.
    this.#connections.delete(key);
    this.#connections.set(key, { connection, usedAt: clock.now() });
    return connection;
  }

  /** Headers of a function that somebody else has written: it may fail, or not answer. */
  async #ask(given: () => McpHeaders | Promise<McpHeaders>): Promise<McpHeaders> {
    const { signal } = new AbortController();
    const options = { signal, clock: this.#settings.clock, timeoutMs: HEADERS_MS };
    const asked = await bounded(given, options).catch(() => null);
    if (asked?.kind === "done") return asked.value;
    // What it says may be about secrets, and would be told to the model.
    throw new Error("its headers could not be found out");
  }

  #closeUnused(): void {
    const since = this.#settings.clock.now() - IDLE_MS;
    for (const [key, { connection, usedAt }] of this.#connections) {
      if (usedAt >= since && this.#connections.size <= MAX_CONNECTIONS) return;
      if (connection.isBusy) continue;
      this.#connections.delete(key);
      void connection.close();
    }
  }
}

/** Why it did not answer. What the network says may hold more of a URL than anybody is to see. */
function reasonOf(error: unknown): string {
  const status = statusOf(error);
  if (status !== null) return `the server answered with HTTP ${status}`;
  if (error instanceof TypeError) return "the server could not be reached";
  const message = error instanceof Error ? error.message : String(error);
  return /fetch failed|https?:\/\//.test(message)
    ? "the server could not be reached"
    : message.slice(0, 2_000);
}
