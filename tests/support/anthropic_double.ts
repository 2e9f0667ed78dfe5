/**
 * A strict stand-in for the Messages service, on loopback. It takes what the real one takes, refuses and records
 * what the real one refuses, and answers from a script. Run as a program it serves a small script of its own on
 * `SELVAGE_DOUBLE_PORT`. Longer than most files: faults, frames and the server know each other.
 */
import type { ModelRequest } from "../../src/ports.ts";
import { type ScriptedReply, scriptedTokens } from "../../src/models/scripted.ts";
import {
  bare,
  decodeRequest,
  findUnbound,
  isJson,
  isThought,
  type Json,
  type Memory,
  pieces,
  thoughtKey,
} from "./anthropic_wire_request.ts";
import { dropsBlocks, findRefusal, isServerBlock, serverKey } from "./anthropic_wire_rules.ts";

/** What goes wrong with one request. A number counts frames sent before it does. */
export type Fault =
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  /** The socket is closed in the middle of the body. */
  | { readonly cutAfter: number }
  /** A frame that is no JSON, then the end. */
  | { readonly garbageAfter: number }
  /** Silence, until the client leaves or the double is disposed of. */
  | { readonly hangAfter: number }
  /** An `error` event, of type `api_error` by default, then the end. */
  | { readonly errorFrameAfter: number; readonly type?: string }
  /** The whole answer without `message_stop`. */
  | { readonly noDone: true };

/** What a script answers: the parts of a reply, or blocks of its own. */
export interface MessagesReply extends ScriptedReply {
  /** In place of reasoning, text and calls: blocks as the wire has them. The double signs thinking itself. */
  readonly blocks?: readonly Json[];
  /** By default `tool_use` where there are calls, else `end_turn`. */
  readonly stopReason?: string;
}

/** Decides on the next reply from nothing but the request. */
export type MessagesScript = (request: ModelRequest) => MessagesReply;

/** Settings of {@link startAnthropicDouble}. */
export interface AnthropicDoubleOptions {
  /** Decides on each reply from nothing but the request. */
  readonly script: MessagesScript;
  /** Tokens of request and answer together; default 200,000. */
  readonly window?: number;
  /** The most tokens that a request may ask for; default 64,000. */
  readonly maxOutput?: number;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Looks at each request, numbered from 1, and may break its answer. */
  readonly faults?: (number: number, body: Json) => Fault | undefined;
  /** The key that requests must carry; any will do by default. */
  readonly token?: string;
  /** A model that thinks unless told otherwise, and binds its thinking to what stands before it. */
  readonly bound?: boolean;
}

/** A running double. */
export interface AnthropicDouble extends AsyncDisposable {
  /** Base URL, without a version. */
  readonly url: string;
  /** Bodies of all requests, refused ones included. */
  readonly requests: readonly Json[];
  /** What was refused and the real service would refuse as well. */
  readonly violations: readonly string[];
  /** Requests of which thinking was left out because what stands before it has changed. */
  readonly dropped: number;
  /** Answers being streamed. */
  readonly open: number;
  /** Resolves once `count` clients in all have left before the end of their answer. */
  untilLeft(count: number): Promise<void>;
}

/** One answer on its way, in frames without their ending. */
interface Answer {
  readonly frames: readonly string[];
  readonly end: "close" | "cut" | "hang";
}

const encoder = new TextEncoder();

// Frames a write: a real network delivers them now one by one, now in a burst.
const BURSTS = [1, 1, 3, 1, 2];

/** Blocks before a mark among which the service looks for the end of an earlier one. */
const LOOKBACK = 20;

/** Starts the double. It listens when this returns. */
export function startAnthropicDouble(options: AnthropicDoubleOptions): AnthropicDouble {
  const { script, window = 200_000, maxOutput = 64_000, token, bound = false } = options;
  const requests: Json[] = [];
  const violations: string[] = [];
  const memory: Memory = { thoughts: new Map(), blocks: new Map(), paused: new Set() };
  const cached = new Set<string>();
  const streams = new Set<() => void>();
  let dropped = 0;
  let left = 0;
  let leaving = Promise.withResolvers<void>();

  function refuse(message: string): Response {
    violations.push(message);
    return errorResponse(400, { type: "invalid_request_error", message });
  }

  function findTooLong(body: Json): string | null {
    const prompt = promptTokens(body);
    const limit = Number(body.max_tokens);
    if (prompt > window) return `prompt is too long: ${prompt} tokens > ${window} maximum`;
    if (prompt + limit <= window) return null;
    return `input length and \`max_tokens\` exceed context limit: ${prompt} + ${limit} > ${window}, decrease input ` +
      "length or `max_tokens` and try again";
  }

  /** What the request costs, by what an earlier one has left in the cache. */
  function bill(body: Json): Json {
    const all = pieces(body);
    const marks = all.flatMap(({ isMarked }, index) => isMarked ? [index] : []);
    const seen =
      marks.toReversed().flatMap((mark) =>
        all.slice(Math.max(0, mark - LOOKBACK), mark + 1).findLast(({ key }) => cached.has(key)) ?? []
      )[0];
    const tokens = (bytes: number): number => Math.ceil(bytes / 4);
    const read = tokens(seen?.bytes ?? 0);
    const written = Math.max(0, tokens(all[marks.at(-1) ?? -1]?.bytes ?? 0) - read);
    for (const mark of marks) cached.add(all[mark]?.key ?? "");
    return {
      input_tokens: promptTokens(body) - read - written,
      cache_creation_input_tokens: written,
      cache_read_input_tokens: read,
    };
  }

  /** Signs what is to be sent, and remembers it. */
  function issue(body: Json, reply: MessagesReply, number: number): readonly Json[] {
    const thinks = bound || isJson(body.thinking) && body.thinking.type !== "disabled";
    const blocks = (reply.blocks ?? blocksOf(reply, number, thinks)).map((block, index) => {
      if (block.type === "thinking") return { ...block, signature: `sig/${number}+${index}==` };
      return block.type === "redacted_thinking" ? { ...block, data: `red/${number}+${index}==` } : block;
    });
    const asked = pieces(body).length;
    const messages = [...body.messages as Json[], { role: "assistant", content: blocks }];
    const said = pieces({ ...body, messages }).slice(asked);
    const count = blocks.filter(isThought).length;
    let place = 0;
    for (const { block, before } of said) {
      if (isThought(block)) {
        const thought = { json: bare(block), answer: number, place: place++, count, prefix: before };
        memory.thoughts.set(thoughtKey(block), thought);
      } else if (isServerBlock(block)) memory.blocks.set(serverKey(block), bare(block));
    }
    const last = blocks.at(-1);
    if (reply.stopReason === "pause_turn" && last !== undefined) memory.paused.add(bare(last));
    return blocks;
  }

  async function answer(request: Request): Promise<Response> {
    const body: unknown = await request.json().catch(() => undefined);
    if (isJson(body)) requests.push(body);
    const number = requests.length;
    const betas = (request.headers.get("anthropic-beta") ?? "").split(/\s*,\s*/);
    const refusal = findRefusal(body, memory, { maxOutput, betas, isBound: bound }) ??
      (isJson(body) ? findTooLong(body) : null);
    const fault = isJson(body) ? options.faults?.(number, body) : undefined;
    const refused = refusal === null ? undefined : refuse(refusal);
    if (fault !== undefined && "status" in fault) {
      const text = typeof fault.body === "string"
        ? fault.body
        : JSON.stringify(fault.body ?? wireError({ type: "api_error", message: "fault" }));
      return new Response(text, { status: fault.status, headers: fault.headers ?? {} });
    }
    if (refused !== undefined || !isJson(body)) return refused ?? refuse("no body");
    if (bound && dropsBlocks(body) && findUnbound(body, memory) !== null) dropped++;
    let reply: MessagesReply;
    try {
      reply = script(decodeRequest(body));
    } catch (error) {
      violations.push(`The script threw: ${error}`);
      return errorResponse(500, { type: "api_error", message: "Internal server error" });
    }
    const message = {
      id: `msg_${number}`,
      type: "message",
      role: "assistant",
      model: body.model,
      content: issue(body, reply, number),
      stop_reason: stopReason(reply),
      stop_sequence: null,
      usage: { ...bill(body), output_tokens: outputTokens(reply) },
    };
    if (body.stream !== true) return Response.json(message);
    return streamResponse(breakAnswer(streamFrames(message), fault));
  }

  function streamResponse({ frames, end }: Answer): Response {
    let at = 0;
    let burst = 0;
    let endHang = (): void => {};
    let finish = (): void => {};
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        finish = () => {
          if (!streams.delete(finish)) return;
          controller.close();
          endHang();
        };
        streams.add(finish);
      },
      pull(controller) {
        const size = BURSTS[burst++ % BURSTS.length] ?? 1;
        const part = frames.slice(at, at + size);
        at += part.length;
        if (part.length > 0) controller.enqueue(encoder.encode(part.map((frame) => `${frame}\n\n`).join("")));
        if (part.length > 0 && (at < frames.length || end !== "close")) return;
        if (end === "hang") return new Promise((resolve) => endHang = resolve);
        if (end === "close") return finish();
        streams.delete(finish);
        // Deno.serve prints this and resets the connection.
        controller.error("double: the answer is cut here, as the test asked for");
      },
      cancel() {
        streams.delete(finish);
        endHang();
        left++;
        leaving.resolve();
        leaving = Promise.withResolvers();
      },
    }, { highWaterMark: 0 });
    return new Response(stream, {
      headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
    });
  }

  function handle(request: Request): Response | Promise<Response> {
    const { headers, method, url } = request;
    const { pathname } = new URL(url);
    const key = headers.get("x-api-key") ?? headers.get("authorization")?.replace(/^Bearer /, "");
    if (key === undefined) {
      violations.push("x-api-key header is required");
      return errorResponse(401, { type: "authentication_error", message: "x-api-key header is required" });
    }
    if (token !== undefined && key !== token) {
      return errorResponse(401, { type: "authentication_error", message: "invalid x-api-key" });
    }
    if (!/^\d{4}-\d\d-\d\d$/.test(headers.get("anthropic-version") ?? "")) {
      return refuse("anthropic-version: header is required");
    }
    if (method === "POST" && pathname === "/v1/messages") return answer(request);
    return errorResponse(404, { type: "not_found_error", message: "Not found" });
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port: options.port ?? 0, onListen() {} }, handle);
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requests,
    violations,
    get dropped() {
      return dropped;
    },
    get open() {
      return streams.size;
    },
    async untilLeft(count) {
      while (left < count) await leaving.promise;
    },
    async [Symbol.asyncDispose]() {
      for (const finish of [...streams]) finish();
      await server.shutdown();
    },
  };
}

/** Tokens of a request: everything that the model reads, four bytes each. */
export function promptTokens(body: Json): number {
  return Math.ceil((pieces(body).at(-1)?.bytes ?? 0) / 4);
}

function outputTokens({ blocks, calls, reasoning, text }: MessagesReply): number {
  return scriptedTokens(blocks ?? [reasoning ?? "", text ?? "", calls ?? []]);
}

function wireError(error: { readonly type: string; readonly message: string }): Json {
  return { type: "error", error, request_id: "req_double" };
}

function errorResponse(status: number, error: { readonly type: string; readonly message: string }): Response {
  return Response.json(wireError(error), { status });
}

function blocksOf({ calls = [], reasoning, text }: ScriptedReply, number: number, thinks: boolean): Json[] {
  return [
    ...(thinks && reasoning !== undefined ? [{ type: "thinking", thinking: reasoning }] : []),
    ...(text === undefined || text === "" ? [] : [{ type: "text", text }]),
    ...calls.map(({ input, name }, index) => ({
      type: "tool_use",
      id: `toolu_${number}_${index}`,
      name,
      input: input ?? {},
    })),
  ];
}

function stopReason({ blocks = [], calls = [], stopReason }: MessagesReply): string {
  const hasCalls = calls.length > 0 || blocks.some(({ type }) => type === "tool_use");
  return stopReason ?? (hasCalls ? "tool_use" : "end_turn");
}

function frame(data: Json): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}`;
}

function streamFrames(message: Json): readonly string[] {
  const { content, stop_reason, stop_sequence, usage } = message;
  const start = {
    ...message,
    content: [],
    stop_reason: null,
    usage: { ...usage as Json, output_tokens: 1 },
  };
  return [
    frame({ type: "message_start", message: start }),
    frame({ type: "ping" }),
    ...(content as readonly Json[]).flatMap((block, index) => blockFrames(block, index)),
    frame({ type: "message_delta", delta: { stop_reason, stop_sequence }, usage }),
    frame({ type: "message_stop" }),
  ];
}

function blockFrames(block: Json, index: number): readonly string[] {
  const [start, deltas] = opened(block);
  return [
    frame({ type: "content_block_start", index, content_block: start }),
    ...deltas.map((delta) => frame({ type: "content_block_delta", index, delta })),
    frame({ type: "content_block_stop", index }),
  ];
}

/** A block as it is started, and the deltas that make the rest of it. */
function opened(block: Json): readonly [start: Json, deltas: readonly Json[]] {
  switch (block.type) {
    case "text": {
      const { citations, ...start } = block;
      const deltas = words(String(block.text)).map((text) => ({ type: "text_delta", text }));
      const cited = Array.isArray(citations) ? citations : [];
      const notes = cited.map((citation) => ({ type: "citations_delta", citation }));
      return [{ ...start, text: "" }, [...deltas, ...notes]];
    }
    case "thinking": {
      const deltas = words(String(block.thinking)).map((thinking) => ({ type: "thinking_delta", thinking }));
      const signature = { type: "signature_delta", signature: block.signature };
      return [{ ...block, thinking: "", signature: "" }, [...deltas, signature]];
    }
    case "tool_use":
    case "server_tool_use": {
      // As the service does it: an empty piece first; arguments that are empty come in no piece at all.
      const text = JSON.stringify(block.input);
      const texts = text === "{}" ? [""] : ["", ...shreds(text)];
      return [
        { ...block, input: {} },
        texts.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      ];
    }
    default:
      return [block, []];
  }
}

function words(text: string): readonly string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/** At least three pieces of at most 16 characters, cut between characters. */
function shreds(text: string): readonly string[] {
  const characters = [...text];
  const count = Math.max(3, Math.ceil(characters.length / 16));
  const size = Math.ceil(characters.length / count);
  return Array.from(
    { length: count },
    (_, index) => characters.slice(index * size, (index + 1) * size).join(""),
  );
}

function breakAnswer(frames: readonly string[], fault: Fault | undefined): Answer {
  if (fault === undefined || "status" in fault) return { frames, end: "close" };
  if ("noDone" in fault) return { frames: frames.slice(0, -1), end: "close" };
  if ("cutAfter" in fault) return { frames: frames.slice(0, fault.cutAfter), end: "cut" };
  if ("hangAfter" in fault) return { frames: frames.slice(0, fault.hangAfter), end: "hang" };
  if ("garbageAfter" in fault) {
    const garbage = 'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{';
    return { frames: [...frames.slice(0, fault.garbageAfter), garbage], end: "close" };
  }
  const error = frame(wireError({ type: fault.type ?? "api_error", message: "Overloaded" }));
  return { frames: [...frames.slice(0, fault.errorFrameAfter), error], end: "close" };
}

function countMessages({ messages }: ModelRequest): ScriptedReply {
  return { text: `You sent ${messages.length} messages.` };
}

if (import.meta.main) {
  const port = Number(Deno.env.get("SELVAGE_DOUBLE_PORT") ?? 0);
  console.log(`Listening on ${startAnthropicDouble({ script: countMessages, port }).url}`);
}
