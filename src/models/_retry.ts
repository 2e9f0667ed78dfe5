/** When a refused or failed request is sent again, and after how long. Private to the adapters. */
import { SelvageError } from "../core/errors.ts";

/** The longest wait before one retry, in milliseconds. */
export const MAX_RETRY_DELAY_MS = 30_000;

const RETRIED = new Set(["model_rate_limited", "model_unavailable", "model_unreachable"]);

/** Says whether the same request may succeed a moment later, and nothing of an answer can have been seen. */
export function isRetried(error: unknown): error is SelvageError {
  return error instanceof SelvageError && RETRIED.has(error.code) && error.fields.retryable === true;
}

/**
 * Milliseconds to wait before the retry number `attempt` (from 0).
 *
 * What the provider asked for comes first, with a little added so that clients do not come back together; else
 * half a second, doubled each time, of which a random half is taken off.
 */
export function retryDelay(error: SelvageError, attempt: number): number {
  const asked = error.fields.retryAfterMs;
  const wait = typeof asked === "number"
    ? asked + Math.random() * 250
    : 500 * 2 ** attempt * (0.5 + Math.random() / 2);
  return Math.min(MAX_RETRY_DELAY_MS, wait);
}

/**
 * Reads a `retry-after` header.
 *
 * @param value Seconds or an HTTP date; null where there is none.
 * @param now Milliseconds since the epoch.
 * @returns Milliseconds from now on, undefined where nothing readable is given.
 */
export function parseRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  const text = value.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1_000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
