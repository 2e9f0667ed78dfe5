/**
 * Errors as chat clients of the AI SDK read them.
 *
 * @module
 */
import { clipDetail, type Problem, type Refuse, statusOf } from "./problem.ts";

/** They show the text of a refusal to people as it is. */
export const refuseChat: Refuse = (problem: Problem, headers) =>
  new Response(clipDetail(problem.detail), {
    status: statusOf(problem),
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", ...headers },
  });
