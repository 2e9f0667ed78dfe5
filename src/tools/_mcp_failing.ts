/**
 * Why the tools of an MCP server cannot be had: its callers may fail each for a reason of their own, and one that has
 * none, in between two that have, is no news of them.
 *
 * @module
 */
import type { Clock } from "../ports.ts";

/** Callers that are known to fail: of more, those that were heard of last. */
const MAX_FAILING = 1_000;

/** Milliseconds after which a caller is forgotten of whom nothing was heard: how it would go for him nobody knows. */
const SILENT_MS = 600_000;

/**
 * Tells each reason once, when the first caller has it, and once that it is over, when the last has it no more: a server
 * that is down is one line, and not one for each of its users.
 */
export class Failing {
  readonly #clock: Clock;
  readonly #say: (line: string) => void;
  /** By caller; the one that was heard of last stands last. */
  readonly #failing = new Map<string, { readonly reason: string; readonly at: number }>();

  /** `say` gets the lines. */
  constructor({ clock, say }: { readonly clock: Clock; readonly say: (line: string) => void }) {
    this.#clock = clock;
    this.#say = say;
  }

  /** Notes how it went for a caller; `reason` is null where it went well. */
  tell(caller: string, reason: string | null): void {
    const now = this.#clock.now();
    const before = this.#failing.get(caller)?.reason ?? null;
    this.#failing.delete(caller);
    for (const [silent, { at }] of this.#failing) {
      if (at >= now - SILENT_MS && this.#failing.size < MAX_FAILING) break;
      this.#failing.delete(silent);
    }
    const isNew = reason !== null && reason !== before && !this.#isHeld(reason);
    if (reason !== null) this.#failing.set(caller, { reason, at: now });
    if (isNew) this.#say(`${reason}; turns go on without it until it answers`);
    if (before === null || this.#isHeld(before)) return;
    if (this.#failing.size === 0) this.#say("answers again");
    // What one reason has turned into is told by the other.
    else if (!isNew) this.#say(`no longer so: ${before}; it still fails for another reason`);
  }

  #isHeld(reason: string): boolean {
    for (const held of this.#failing.values()) if (held.reason === reason) return true;
    return false;
  }
}
