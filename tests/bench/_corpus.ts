/** The corpus of real transcripts beside the project: read from there, never copied. */
import type { Json } from "../support/wire_json.ts";

/** The two formats that every transcript of the corpus comes in. */
export type CorpusFormat = "openai-chat" | "anthropic";

/** One transcript in one format. */
export interface CorpusTranscript {
  readonly name: string;
  readonly format: CorpusFormat;
  /** Ids as the provider gave them: they may repeat. */
  readonly raw: boolean;
  readonly messages: readonly Json[];
}

/** Where the corpus is looked for: beside the root of the project. */
export const CORPUS = new URL("../../../shared/corpus/", import.meta.url);

/** Whether the corpus is there. */
export function hasCorpus(): boolean {
  try {
    return Deno.statSync(new URL("index.json", CORPUS)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Ids without the suffix that made the provider's repeated ones unique. */
function withRawIds(line: string): string {
  return line.replace(/("(?:id|tool_call_id|tool_use_id)": ?"[^"]*?)_r\d+"/g, '$1"');
}

/**
 * Reads the corpus: every transcript in both formats, and once more with its raw ids where these differ.
 *
 * @param names Names to read; all, by default.
 */
export function readCorpus(names?: readonly string[]): readonly CorpusTranscript[] {
  const index: readonly { readonly name: string }[] = JSON.parse(
    Deno.readTextFileSync(new URL("index.json", CORPUS)),
  );
  return index.filter(({ name }) => names === undefined || names.includes(name)).flatMap(({ name }) =>
    (["openai-chat", "anthropic"] as const).flatMap((format): CorpusTranscript[] => {
      const file = `${name}.${format === "openai-chat" ? "openai" : "anthropic"}.jsonl`;
      const lines = Deno.readTextFileSync(new URL(file, CORPUS)).split("\n").filter((line) => line !== "");
      const parse = (raw: boolean): CorpusTranscript => ({
        name,
        format,
        raw,
        messages: lines.map((line) => JSON.parse(raw ? withRawIds(line) : line)),
      });
      const differs = lines.some((line) => withRawIds(line) !== line);
      return differs ? [parse(false), parse(true)] : [parse(false)];
    })
  );
}

/** Longer texts are only remembered while learning: whole ledgers and shortened results are never seen twice. */
const SHORT = 2_000;

/**
 * Wraps a counter so that no text of the corpus, and no line of a ledger, is counted twice.
 *
 * @param count Counts the tokens of a text.
 */
export function remember(count: (text: string) => number): {
  readonly measure: (text: string) => number;
  /** Remembers every text that is measured meanwhile, however long. */
  readonly learn: (read: () => void) => void;
} {
  const known = new Map<string, number>();
  let isLearning = false;
  return {
    measure(text) {
      const found = known.get(text);
      if (found !== undefined) return found;
      const tokens = count(text);
      if (isLearning || text.length < SHORT) known.set(text, tokens);
      return tokens;
    },
    learn(read) {
      isLearning = true;
      read();
      isLearning = false;
    },
  };
}
