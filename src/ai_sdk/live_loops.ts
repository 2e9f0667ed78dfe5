/**
 * The loops that are followed at present, by the names of their prefixes.
 *
 * @module
 */
import type { LiveLoop } from "./live_loop.ts";

/** Loops at the most; the one that took its last step longest ago goes first. */
const MAX_LOOPS = 256;

/** Loops by the names under which they go on. */
export class LiveLoops {
  /** The loop, and the messages that stand for it. */
  readonly #byName = new Map<string, { readonly loop: LiveLoop; readonly messages: number }>();
  readonly #names = new Map<LiveLoop, readonly string[]>();

  /**
   * Takes the loop of which a history is the continuation. It is nobody else's until it is kept again: two loops may
   * begin alike.
   *
   * @param names The names of all prefixes of the history.
   * @returns The loop, and how many of the messages it knows in one form or another.
   */
  take(names: readonly string[]): { readonly loop: LiveLoop; readonly messages: number } | null {
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
   * @param chains Names of the prefixes of each form in which its messages may come again.
   */
  keep(loop: LiveLoop, chains: readonly (readonly string[])[]): void {
    const names = chains.flatMap((chain) => chain.slice(-1));
    for (const chain of chains) {
      const [name] = chain.slice(-1);
      if (name === undefined) continue;
      const before = this.#byName.get(name);
      if (before !== undefined && before.loop !== loop) this.#forget(before.loop);
      this.#byName.set(name, { loop, messages: chain.length });
    }
    this.#names.set(loop, names);
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
