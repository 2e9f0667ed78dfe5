/**
 * A strict stand-in for the Messages service, on loopback. It takes what the real one takes, refuses and records
 * what the real one refuses, and answers from a script.
 */
import type { ModelRequest } from "../../src/ports.ts";
import { type ScriptedReply, scriptedTokens } from "../../src/models/scripted.ts";
import {
  bare,
  decodeRequest,
  findUnbound,
  isThought,
  type Memory,
  pieces,
  thoughtKey,
} from "./anthropic_wire_request.ts";
import { type AnyDouble, breakAnswer, serveDouble, statusResponse } from "./double_server.ts";
import { brokenBy, type Fault, streamFrames, wireError } from "./anthropic_stream.ts";
import { dropsBlocks, findRefusal } from "./anthropic_wire_rules.ts";
import { isServerBlock, serverKey } from "./anthropic_wire_turns.ts";
import { isJson, type Json } from "./wire_json.ts";

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

/** A running double; its base URL has no version. */
export interface AnthropicDouble extends AnyDouble {
  /** Requests of which thinking was left out because what stands before it has changed. */
  readonly dropped: number;
}

/** Blocks before a mark among which the service looks for the end of an earlier one. */
const LOOKBACK = 20;

/** Starts the double. It listens when this returns. */
export function startAnthropicDouble(options: AnthropicDoubleOptions): AnthropicDouble {
  const { script, window = 200_000, maxOutput = 64_000, token, bound = false } = options;
  const requests: Json[] = [];
  const violations: string[] = [];
  const memory: Memory = { thoughts: new Map(), blocks: new Map(), paused: new Set() };
  const cached = new Set<string>();
  let dropped = 0;

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
    const broken = statusResponse(fault, wireError({ type: "api_error", message: "fault" }));
    if (broken !== undefined) return broken;
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
    return server.stream(breakAnswer(streamFrames(message), fault, brokenBy(fault)));
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

  const server = serveDouble(handle, { port: options.port });
  return {
    url: server.origin,
    requests,
    violations,
    get dropped() {
      return dropped;
    },
    get open() {
      return server.open;
    },
    untilLeft: server.untilLeft,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Tokens of a request: everything that the model reads, four bytes each. */
export function promptTokens(body: Json): number {
  return Math.ceil((pieces(body).at(-1)?.bytes ?? 0) / 4);
}

function outputTokens({ blocks, calls, reasoning, text }: MessagesReply): number {
  return scriptedTokens(blocks ?? [reasoning ?? "", text ?? "", calls ?? []]);
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
