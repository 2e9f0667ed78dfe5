/**
 * A strict stand-in for the Gemini service, on loopback: `streamGenerateContent` and `generateContent`. It takes what
 * the real one takes, refuses and records what the real one refuses, and answers from a script.
 */
import { type Script, type ScriptedReply, scriptedTokens } from "../../src/models/scripted.ts";
import {
  type AnyDouble,
  breakAnswer,
  serveDouble,
  statusResponse,
  type StreamFault,
  words,
} from "./double_server.ts";
import { decodeRequest } from "./gemini_wire_request.ts";
import { findRefusal, kindOf } from "./gemini_wire_rules.ts";
import { isJson, type Json } from "./wire_json.ts";

/** Settings of {@link startGeminiDouble}. */
export interface GeminiDoubleOptions {
  /** Decides on each reply from nothing but the request. */
  readonly script: Script;
  /** Tokens of a request; default 1,048,576. */
  readonly window?: number;
  /** The most tokens that a request may ask for; default 65,536. */
  readonly maxOutput?: number;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Looks at each request, numbered from 1, and may break its answer. */
  readonly faults?: (number: number, body: Json) => StreamFault | undefined;
  /** The key that requests must carry; any will do by default. */
  readonly token?: string;
  /** A model that signs what it thinks, and takes no call back without its signature. */
  readonly signs?: boolean;
}

const BROKEN = {
  garbage: 'data: {"candidates":[{',
  error: `data: ${
    JSON.stringify(wireError({ code: 500, message: "An internal error has occurred.", status: "INTERNAL" }))
  }`,
};

/** Starts the double. It listens when this returns. Its base URL goes up to `/v1beta`. */
export function startGeminiDouble(options: GeminiDoubleOptions): AnyDouble {
  const { script, window = 1_048_576, maxOutput = 65_536, signs = false, token } = options;
  const requests: Json[] = [];
  const violations: string[] = [];
  const issued = new Map<string, string>();

  function refuse(message: string): Response {
    violations.push(message);
    return errorResponse({ code: 400, message, status: "INVALID_ARGUMENT" });
  }

  function findTooLong(body: Json): string | null {
    const tokens = promptTokens(body);
    if (tokens <= window) return null;
    return `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${window}).`;
  }

  /** Signs what is to be sent, and remembers it. */
  function issue(reply: ScriptedReply, number: number): readonly Json[] {
    const parts = partsOf(reply, number);
    if (!signs) return parts;
    // The first call, or else the last part.
    const call = parts.findIndex(({ functionCall }) => functionCall !== undefined);
    const place = call < 0 ? parts.length - 1 : call;
    return parts.map((part, index) => {
      if (index !== place) return part;
      const thoughtSignature = `sig/${number}==`;
      issued.set(thoughtSignature, kindOf(part));
      return { ...part, thoughtSignature };
    });
  }

  async function answer(request: Request, isStream: boolean): Promise<Response> {
    const body: unknown = await request.json().catch(() => undefined);
    if (isJson(body)) requests.push(body);
    const number = requests.length;
    const refusal = findRefusal(body, { maxOutput, signs, issued }) ??
      (isJson(body) ? findTooLong(body) : null);
    const fault = isJson(body) ? options.faults?.(number, body) : undefined;
    const refused = refusal === null ? undefined : refuse(refusal);
    const broken = statusResponse(fault, wireError({ code: 500, message: "fault", status: "INTERNAL" }));
    if (broken !== undefined) return broken;
    if (refused !== undefined || !isJson(body)) return refused ?? refuse("no body");
    let reply: ScriptedReply;
    try {
      reply = script(decodeRequest(body));
    } catch (error) {
      violations.push(`The script threw: ${error}`);
      return errorResponse({ code: 500, message: "An internal error has occurred.", status: "INTERNAL" });
    }
    const parts = issue(reply, number);
    const usageMetadata = usageOf(body, reply);
    const head = { modelVersion: "double", responseId: `resp_${number}` };
    if (!isStream) {
      const candidate = { content: { parts, role: "model" }, finishReason: "STOP", index: 0 };
      return Response.json({ candidates: [candidate], usageMetadata, ...head });
    }
    const frames = streamParts(parts).map((part, index, all) => {
      const isLast = index === all.length - 1;
      const candidate = {
        content: { parts: [part], role: "model" },
        ...(isLast ? { finishReason: "STOP" } : {}),
        index: 0,
      };
      return `data: ${JSON.stringify({ candidates: [candidate], usageMetadata, ...head })}`;
    });
    return server.stream(breakAnswer(frames, fault, BROKEN));
  }

  function handle(request: Request): Response | Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const key = request.headers.get("x-goog-api-key") ?? searchParams.get("key");
    if (key === null) {
      violations.push("no API key");
      const message =
        "Method doesn't allow unregistered callers. Please use API Key or other form of identity.";
      return errorResponse({ code: 403, message, status: "PERMISSION_DENIED" });
    }
    if (token !== undefined && key !== token) {
      return errorResponse({ code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT" });
    }
    const action = /^\/v1beta\/models\/[^/:]+:(streamGenerateContent|generateContent)$/.exec(pathname)?.[1];
    if (request.method !== "POST" || action === undefined) {
      return errorResponse({ code: 404, message: "Requested entity was not found.", status: "NOT_FOUND" });
    }
    const isStream = action === "streamGenerateContent";
    // Without it the service sends one JSON list, which no client here reads.
    if (isStream && searchParams.get("alt") !== "sse") return refuse("wanted alt=sse");
    return answer(request, isStream);
  }

  const server = serveDouble(handle, {
    port: options.port,
    contentType: "text/event-stream",
    frameEnd: "\r\n\r\n",
  });
  return {
    url: `${server.origin}/v1beta`,
    requests,
    violations,
    get open() {
      return server.open;
    },
    untilLeft: server.untilLeft,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Tokens of a request: everything that the model reads, four bytes each. */
function promptTokens({ contents, systemInstruction, tools }: Json): number {
  return scriptedTokens([systemInstruction ?? "", contents, tools ?? []]);
}

function wireError(
  error: { readonly code: number; readonly message: string; readonly status: string },
): Json {
  return { error };
}

function errorResponse(error: Parameters<typeof wireError>[0]): Response {
  return Response.json(wireError(error), { status: error.code });
}

/** The parts of a reply; calls come whole. An answer without anything is one empty text. */
function partsOf({ calls = [], reasoning = "", text = "" }: ScriptedReply, number: number): readonly Json[] {
  const parts: Json[] = [
    ...(reasoning === "" ? [] : [{ text: reasoning, thought: true }]),
    ...(text === "" ? [] : [{ text }]),
    ...calls.map(({ input, name }, index) => ({
      functionCall: { name, args: input ?? {}, id: `call_${number}_${index}` },
    })),
  ];
  return parts.length > 0 ? parts : [{ text: "" }];
}

/** Parts as they are streamed: texts word by word, a signature on the last one. */
function streamParts(parts: readonly Json[]): readonly Json[] {
  return parts.flatMap(({ text, thoughtSignature, ...rest }) => {
    const signed = thoughtSignature === undefined ? {} : { thoughtSignature };
    if (typeof text !== "string" || text === "") {
      return [{ ...(text === "" ? { text } : {}), ...rest, ...signed }];
    }
    const pieces = words(text);
    return pieces.map((piece, index) => ({
      text: piece,
      ...rest,
      ...(index === pieces.length - 1 ? signed : {}),
    }));
  });
}

function usageOf(body: Json, { calls = [], reasoning = "", text = "" }: ScriptedReply): Json {
  const promptTokenCount = promptTokens(body);
  const candidatesTokenCount = scriptedTokens([text, calls]);
  const thoughtsTokenCount = reasoning === "" ? 0 : scriptedTokens(reasoning);
  return {
    promptTokenCount,
    candidatesTokenCount,
    ...(thoughtsTokenCount === 0 ? {} : { thoughtsTokenCount }),
    totalTokenCount: promptTokenCount + candidatesTokenCount + thoughtsTokenCount,
  };
}
