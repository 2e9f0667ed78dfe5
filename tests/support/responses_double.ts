/**
 * A strict stand-in for the Responses service, on loopback. It takes what the real one takes, refuses and records what
 * the real one refuses, and answers from a script.
 */
import { type ScriptedReply, scriptedTokens } from "../../src/models/scripted.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { type AnyDouble, breakAnswer, serveDouble, statusResponse } from "./double_server.ts";
import { brokenBy, type Fault, streamFrames } from "./responses_stream.ts";
import { decodeRequest } from "./responses_wire_request.ts";
import type { Issued } from "./responses_wire_order.ts";
import { findRefusal, type Refusal } from "./responses_wire_rules.ts";
import { isJson, type Json } from "./wire_json.ts";

/** What a script answers: the parts of a reply, or items of its own. */
export interface ResponsesReply extends ScriptedReply {
  /** In place of reasoning, text and calls: output items without ids. The double seals reasoning itself. */
  readonly items?: readonly Json[];
  /** Why the answer is not whole. */
  readonly incomplete?: "max_output_tokens" | "content_filter";
}

/** Decides on the next reply from nothing but the request. */
export type ResponsesScript = (request: ModelRequest) => ResponsesReply;

/** Settings of {@link startResponsesDouble}. */
export interface ResponsesDoubleOptions {
  /** Decides on each reply from nothing but the request. */
  readonly script: ResponsesScript;
  /** Tokens of request and answer together; default 128,000. */
  readonly window?: number;
  /** The most tokens that a request may ask for; default 64,000. */
  readonly maxOutput?: number;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Looks at each request, numbered from 1, and may break its answer. */
  readonly faults?: (number: number, body: Json) => Fault | undefined;
  /** The bearer token that requests must carry; none by default. */
  readonly token?: string;
  /** Whether the model reasons. Default true. */
  readonly reasons?: boolean;
  /** Tells in the stream, not by the status, that a request is too long: the real service does both. */
  readonly lateTooLong?: boolean;
}

/** A running double; its base URL goes up to `/v1`. */
export interface ResponsesDouble extends AnyDouble {
  /** Makes all that was sealed before unreadable, as a change of keys does. */
  forget(): void;
}

const PREFIXES: Readonly<Record<string, string>> = {
  message: "msg",
  reasoning: "rs",
  function_call: "fc",
  web_search_call: "ws",
  mcp_list_tools: "mcpl",
  mcp_call: "mcp",
};

/** Starts the double. It listens when this returns. */
export function startResponsesDouble(options: ResponsesDoubleOptions): ResponsesDouble {
  const { script, window = 128_000, maxOutput = 64_000, reasons = true, token } = options;
  const requests: Json[] = [];
  const violations: string[] = [];
  const issued = new Map<string, Issued>();
  function refuse(refusal: Refusal): Response {
    violations.push(refusal.message);
    return errorResponse(refusal);
  }

  function findTooLong(body: Json): Refusal | null {
    if (promptTokens(body) + Number(body.max_output_tokens ?? 0) <= window) return null;
    return {
      status: 400,
      message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
      code: "context_length_exceeded",
      param: "input",
    };
  }

  /** Gives items their ids, seals reasoning, and remembers both. */
  function issue(body: Json, reply: ResponsesReply, number: number): readonly Json[] {
    const isSealed = Array.isArray(body.include) && body.include.includes("reasoning.encrypted_content");
    const output = itemsOf(reply, { number, reasons }).map((item, index): Json => {
      const id = `${PREFIXES[String(item.type)] ?? "it"}_${number}_${index}`;
      const whole = { id, ...item };
      return item.type === "reasoning" && isSealed
        ? { ...whole, encrypted_content: `ENC/${number}+${index}==` }
        : whole;
    });
    for (const [index, item] of output.entries()) {
      const before = output[index - 1];
      issued.set(String(item.id), {
        json: JSON.stringify(item),
        before: before?.type === "reasoning" ? String(before.id) : null,
        next: output[index + 1] === undefined ? null : String(output[index + 1]?.id),
      });
    }
    return output;
  }

  async function answer(request: Request): Promise<Response> {
    const body: unknown = await request.json().catch(() => undefined);
    if (isJson(body)) requests.push(body);
    const number = requests.length;
    const refusal = findRefusal(body, { issued, maxOutput, reasons });
    const long = refusal === null && isJson(body) ? findTooLong(body) : null;
    const fault = isJson(body) ? options.faults?.(number, body) : undefined;
    const refused = refusal ?? (options.lateTooLong === true ? null : long);
    const response = refused === null ? undefined : refuse(refused);
    const broken = statusResponse(fault, wireError({ message: "fault", code: null, param: null }));
    if (broken !== undefined) return broken;
    if (response !== undefined || !isJson(body)) return response ?? new Response(null, { status: 400 });
    if (long !== null) {
      violations.push(long.message);
      const { message } = long;
      const fault = { errorFrameAfter: 2, code: "context_length_exceeded", message };
      return server.stream(breakAnswer(streamFrames(shell(body, number), []), fault, brokenBy(fault)));
    }
    let reply: ResponsesReply;
    try {
      reply = script(decodeRequest(body));
    } catch (error) {
      violations.push(`The script threw: ${error}`);
      const message = "The server had an error while processing your request. Sorry about that!";
      return Response.json({ error: { message, type: "server_error", param: null, code: null } }, {
        status: 500,
      });
    }
    const whole: Json = {
      ...shell(body, number),
      status: reply.incomplete === undefined ? "completed" : "incomplete",
      incomplete_details: reply.incomplete === undefined ? null : { reason: reply.incomplete },
      output: issue(body, reply, number),
      usage: usageOf(body, reply),
    };
    if (body.stream !== true) return Response.json(whole);
    const frames = streamFrames(whole, whole.output as readonly Json[]);
    return server.stream(breakAnswer(frames, fault, brokenBy(fault)));
  }

  function handle(request: Request): Response | Promise<Response> {
    const { pathname } = new URL(request.url);
    if (token !== undefined && request.headers.get("authorization") !== `Bearer ${token}`) {
      const message = "Incorrect API key provided.";
      return errorResponse({ status: 401, message, code: "invalid_api_key", param: null });
    }
    if (request.method === "POST" && pathname === "/v1/responses") return answer(request);
    return errorResponse({
      status: 404,
      message: `Invalid URL (${request.method} ${pathname})`,
      code: null,
      param: null,
    });
  }

  const server = serveDouble(handle, { port: options.port });
  return {
    url: `${server.origin}/v1`,
    requests,
    violations,
    get open() {
      return server.open;
    },
    untilLeft: server.untilLeft,
    forget() {
      issued.clear();
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Tokens of a request: everything that the model reads, four bytes each. */
export function promptTokens({ input, instructions, tools }: Json): number {
  return scriptedTokens([instructions ?? "", input, tools ?? []]);
}

function wireError({ code, message, param }: Omit<Refusal, "status">): Json {
  return { error: { message, type: "invalid_request_error", param, code } };
}

function errorResponse({ status, ...error }: Refusal): Response {
  return Response.json(wireError(error), { status });
}

function itemsOf(
  { calls = [], items, reasoning, text }: ResponsesReply,
  { number, reasons }: { readonly number: number; readonly reasons: boolean },
): readonly Json[] {
  if (items !== undefined) return items;
  return [
    ...(reasons && reasoning !== undefined
      ? [{ type: "reasoning", summary: reasoning === "" ? [] : [{ type: "summary_text", text: reasoning }] }]
      : []),
    ...(text === undefined || text === "" ? [] : [{
      type: "message",
      status: "completed",
      content: [{ type: "output_text", annotations: [], logprobs: [], text }],
      role: "assistant",
    }]),
    ...calls.map(({ input, name }, index) => ({
      type: "function_call",
      status: "completed",
      arguments: JSON.stringify(input) ?? "{}",
      call_id: `call_${number}_${index}`,
      name,
    })),
  ];
}

/** A response as it is begun. */
function shell(body: Json, number: number): Json {
  return {
    id: `resp_${number}`,
    object: "response",
    created_at: 0,
    status: "in_progress",
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: body.model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: body.store ?? true,
    tool_choice: "auto",
    tools: body.tools ?? [],
    usage: null,
  };
}

function usageOf(body: Json, { calls = [], items, reasoning = "", text = "" }: ResponsesReply): Json {
  const input = promptTokens(body);
  const output = scriptedTokens(items ?? [reasoning, text, calls]);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: scriptedTokens(reasoning) },
    total_tokens: input + output,
  };
}
