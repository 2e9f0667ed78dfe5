/**
 * Progress of tools that are generators: what one yields is told while it works, what it returns is its output.
 *
 * @module
 */
import { breathe } from "./breath.ts";
import { isDeeperThan, MAX_DEPTH } from "./depth.ts";

/** Pieces of progress that are told of one call, and characters of the JSON of each. More is left out. */
export const PROGRESS_BOUNDS = { pieces: 1_000, chars: 8_192 } as const;

/** Values in a row after which the rest of the service has its turn: a generator may wait for nothing, and never end. */
const BREATHE_EVERY = 100;

/** Whether a tool has answered with a generator. */
export function isGenerator(made: unknown): made is AsyncGenerator<unknown, unknown> {
  return typeof made === "object" && made !== null && Symbol.asyncIterator in made && "next" in made &&
    "return" in made;
}

/**
 * Runs a generator to its end.
 *
 * @param made What the tool gave.
 * @param options `signal`: once aborted, the generator is told to return, and nothing more is told of it; `onProgress`:
 *   gets each piece of progress as JSON has it.
 * @returns What it returned.
 * @throws What it throws, and a TypeError where it yields nothing that JSON can say.
 */
export async function lastOf(
  made: AsyncGenerator<unknown, unknown>,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (data: unknown) => void },
): Promise<unknown> {
  const onAbort = (): void => void leave(made);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (let told = 0;; told++) {
      const { done, value } = await made.next();
      if (done === true) return value;
      const data = progressOf(value);
      if (!signal.aborted && told < PROGRESS_BOUNDS.pieces) onProgress(data);
      if (told % BREATHE_EVERY === BREATHE_EVERY - 1) await breathe();
    }
  } catch (error) {
    onAbort();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Tells a generator to return. An iterator by hand may throw at once, or give what is no promise; out of the listener
 * of an abort that would end the process.
 */
async function leave(made: AsyncGenerator<unknown, unknown>): Promise<void> {
  try {
    await made.return(undefined);
  } catch {
    // What it does after its time is up is its own affair.
  }
}

function progressOf(value: unknown): unknown {
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw new TypeError(`found progress nested more than ${MAX_DEPTH} levels deep, wanted less`);
  }
  const text = JSON.stringify(value ?? null);
  if (text === undefined) throw new TypeError(`found progress that is a ${typeof value}, wanted JSON`);
  const { chars } = PROGRESS_BOUNDS;
  return text.length <= chars ? JSON.parse(text) : `${text.slice(0, chars - 1).toWellFormed()}…`;
}
