/**
 * How often a property is tried, and from which seed its cases are drawn.
 *
 * The same tree is judged by the same cases: what one case in many thousands refutes would otherwise refuse a change
 * that has nothing to do with it. New cases are looked for where that is asked for (`deno task test:explore`):
 *
 * - `SELVAGE_FUZZ=N`: N times as many runs, from a seed that is drawn and printed.
 * - `SELVAGE_SEED=SEED` draws from that seed again, `SELVAGE_SEED=SEED:PATH` the one case that fast-check named.
 *
 * @module
 */

/** What of fast-check's parameters is not a property's own to say. */
export interface Runs {
  readonly numRuns: number;
  readonly seed: number;
  readonly path?: string;
  readonly endOnFailure: boolean;
}

/** The seed of a gate. */
const SEED = 20_261_202;

/** How many times as many runs there are to be. */
function fuzzOf(text: string): number {
  const fuzz = Number(text);
  if (fuzz > 0 && fuzz < Infinity) return fuzz;
  throw new RangeError(`Cannot multiply the runs: found SELVAGE_FUZZ=${text}, wanted a number above 0`);
}

function seedOf(text: string): Pick<Runs, "seed" | "path"> {
  const [, seed, path] = text.match(/^(-?\d{1,10})(?::(\d+(?::\d+)*))?$/) ?? [];
  if (seed !== undefined) return { seed: Number(seed), ...(path === undefined ? {} : { path }) };
  throw new RangeError(`Cannot repeat a seed: found SELVAGE_SEED=${text}, wanted SEED or SEED:PATH`);
}

/** Makes `runs()` of what an environment asks for; a `RangeError` where that is no number. */
export function runsOf(env: Pick<Deno.Env, "get">): typeof runs {
  const [fuzz, seed] = [env.get("SELVAGE_FUZZ"), env.get("SELVAGE_SEED")];
  const times = fuzz === undefined ? 1 : fuzzOf(fuzz);
  const drawn = fuzz === undefined ? SEED : Math.floor(Math.random() * 2 ** 31);
  const from = seed === undefined ? { seed: drawn } : seedOf(seed);
  const isAsked = fuzz !== undefined || seed !== undefined;
  return (count = 100, { isSlow = false } = {}) => ({
    ...from,
    numRuns: Math.ceil(count * times),
    endOnFailure: isSlow && !isAsked,
  });
}

const ofProcess = runsOf(Deno.env);
if (Deno.env.has("SELVAGE_FUZZ")) console.log(`Properties are drawn from SELVAGE_SEED=${ofProcess().seed}`);

/**
 * The parameters for `fc.assert`, `fc.check` and `fc.sample`.
 *
 * @param count Runs of a gate. Default 100.
 * @param options `isSlow`: to shrink a counterexample takes minutes, and is left to those who ask for runs or a seed.
 */
export function runs(count?: number, options?: { readonly isSlow?: boolean }): Runs {
  return ofProcess(count, options);
}
