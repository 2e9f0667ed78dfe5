/**
 * An MCP server over streamable HTTP, made with the official SDK, that can be slow, die, come back and change its list.
 *
 * @module
 */
import {
  createMcpHandler,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "npm:@modelcontextprotocol/server@2.4.0";

type Fields = Readonly<Record<string, unknown>>;

/** A tool as it is listed, and what a call of it gives. */
export interface DoubleTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: { readonly type: "object" } & Fields;
  readonly outputSchema?: { readonly type: "object" } & Fields;
  readonly annotations?: Fields;
  readonly run: (
    input: Fields,
    call: { readonly signal: AbortSignal; readonly progress: (progress: Fields) => Promise<void> },
  ) => unknown;
}

/** How an {@link McpDouble} behaves. */
export interface McpDoubleOptions {
  /** Tools of a page. */
  readonly page?: number;
  /** `session`: the protocol of 2025, with sessions; `modern`: that of 2026, without. Default `session`. */
  readonly era?: "session" | "modern";
  /** In place of the answer to a request. */
  readonly intercept?: (request: Request) => Response | Promise<Response> | null;
}

/** The server. */
export class McpDouble implements AsyncDisposable {
  /** What it lists; set it and call {@link changed}. */
  tools: readonly DoubleTool[];
  /** Headers of each request, and methods of the messages that came. */
  readonly requests: { readonly headers: Headers; readonly methods: readonly string[] }[] = [];
  readonly #options: McpDoubleOptions;
  readonly #sessions = new Map<
    string,
    { server: Server; transport: WebStandardStreamableHTTPServerTransport }
  >();
  #modern: ReturnType<typeof createMcpHandler> | null = null;
  #http: Deno.HttpServer<Deno.NetAddr> | null = null;
  #port = 0;
  #dead = Promise.withResolvers<Response>();

  constructor(tools: readonly DoubleTool[], options: McpDoubleOptions = {}) {
    this.tools = tools;
    this.#options = options;
    this.start();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  /** Methods of all messages that came, in order. */
  get methods(): readonly string[] {
    return this.requests.flatMap(({ methods }) => methods);
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /** Comes (back) up, on the port that it had. */
  start(): void {
    this.#http = Deno.serve(
      {
        hostname: "127.0.0.1",
        port: this.#port,
        onListen: () => {},
        onError: () => new Response(null, { status: 500 }),
      },
      (request) => this.#handle(request),
    );
    this.#port = this.#http.addr.port;
  }

  /** Dies: all connections are cut, sessions are forgotten. */
  async die(): Promise<void> {
    const server = this.#http;
    this.#http = null;
    this.#dead.resolve(new Response(null, { status: 503 }));
    this.#dead = Promise.withResolvers();
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(sessions.map(({ transport }) => transport.close()));
    await this.#modern?.close();
    this.#modern = null;
    await server?.shutdown();
  }

  /** Tells all clients that the list has changed. */
  async changed(): Promise<void> {
    for (const { server } of this.#sessions.values()) await server.sendToolListChanged();
    this.#modern?.notify.toolsChanged();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.die();
  }

  async #handle(request: Request): Promise<Response> {
    const text = request.method === "POST" ? await request.clone().text() : "";
    const body = text === "" ? [] : [JSON.parse(text)].flat();
    this.requests.push({
      headers: request.headers,
      methods: text === "" ? [request.method] : body.map(({ method }) => String(method)),
    });
    const answered = await Promise.race([this.#options.intercept?.(request) ?? null, this.#dead.promise]);
    if (answered !== null) return answered;
    if (this.#options.era === "modern") {
      this.#modern ??= createMcpHandler(() => this.#make(), { legacy: "reject" });
      return await this.#modern.fetch(request);
    }
    const session = request.headers.get("mcp-session-id");
    const known = session === null ? undefined : this.#sessions.get(session);
    if (known !== undefined) return await known.transport.handleRequest(request);
    if (session !== null) return Response.json({ error: "no such session" }, { status: 404 });
    const server = this.#make();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id: string) => void this.#sessions.set(id, { server, transport }),
      onsessionclosed: (id: string) => void this.#sessions.delete(id),
    });
    await server.connect(transport);
    return await transport.handleRequest(request);
  }

  #make(): Server {
    const server = new Server({ name: "double", version: "1" }, {
      capabilities: { tools: { listChanged: true } },
    });
    server.setRequestHandler("tools/list", (request) => {
      const { page = this.tools.length } = this.#options;
      const from = Number(request.params?.cursor ?? 0);
      const tools = this.tools.slice(from, from + page).map(({ run: _, ...tool }) => ({
        inputSchema: { type: "object" as const },
        ...tool,
      }));
      const next = from + page < this.tools.length ? { nextCursor: String(from + page) } : {};
      return { tools, ...next } as never;
    });
    server.setRequestHandler("tools/call", async (request, context) => {
      const { name, arguments: input = {}, _meta: meta } = request.params;
      const tool = this.tools.find((tool) => tool.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      const progressToken = meta?.progressToken;
      const progress = async (progress: Fields): Promise<void> => {
        if (progressToken === undefined) return;
        await context.mcpReq.notify({
          method: "notifications/progress",
          params: { progressToken, progress: 0, ...progress },
        });
      };
      const made = await tool.run(input, { signal: context.mcpReq.signal, progress });
      return (typeof made === "string" ? { content: [{ type: "text", text: made }] } : made) as never;
    });
    return server;
  }
}
