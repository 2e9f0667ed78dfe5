/**
 * Stores that fail: what a client is told of it, and what the operator.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";

const CODE = "store_unavailable";

/**
 * The error for a store that could not do what it was asked for: its disk is full, or its database out of reach.
 *
 * @param cause What it has failed with; it goes into the log, and never to a client.
 */
export function storeFault(cause: unknown): SelvageError {
  return new SelvageError(CODE, "Cannot use the store: found it failing, wanted an answer; try again later", {
    cause,
    fields: { retryable: true },
  });
}

/** Whether an error says that the store has failed. */
export function isStoreFault(error: unknown): error is SelvageError {
  return error instanceof SelvageError && error.code === CODE;
}

/** Whether an error is a fault of the service, whose reason its operator finds nowhere but in the log. */
export function isFault(error: unknown): boolean {
  return !(error instanceof SelvageError) || isStoreFault(error);
}
