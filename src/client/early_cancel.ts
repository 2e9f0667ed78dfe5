/**
 * The cancel of a turn whose name is not known yet: by the key of its start.
 *
 * @module
 */
import type { Transport } from "./transport.ts";

/** What a cancel by key has come to. */
export interface EarlyCancelled {
  /** The turn; null for one that has not begun, and does not any more. */
  readonly turn: string | null;
  /** Whether it ended by that. */
  readonly cancelled: boolean;
}

/** Ends a turn by its key, and tells those who wait for its events. */
export class EarlyCancel {
  readonly #never = new AbortController();
  #named: Promise<string | null> = Promise.resolve(null);

  /** Aborts once it is certain that the turn does not begin. */
  get never(): AbortSignal {
    return this.#never.signal;
  }

  /** The turn, once the cancel that is under way has found it; null for none. Rejects where that fails. */
  get named(): Promise<string | null> {
    return this.#named;
  }

  /** Asks for the end of the turn. Throws like `Transport.json()`. */
  async ask(transport: Transport, key: string): Promise<EarlyCancelled> {
    const asked = transport.json<EarlyCancelled>("/v1/turns/cancel", {
      method: "POST",
      headers: { "idempotency-key": key },
    });
    this.#named = asked.then(({ turn }) => turn);
    // Who asked is told; nobody may be reading.
    this.#named.catch(() => {});
    const found = await asked;
    if (found.turn === null) this.#never.abort(new DOMException("The turn was cancelled", "AbortError"));
    return found;
  }
}
