/**
 * What is known of a turn by the events that were seen of it.
 *
 * @module
 */
import type { TurnEvent } from "../loop/events.ts";
import type { PendingCall } from "../loop/pause.ts";
import type { Usage } from "../ports.ts";
import { ClientError } from "./error.ts";

/** What a turn came to. */
export interface ClientTurnResult {
  /** Id of the turn. */
  readonly turn: string;
  /** Its session. */
  readonly session: string;
  /** Text of the last step. */
  readonly text: string;
  /** Why it ended; `paused` where calls wait for answers. */
  readonly reason: "paused" | "stop" | "length" | "content-filter" | "max-steps" | "aborted";
  /** Model calls. */
  readonly steps: number;
  /** Sums over them. */
  readonly usage: Usage;
  /** Calls that wait. */
  readonly pending: readonly PendingCall[];
}

/** The end of a turn, or a pause. */
type EndEvent = Extract<TurnEvent, { readonly type: "turn.finished" | "turn.paused" }>;

/** The events of a turn up to the last one that was seen. */
export class SeenTurn {
  /** Id of the turn; null before it is known. */
  id: string | null;
  /** The session; empty before `turn.started` was seen. */
  session = "";
  /** Id of the last event. */
  last: string | null;
  /** The end that was seen, or the pause; null again once the turn is known to go on. */
  end: EndEvent | null = null;
  #text = "";
  #error: Extract<TurnEvent, { readonly type: "error" }> | null = null;

  /** Makes it; of a turn that was started elsewhere id and last event are known. */
  constructor(
    { id = null, last = null }: { readonly id?: string | null; readonly last?: string | null } = {},
  ) {
    this.id = id;
    this.last = last;
  }

  /** The calls that wait, once `turn.paused` was seen. */
  get pending(): readonly PendingCall[] {
    return this.end?.type === "turn.paused" ? this.end.pending : [];
  }

  /** Takes note of the next event. */
  take(event: TurnEvent): void {
    if (event.id !== "") this.last = event.id;
    this.end = null;
    switch (event.type) {
      case "turn.started":
        this.session = event.session;
        break;
      case "step.started":
        this.#text = "";
        break;
      case "text.delta":
        this.#text += event.text;
        break;
      case "error":
        this.#error = event;
        break;
      case "turn.paused":
      case "turn.finished":
        this.end = event;
        break;
    }
  }

  /**
   * What the turn came to, where its end or a pause was seen.
   *
   * @throws ClientError where it ended with an error, or has not begun.
   */
  result(): ClientTurnResult {
    const { end, pending } = this;
    if (end === null) throw new ClientError("turn_aborted", "The turn was cancelled before it had begun");
    const { usage, steps } = end;
    const reason = end.type === "turn.paused" ? "paused" : end.reason;
    const place = { turn: this.id ?? "", session: this.session };
    if (reason === "error") {
      const { code, message, retryable } = this.#error ??
        { code: "internal", message: "The turn failed", retryable: false };
      throw new ClientError(code, message, { fields: { ...place, retryable, usage, steps } });
    }
    return { ...place, text: this.#text, reason, steps, usage, pending };
  }
}
