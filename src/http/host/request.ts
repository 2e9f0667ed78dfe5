/**
 * What the host of turns is asked for, and what it gives.
 *
 * @module
 */
import type { AnswerRequest, TurnRequest } from "../../loop/agent.ts";
import type { OnDisconnect, Owner } from "../../ports.ts";
import type { IdempotencyKey } from "../idempotency.ts";
import type { Following } from "../registry.ts";

/** Whose request it is, and what it is to be told by again. */
export interface HostRequest {
  /** The principal of the request, the object itself: what is noted of the request is found by it. */
  readonly owner: Owner;
  /** Aborts when the client has gone before the response began. */
  readonly clientSignal: AbortSignal;
  /** Makes a second request with the same key the same one. */
  readonly idempotency?: IdempotencyKey;
}

/** What a turn is started with. */
export interface StartRequest extends
  HostRequest,
  Pick<
    TurnRequest,
    | "pin"
    | "instructions"
    | "settings"
    | "fork"
    | "history"
    | "client"
    | "compaction"
    | "begin"
    | "clientTools"
    | "onPaused"
    | "whenBusy"
  > {
  /** Null where `prepare` leaves a turn in the session that goes on. */
  readonly input: TurnRequest["input"] | null;
  /** Puts into the session what the turn is to find there; not called for a turn that was started before. */
  readonly prepare?: (place: { readonly turn: string; readonly session: string }) => Promise<void>;
  readonly agentName: string;
  /** Default: a new session. */
  readonly session?: string;
  readonly onDisconnect: OnDisconnect;
}

/** Answers to calls of a paused turn. */
export interface HostAnswer
  extends HostRequest, Pick<AnswerRequest, "turn" | "results" | "approvals" | "input" | "client"> {}

/** What somebody says to a turn that runs. */
export interface HostMessage extends HostRequest {
  readonly turn: string;
  readonly input: TurnRequest["input"];
}

/** A turn that was started, or found by its idempotency key. */
export interface StartedTurn extends Following {
  readonly turn: string;
  readonly session: string;
  /** Name of the agent and id of its model, where the events do not begin with the turn. */
  readonly agent?: string;
  readonly model?: string;
  /** Whether an earlier request had started it. */
  readonly isReplay: boolean;
}
