/**
 * The loops that are followed at present, by the names of their prefixes.
 *
 * @module
 */
import type { LiveLoop } from "./live_loop.ts";

/** Loops at the most; the one that took its last step longest ago goes first. */
const MAX_LOOPS = 256;

/** A loop, and the messages that stand for it. */
export interface KnownLoop {
  readonly loop: LiveLoop;
  /** How many messages of the history it knows. */
  readonly messages: number;
  /** Whether these are its whole history, or what it was shown as. */
  readonly isWhole: boolean;
}

/** Loops by the names under which they go on. */
export class LiveLoops {
  readonly #byName = new Map<string, KnownLoop>();
  readonly #names = new Map<LiveLoop, readonly string[]>();

  /**
   * Takes the loop of which a history is the continuation. It is nobody else's until it is kept again: two loops may
   * begin alike.
   *
   * @param names The names of all prefixes of the history.
   * @returns The loop that knows most of it, null where none knows any.
   */
  take(names: readonly string[]): KnownLoop | null {
    const name = names.findLast((found) => this.#byName.has(found));
    const found = name === undefined ? undefined : this.#byName.get(name);
    if (found === undefined) return null;
    this.#forget(found.loop);
    return found;
  }

  /**
   * Keeps a loop until it takes its next step.
   *
   * @param loop The loop.
   * @param forms Names of the prefixes of each form in which its messages may come again.
   */
  keep(
    loop: LiveLoop,
    forms: readonly { readonly names: readonly string[]; readonly isWhole: boolean }[],
  ): void {
    const own: string[] = [];
    for (const { names, isWhole } of forms) {
      const [name] = names.slice(-1);
      if (name === undefined) continue;
      const before = this.#byName.get(name)?.loop;
      if (before !== undefined && before !== loop) this.#forget(before);
      if (before !== loop) this.#byName.set(name, { loop, messages: names.length, isWhole });
      own.push(name);
    }
    this.#names.set(loop, own);
    const [oldest] = this.#names.keys();
    if (this.#names.size > MAX_LOOPS && oldest !== undefined) this.#forget(oldest);
  }

  /** The loop whose last step was shown exactly these messages. */
  find(names: readonly string[]): LiveLoop | null {
    const [name = ""] = names.slice(-1);
    return this.#byName.get(name)?.loop ?? null;
  }

  #forget(loop: LiveLoop): void {
    for (const name of this.#names.get(loop) ?? []) {
      if (this.#byName.get(name)?.loop === loop) this.#byName.delete(name);
    }
    this.#names.delete(loop);
  }
}
