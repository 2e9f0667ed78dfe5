/**
 * Usage: what providers report, in one form. Their totals differ in what they include; here is the only place
 * that knows.
 *
 * @module
 */
import type { Usage } from "../core/usage.ts";

type Numbers = Readonly<Record<string, unknown>>;

function numberAt(value: unknown, ...path: readonly string[]): number | null {
  let found = value;
  for (const key of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return null;
    found = (found as Numbers)[key];
  }
  return typeof found === "number" && Number.isFinite(found) && found >= 0 ? found : null;
}

function usage(input: number | null, output: number | null, cached: number | null): Usage | undefined {
  // A bill without input is none: some servers send zeros, or only the answer's side.
  if (input === null || input === 0) return undefined;
  return {
    inputTokens: input,
    outputTokens: output ?? 0,
    ...(cached === null ? {} : { cachedTokens: cached }),
  };
}

/** OpenAI Chat Completions and Responses: the input total already includes what came from a cache. */
export function openaiUsage(raw: unknown): Usage | undefined {
  return usage(
    numberAt(raw, "prompt_tokens") ?? numberAt(raw, "input_tokens"),
    numberAt(raw, "completion_tokens") ?? numberAt(raw, "output_tokens"),
    numberAt(raw, "prompt_tokens_details", "cached_tokens") ??
      numberAt(raw, "input_tokens_details", "cached_tokens") ?? numberAt(raw, "prompt_cache_hit_tokens"),
  );
}

/** Anthropic: `input_tokens` leaves out what was read from a cache or written to it; both are added. */
export function anthropicUsage(raw: unknown): Usage | undefined {
  const input = numberAt(raw, "input_tokens");
  const read = numberAt(raw, "cache_read_input_tokens");
  const written = numberAt(raw, "cache_creation_input_tokens");
  if (input === null && read === null && written === null) return undefined;
  return usage((input ?? 0) + (read ?? 0) + (written ?? 0), numberAt(raw, "output_tokens"), read);
}

/** Gemini: the prompt total includes what came from a cache; thoughts are counted beside the candidates. */
export function geminiUsage(raw: unknown): Usage | undefined {
  const prompt = numberAt(raw, "promptTokenCount");
  const tools = numberAt(raw, "toolUsePromptTokenCount");
  const output = (numberAt(raw, "candidatesTokenCount") ?? 0) + (numberAt(raw, "thoughtsTokenCount") ?? 0);
  return usage(
    prompt === null ? null : prompt + (tools ?? 0),
    output,
    numberAt(raw, "cachedContentTokenCount"),
  );
}

/** No call has more tokens, however many requests a provider makes of it: the largest windows have millions. */
const MOST_TOKENS = 1e9;

/**
 * What was reported, as a bill in whole tokens: gateways that weigh tokens by their price bill parts of one, each of
 * which is counted as one. Undefined where it can be no bill, of no size that a call can have: that is not stored, added
 * to nothing, and ends no turn.
 *
 * @param found What was reported.
 */
export function billOf(found: Usage | undefined): Usage | undefined {
  if (found === undefined) return undefined;
  const { inputTokens, outputTokens, cachedTokens } = found;
  const canBe = [inputTokens, outputTokens, cachedTokens ?? 0].every((tokens) =>
    Number.isFinite(tokens) && tokens >= 0 && tokens <= MOST_TOKENS
  );
  if (!canBe) return undefined;
  return {
    ...found,
    inputTokens: Math.ceil(inputTokens),
    outputTokens: Math.ceil(outputTokens),
    ...(cachedTokens === undefined ? {} : { cachedTokens: Math.ceil(cachedTokens) }),
  };
}

/** No text of any size has fewer tokens than a sixteenth of its bytes, but for runs of one character. */
const LEAST_SHARE = 1 / 16;

/**
 * Says whether a bill can be that of the request it came with. One that cannot is worse than none: too high it
 * ends a session that has room, too low it lets the context pass the window.
 *
 * @param bill What was billed.
 * @param limits Upper bound on the tokens of all that was sent and answered; the model's limits.
 */
export function isPlausible(
  bill: Usage | undefined,
  { bound, window, maxOutput }: {
    readonly bound: number;
    readonly window: number;
    readonly maxOutput: number;
  },
): bill is Usage {
  if (bill === undefined) return false;
  const total = bill.inputTokens + bill.outputTokens;
  return bill.outputTokens <= maxOutput && total <= window && total >= bound * LEAST_SHARE;
}

/**
 * Merges what a stream reports piece by piece, field by field: the last value that is a number wins. Streams
 * repeat totals, they never send parts of a sum.
 *
 * @param before What was reported so far.
 * @param now What was just reported.
 */
export function mergeUsage(before: Numbers, now: unknown): Numbers {
  if (typeof now !== "object" || now === null) return before;
  // Details lie one level down; what a provider nests deeper would be walked for nothing.
  const details = Object.entries(now).filter(([, value]) => typeof value === "object" && value !== null)
    .map(([key, value]) => [key, { ...(before[key] as object | undefined), ...numbersIn(value) }] as const);
  return { ...before, ...numbersIn(now), ...Object.fromEntries(details) };
}

function numbersIn(found: object): Numbers {
  return Object.fromEntries(Object.entries(found).filter(([, value]) => typeof value === "number"));
}
