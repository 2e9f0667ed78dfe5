/**
 * Errors in the form of OpenAI's services: `{ error: { message, type, param, code } }`, as their clients read it.
 *
 * @module
 */
import { clipDetail, isRetryable, type Problem, type Refuse, statusOf } from "./problem.ts";

/** What the body of an error says. */
export interface OpenAIError {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** Codes that clients know by another name, with the status that goes with it there. */
const KNOWN: Readonly<Record<string, { readonly code: string; readonly status?: number }>> = {
  unauthorized: { code: "invalid_api_key" },
  unknown_agent: { code: "model_not_found", status: 404 },
  input_too_large: { code: "context_length_exceeded", status: 400 },
  context_exhausted: { code: "context_length_exceeded", status: 400 },
  context_length_exceeded: { code: "context_length_exceeded", status: 400 },
  model_rate_limited: { code: "rate_limit_exceeded", status: 429 },
};

/** Fields of ours that the caller knows by another name. */
const PARAMS: Readonly<Record<string, string>> = { clientTools: "tools", instructions: "messages" };

/** The status of a problem, as clients of OpenAI expect it. */
function openaiStatus(problem: Problem): number {
  return KNOWN[problem.code]?.status ?? statusOf(problem);
}

function typeOf(status: number): string {
  if (status >= 500) return "server_error";
  return status === 429 ? "rate_limit_error" : "invalid_request_error";
}

/** A problem as OpenAI's services tell it. */
export function openaiError(problem: Problem): OpenAIError {
  const { code, detail, fields } = problem;
  const field = code === "unknown_agent" ? "model" : fields?.["field"];
  return {
    message: clipDetail(detail),
    type: typeOf(openaiStatus(problem)),
    param: typeof field === "string" ? PARAMS[field] ?? field : null,
    code: KNOWN[code]?.code ?? code,
  };
}

/**
 * Makes the response to a problem. Clients try 409 and all from 500 on again by themselves; where that cannot help
 * they are told so.
 */
export const refuseOpenAI: Refuse = (problem, headers) => {
  const status = openaiStatus(problem);
  const isHopeless = (status === 409 || status >= 500) && !isRetryable(problem);
  return new Response(JSON.stringify({ error: openaiError(problem) }), {
    status,
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      ...(isHopeless ? { "x-should-retry": "false" } : {}),
      ...headers,
    },
  });
};
