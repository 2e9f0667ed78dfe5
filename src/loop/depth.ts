/**
 * Nesting: what is nested too deeply overflows the stack of whoever writes it as JSON later.
 *
 * @module
 */

/** Levels of nesting that arguments and outputs may have. */
export const MAX_DEPTH = 500;

/**
 * Says whether a JSON value is nested more deeply than a number of levels. Needs no stack of its own.
 *
 * @param value A value without cycles.
 * @param levels 0 for a scalar, 1 for a flat object or list.
 */
export function isDeeperThan(value: unknown, levels: number): boolean {
  // Each value once a level: what is shared many times over must not multiply.
  let row = new Set<unknown>([value]);
  for (let level = 0; row.size > 0; level++) {
    const inner = new Set<unknown>();
    for (const item of row) {
      if (typeof item !== "object" || item === null) continue;
      if (level >= levels) return true;
      for (const child of Object.values(item)) inner.add(child);
    }
    row = inner;
  }
  return false;
}
