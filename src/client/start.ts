/**
 * The start of a turn: asked for again under the same key it is the same turn.
 *
 * @module
 */
import { type ClientTurnRequest, turnBodyOf } from "./asked.ts";
import type { Transport } from "./transport.ts";

/** What a stream of events is asked for with. */
export const STREAM = { accept: "text/event-stream" } as const;

/** Which turn: one that is to be started, or one that there is. */
export type TurnStart =
  | { readonly request: ClientTurnRequest }
  | {
    readonly turn: string;
    readonly after?: string;
    readonly request: Pick<ClientTurnRequest, "tools" | "approve" | "signal">;
  };

/** Whether a turn is known to go on without a connection; one that was started elsewhere may end. */
export function goesOnAlone(start: TurnStart): boolean {
  return !("turn" in start) && start.request.onDisconnect !== "abort";
}

/** A start: what is asked for, and its key. */
export interface Start {
  readonly request: ClientTurnRequest;
  readonly key: string;
}

/** Asks for a start, once; gives the stream of the turn. Throws like `Transport.ask()`. */
export async function askForTurn(
  transport: Transport,
  { request, key, signal }: Start & { readonly signal?: AbortSignal },
): Promise<Response> {
  return await transport.ask("/v1/turns", {
    method: "POST",
    body: turnBodyOf(request),
    headers: { ...STREAM, "idempotency-key": key },
    signal,
  });
}
