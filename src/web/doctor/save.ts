/**
 * Handing a file to whoever looks at the page.
 *
 * @module
 */
/// <reference lib="dom" />
import type { Written } from "./protocol.ts";

/** Milliseconds after which a browser has surely begun to save. */
const BEGUN_MS = 30_000;

/** Saves a file under its name. */
export function save({ name, blob }: Written): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), BEGUN_MS);
}
