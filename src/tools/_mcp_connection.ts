/**
 * The connection to one MCP server, under one set of headers: made when it is needed, made again when it was lost.
 *
 * @module
 */
import type { Client, StreamableHTTPClientTransport, Tool } from "@modelcontextprotocol/client";
import { bounded } from "../loop/bounded.ts";
import type { Clock } from "../ports.ts";
import { mcpFetch } from "./_mcp_fetch.ts";
import type { McpResult } from "./_mcp_output.ts";

/** A tool as its server tells of it. */
export type McpTool = Pick<Tool, "name" | "title" | "description" | "inputSchema" | "annotations">;

/** Milliseconds for a connection with its list of tools. */
const CONNECT_MS = 5_000;

/** Milliseconds after which a list is asked for again, changed or not: word of a change can get lost. */
const LIST_MS = 300_000;

/** Tools of a server, and characters of the JSON of its list: more would leave a model no room for anything else. */
const MAX_TOOLS = 1_000;
const MAX_LIST = 256 * 1024;

/** Milliseconds until a server that failed is tried again; twice as many each time. */
const RETRY_MS = { first: 1_000, most: 60_000 } as const;

/** The longest time that a timer can have: how long a call may take is the loop's affair. */
const NO_TIMEOUT_MS = 2_147_483_647;

/** Code of the error that stands for an answer that does not come any more. */
const NO_ANSWER = -32_000;

/** What a {@link McpConnection} is made of. */
export interface McpConnectionOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Told of a failure to get the tools, and of a success. */
  readonly onState: (failure: unknown | null) => void;
}

interface Live {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  /** Tells an error that the server has answered with. */
  readonly isAnswer: (error: unknown) => boolean;
  /** Calls that go over it. */
  calls: number;
}

/** A connection. */
export class McpConnection {
  readonly #options: McpConnectionOptions;
  readonly #stop = new AbortController();
  #live: Live | null = null;
  #connecting: Promise<Live> | null = null;
  #tools: readonly McpTool[] = [];
  #isStale = true;
  #listedAt = -Infinity;
  #failedAt = -Infinity;
  #retryMs = 0;
  #listing: Promise<void> | null = null;
  #calls = 0;

  constructor(options: McpConnectionOptions) {
    this.#options = options;
  }

  /** Whether a call is under way. */
  get isBusy(): boolean {
    return this.#calls > 0;
  }

  /**
   * The tools of the server, asked for where it has told of a change, or nobody has asked for long. Those that are
   * known stay where it cannot be reached: what a model is shown does not change with every failure of a network.
   */
  async tools(): Promise<readonly McpTool[]> {
    const isDue = this.#isStale || this.#live === null || this.#hasPassed(LIST_MS, this.#listedAt);
    if (isDue && this.#hasPassed(this.#retryMs, this.#failedAt)) {
      await (this.#listing ??= this.#list().finally(() => this.#listing = null));
    }
    return this.#tools;
  }

  /**
   * Calls a tool.
   *
   * @throws What keeps it from an answer.
   */
  async call(
    params: { readonly name: string; readonly arguments: Record<string, unknown> },
    { signal, onProgress }: {
      readonly signal: AbortSignal;
      readonly onProgress: (progress: unknown) => void;
    },
  ): Promise<McpResult> {
    this.#calls++;
    try {
      for (let attempt = 0;; attempt++) {
        const live = await this.#connected(signal);
        live.calls++;
        try {
          const options = { signal, timeout: NO_TIMEOUT_MS, onprogress: onProgress };
          return await live.client.callTool(params, options) as McpResult;
        } catch (error) {
          if (signal.aborted) throw error;
          if (live.isAnswer(error)) {
            // One call was lost on its way, perhaps with its server: others may still be under way.
            if (codeOf(error) === NO_ANSWER) this.#isStale = true;
            throw error;
          }
          this.#leave(live);
          // The server does not know the session any more: it has refused the call, and so has not run it.
          const isForgotten = /^40[04]$/.test(String(statusOf(error))) && attempt === 0;
          if (!isForgotten) throw error;
        } finally {
          live.calls--;
          if (live !== this.#live && live.calls === 0) void live.client.close().catch(() => {});
        }
      }
    } finally {
      this.#calls--;
    }
  }

  /** Ends it; what is under way fails. */
  async close(): Promise<void> {
    this.#stop.abort(new DOMException("The connection was closed", "AbortError"));
    await this.#connecting?.catch(() => {});
    const live = this.#live;
    this.#live = null;
    if (live === null) return;
    const { clock } = this.#options;
    const { signal } = new AbortController();
    // Servers that keep sessions would keep this one.
    await bounded(() => live.transport.terminateSession(), { signal, clock, timeoutMs: 1_000 }).catch(
      () => {},
    );
    await live.client.close().catch(() => {});
  }

  async #list(): Promise<void> {
    const { clock, onState } = this.#options;
    const ask = async (signal: AbortSignal): Promise<readonly McpTool[]> => {
      const { client } = await this.#connected(signal);
      // First: a change while pages come is one for the next time.
      this.#isStale = false;
      return (await client.listTools(undefined, { signal, cacheMode: "refresh" })).tools;
    };
    try {
      const asked = await bounded((signal) => ask(signal()), {
        signal: this.#stop.signal,
        clock,
        timeoutMs: CONNECT_MS,
      });
      if (asked.kind !== "done") throw new Error(`no answer in ${CONNECT_MS} ms`);
      refuseLong(asked.value);
      // In an order of our own: a server that tells the same in another order has not changed.
      this.#tools = asked.value.toSorted((a, b) => a.name < b.name ? -1 : 1);
      this.#listedAt = clock.now();
      this.#retryMs = 0;
      onState(null);
    } catch (error) {
      this.#isStale = true;
      this.#failedAt = clock.now();
      this.#retryMs = Math.min(2 * this.#retryMs || RETRY_MS.first, RETRY_MS.most);
      if (this.#live !== null) this.#leave(this.#live);
      if (!this.#stop.signal.aborted) onState(error);
    }
  }

  /** Whether so much time has passed since then; of a clock that was set back nobody knows, and it counts as passed. */
  #hasPassed(ms: number, since: number): boolean {
    const passed = this.#options.clock.now() - since;
    return passed >= ms || passed < 0;
  }

  #connected(signal: AbortSignal): Promise<Live> {
    this.#stop.signal.throwIfAborted();
    if (this.#live !== null) return Promise.resolve(this.#live);
    const made = this.#connecting ??= this.#connect().finally(() => this.#connecting = null);
    // Others may wait for it as well: who does not any more leaves it to them.
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      if (signal.aborted) onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      made.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
    });
  }

  async #connect(): Promise<Live> {
    const { url, headers, clock } = this.#options;
    const { Client, ProtocolError, StreamableHTTPClientTransport } = await import(
      "@modelcontextprotocol/client"
    );
    const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers }, fetch: mcpFetch() });
    tellLostAnswers(transport);
    const client = new Client({ name: "selvage", version: "1" }, {
      versionNegotiation: { mode: "auto" },
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#isStale = true } },
    });
    const connect = (signal: AbortSignal): Promise<void> =>
      client.connect(transport, { signal, timeout: NO_TIMEOUT_MS });
    try {
      const done = await bounded((signal) => connect(signal()), {
        signal: this.#stop.signal,
        clock,
        timeoutMs: CONNECT_MS,
      });
      if (done.kind !== "done") throw new Error(`no answer in ${CONNECT_MS} ms`);
    } catch (error) {
      await client.close().catch(() => {});
      // A client that is not connected yet does not know of it.
      await transport.close().catch(() => {});
      throw error;
    }
    const isAnswer = (error: unknown): boolean => error instanceof ProtocolError;
    return this.#live = { client, transport, isAnswer, calls: 0 };
  }

  /** Leaves a connection that has failed; whoever needs one next makes another. Calls that go over it may end. */
  #leave(live: Live): void {
    if (live !== this.#live) return;
    this.#live = null;
    this.#isStale = true;
    if (live.calls === 0) void live.client.close().catch(() => {});
  }
}

/** Refuses a list that would make every turn fail: it costs its server's tools alone. */
function refuseLong(tools: readonly McpTool[]): void {
  if (tools.length > MAX_TOOLS) {
    throw new Error(`it lists ${tools.length} tools, wanted at most ${MAX_TOOLS}`);
  }
  const told = tools.map((
    { name, title, description, inputSchema },
  ) => [name, title, description, inputSchema]);
  const length = JSON.stringify(told).length;
  if (length > MAX_LIST) {
    throw new Error(`its list of tools has ${length} characters, wanted at most ${MAX_LIST}`);
  }
}

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown } | null)?.code;
}

/** The HTTP status that an error of a connection stands for; null for none. */
export function statusOf(error: unknown): number | null {
  const { status, data } = (error ?? {}) as { readonly status?: unknown; readonly data?: unknown };
  const found = status ?? (data as { readonly status?: unknown } | undefined)?.status;
  return typeof found === "number" ? found : null;
}

/**
 * Has a request fail whose stream has ended without its answer, as when its server has died: it would be waited for
 * in vain. For a request that has its answer, a second one is none.
 */
function tellLostAnswers(transport: StreamableHTTPClientTransport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const id = !Array.isArray(message) && "method" in message && "id" in message ? message.id : undefined;
    if (id === undefined) return send(message, options);
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      const error = { code: NO_ANSWER, message: "The server ended the connection before it answered" };
      transport.onmessage?.({ jsonrpc: "2.0", id, error });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
}
