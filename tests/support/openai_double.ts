/**
 * A strict stand-in for the Chat Completions service, on loopback. It takes what the real one takes, refuses and
 * records what the real one refuses, and answers from a script.
 */
import { type Script, type ScriptedReply, scriptedTokens } from "../../src/models/scripted.ts";
import {
  type AnyDouble,
  breakAnswer,
  serveDouble,
  shreds,
  statusResponse,
  type StreamFault,
  words,
} from "./double_server.ts";
import { decodeRequest } from "./openai_wire_request.ts";
import { findRefusal, type Refusal, type WireRules } from "./openai_wire_rules.ts";
import { isJson, type Json } from "./wire_json.ts";

/** What goes wrong with one request; the error in the stream is a frame `{"error":{…}}`. */
export type Fault = StreamFault;

/** Settings of {@link startDouble}. */
export interface DoubleOptions extends WireRules {
  /** Decides on each reply from nothing but the request. */
  readonly script: Script;
  /** Tokens of request and answer together; default 128,000. */
  readonly window?: number;
  /** The most tokens that a request may ask for; no limit by default. */
  readonly maxOutput?: number;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Looks at each request, numbered from 1, and may break its answer. */
  readonly faults?: (number: number, body: Json) => Fault | undefined;
  /** The bearer token that requests must carry; none by default. */
  readonly token?: string;
}

/** A running double; its base URL goes up to `/v1`. */
export type Double = AnyDouble;

const BROKEN = {
  garbage: 'data: {"choices":[{',
  error: `data: ${
    JSON.stringify({
      error: {
        message: "The server had an error while processing your request.",
        type: "server_error",
        code: null,
      },
    })
  }`,
};

/** Starts the double. It listens when this returns. */
export function startDouble(options: DoubleOptions): Double {
  const { script, window = 128_000, token } = options;
  const requests: Json[] = [];
  const violations: string[] = [];
  function refuse(refusal: Refusal): Response {
    violations.push(refusal.message);
    return errorResponse(400, refusal.message, refusal);
  }

  function findTooLong(body: Json): Refusal | null {
    const limit = Number(body.max_completion_tokens ?? body.max_tokens ?? 0);
    if (options.maxOutput !== undefined && limit > options.maxOutput) {
      const message =
        `max_tokens is too large: ${limit}. This model supports at most ${options.maxOutput} tokens.`;
      return { message, code: "invalid_value", param: "max_tokens" };
    }
    const prompt = promptTokens(body);
    if (prompt + limit <= window) return null;
    return {
      message:
        `This model's maximum context length is ${window} tokens. However, you requested ${prompt + limit} ` +
        `tokens (${prompt} in the messages, ${limit} in the completion). Please reduce the length of the messages ` +
        "or completion.",
      code: "context_length_exceeded",
      param: "messages",
    };
  }

  async function complete(request: Request): Promise<Response> {
    const text = await request.text().catch(() => null);
    // Whoever asked has died in the middle of it.
    if (text === null) return errorResponse(400, "The request body was cut off.");
    const body = parsed(text);
    if (isJson(body)) requests.push(body);
    const number = requests.length;
    const refusal = findRefusal(body, options) ?? (isJson(body) ? findTooLong(body) : null);
    const fault = isJson(body) ? options.faults?.(number, body) : undefined;
    const refused = refusal === null ? undefined : refuse(refusal);
    const broken = statusResponse(fault, wireError("fault"));
    if (broken !== undefined) return broken;
    if (refused !== undefined || !isJson(body)) return refused ?? errorResponse(400, "no body");
    const limit = body.max_completion_tokens ?? body.max_tokens ?? options.maxOutput;
    let reply: ScriptedReply;
    try {
      reply = script(decodeRequest(body, Number(limit ?? 4_096)));
    } catch (error) {
      violations.push(`The script threw: ${error}`);
      return errorResponse(500, "The server had an error while processing your request.");
    }
    if (body.stream !== true) return Response.json(completion(body, reply, number));
    return server.stream(breakAnswer(streamFrames(body, reply, number), fault, BROKEN));
  }

  function handle(request: Request): Response | Promise<Response> {
    const { pathname } = new URL(request.url);
    if (token !== undefined && request.headers.get("authorization") !== `Bearer ${token}`) {
      return errorResponse(401, "Incorrect API key provided.", { code: "invalid_api_key", param: null });
    }
    if (request.method === "GET" && pathname === "/v1/models") {
      const model = { id: "double", object: "model", created: 0, owned_by: "selvage" };
      return Response.json({ object: "list", data: [model] });
    }
    if (request.method === "POST" && pathname === "/v1/chat/completions") return complete(request);
    return errorResponse(404, `Invalid URL (${request.method} ${pathname})`);
  }

  const server = serveDouble(handle, { port: options.port, contentType: "text/event-stream" });
  return {
    url: `${server.origin}/v1`,
    requests,
    violations,
    get open() {
      return server.open;
    },
    untilLeft: server.untilLeft,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Tokens of a small picture, which is billed by its size, and never by its base64. */
const PICTURE_TOKENS = 255;

function promptTokens(body: Json): number {
  let pictures = 0;
  const read = JSON.stringify(body.messages, (_, value) => {
    if (typeof value !== "string" || !value.startsWith("data:image/")) return value;
    pictures++;
    return "";
  });
  return scriptedTokens([JSON.parse(read), body.tools ?? []]) + pictures * PICTURE_TOKENS;
}

function wireError(
  message: string,
  detail?: { readonly code: string | null; readonly param: string | null },
): Json {
  return { error: { message, type: "invalid_request_error", param: null, code: null, ...detail } };
}

function errorResponse(
  status: number,
  message: string,
  detail?: { readonly code: string | null; readonly param: string | null },
): Response {
  const { code = null, param = null } = detail ?? {};
  return Response.json(wireError(message, { code, param }), { status });
}

function toolCalls(
  reply: ScriptedReply,
  number: number,
): readonly { id: string; name: string; text: string }[] {
  return (reply.calls ?? []).map(({ name, input }, index) => ({
    id: `call_${number}_${index}`,
    name,
    text: JSON.stringify(input) ?? "{}",
  }));
}

function finishReason(reply: ScriptedReply): string {
  return (reply.calls ?? []).length > 0 ? "tool_calls" : "stop";
}

function usageOf(body: Json, reply: ScriptedReply): Json {
  const prompt = promptTokens(body);
  const answer = scriptedTokens([reply.reasoning ?? "", reply.text ?? "", reply.calls ?? []]);
  return {
    prompt_tokens: prompt,
    completion_tokens: answer,
    total_tokens: prompt + answer,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: scriptedTokens(reply.reasoning ?? "") },
  };
}

function completion(body: Json, reply: ScriptedReply, number: number): Json {
  const calls = toolCalls(reply, number);
  const message = {
    role: "assistant",
    content: reply.text ?? null,
    ...(calls.length === 0 ? {} : {
      tool_calls: calls.map(({ id, name, text }) => ({
        id,
        type: "function",
        function: { name, arguments: text },
      })),
    }),
  };
  return {
    id: `chatcmpl-${number}`,
    object: "chat.completion",
    created: 0,
    model: body.model,
    choices: [{ index: 0, message, finish_reason: finishReason(reply) }],
    usage: usageOf(body, reply),
  };
}

function streamFrames(body: Json, reply: ScriptedReply, number: number): string[] {
  const asksUsage = isJson(body.stream_options) && body.stream_options.include_usage === true;
  const head = { id: `chatcmpl-${number}`, object: "chat.completion.chunk", created: 0, model: body.model };
  const frames: string[] = [];
  const push = (choices: readonly unknown[], usage: unknown = null): void => {
    frames.push(`data: ${JSON.stringify({ ...head, choices, ...(asksUsage ? { usage } : {}) })}`);
  };
  const delta = (fields: Json, finish_reason: string | null = null): void => {
    push([{ index: 0, delta: fields, logprobs: null, finish_reason }]);
  };
  delta({ role: "assistant", content: reply.calls === undefined || reply.text !== undefined ? "" : null });
  for (const reasoning_content of words(reply.reasoning)) delta({ reasoning_content });
  for (const content of words(reply.text)) delta({ content });
  for (const [index, { id, name, text }] of toolCalls(reply, number).entries()) {
    delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    for (const piece of shreds(text)) delta({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  delta({}, finishReason(reply));
  if (asksUsage) push([], usageOf(body, reply));
  frames.push("data: [DONE]");
  return frames;
}
