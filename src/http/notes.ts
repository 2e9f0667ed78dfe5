/**
 * What is noted of a request while it is served, by those who serve it for those who tell of it.
 *
 * @module
 */
import type { Owner } from "../ports.ts";

/** Notes of one request. */
export interface RequestNotes {
  /** The id of the request. */
  id?: string;
  /** The turn that it has started or found. */
  turn?: string;
  /** The session of that turn. */
  session?: string;
  /** Headers that its response is to have. */
  headers?: Readonly<Record<string, string>>;
}

/** The notes of all requests under way. They are found by the principal, an object of the request alone. */
export class Notes {
  readonly #notes = new WeakMap<Owner, RequestNotes>();

  /** The notes of a request, to be read and written. */
  of(principal: Owner): RequestNotes {
    const found = this.#notes.get(principal) ?? {};
    this.#notes.set(principal, found);
    return found;
  }
}
