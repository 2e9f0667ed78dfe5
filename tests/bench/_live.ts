/** The live loop: a transcript is appended record by record to a window that is too small for it. */
import { shortenOutput } from "../../src/compaction/shorten.ts";
import { compactTranscript } from "../../src/compaction/wire.ts";
import { type Reading, type ReadOptions, readTranscript } from "../../src/formats/read.ts";
import type { Json } from "../support/wire_json.ts";
import type { CorpusTranscript } from "./_corpus.ts";

/** Windows, as shares of the tokens of a transcript. */
export const WINDOWS = [0.2, 0.35, 0.5] as const;

/** Over this share of the window a compaction is due; to this share it goes. */
const TRIGGER = 0.8;
const TARGET = 0.4;
/** The room for results ends here, as in the engine. */
const STOP = 0.92;
/** A result takes at most this share of the window. */
const LARGEST = 0.2;

/** One run. */
export interface LiveRun {
  readonly transcript: CorpusTranscript;
  readonly share: number;
  /** Tokens. */
  readonly window: number;
  /** The most tokens that the context ever had, against the window. */
  readonly peak: number;
  /** The most tokens of a context that was sent to the model, against the window. */
  readonly sent: number;
  /** The largest record that is no result, against the window. */
  readonly largest: number;
  readonly compactions: number;
  readonly deferrals: number;
  readonly capped: number;
}

/** A record: a message, or one more result in the last message. */
interface LiveRecord {
  readonly message: Json;
  readonly replaces: boolean;
}

/** Records of a transcript in the order in which they come: results one by one. */
function recordsOf({ format, messages }: CorpusTranscript): readonly LiveRecord[] {
  return messages.flatMap((message): LiveRecord[] => {
    const { content } = message;
    if (format !== "anthropic" || !Array.isArray(content)) return [{ message, replaces: false }];
    const results = content.findLastIndex((block) => block?.type === "tool_result") + 1;
    if (results === 0) return [{ message, replaces: false }];
    return content.map((_, index) => index).filter((index) => index < results || index === content.length - 1)
      .map((index) => ({
        message: { ...message, content: content.slice(0, index + 1) },
        replaces: index > 0,
      }));
  });
}

/** Shortens the result that came last to `limit` tokens; null where it is short enough. */
function capLast(reading: Reading, limit: number): Json | null {
  const last = reading.messages.at(-1);
  const piece = reading.pieces.at(-1)?.at(-1);
  if (last === undefined || piece?.kind !== "tool_result" || reading.measure(piece.text) + 4 <= limit) {
    return null;
  }
  const shown = shortenOutput({ type: "text", value: piece.text }, {
    tokens: limit,
    measure: reading.measure,
    ref: piece.callId || "here",
  });
  return shown.type === "text" ? reading.format.withText(last, piece.part, shown.value) : null;
}

function openCalls({ transcript }: Reading): number {
  return transcript.pairs.filter(({ state }) => state === "in_flight").length;
}

/** Tokens of the largest message that no cap can help. */
function largestOf({ transcript, pieces }: Reading): number {
  return Math.max(
    0,
    ...pieces.map((message, at) =>
      message.some(({ kind }) => kind === "tool_result") ? 0 : transcript.tokensBetween(at, at + 1)
    ),
  );
}

/** Whether no message but results takes more of the window than the cap allows these: an engine sees to that. */
export function isWithin({ largest }: LiveRun): boolean {
  return largest <= LARGEST;
}

/** Runs a transcript through a window of a share of its tokens, with a check after every record. */
export function runLive(transcript: CorpusTranscript, share: number, options: ReadOptions): LiveRun {
  const whole = readTranscript(transcript.messages, options);
  const window = Math.floor(whole.transcript.tokens * share);
  const budget = Math.floor(window * TARGET);
  const counts = { peak: 0, sent: 0, compactions: 0, deferrals: 0, capped: 0 };
  let messages: readonly Json[] = [];
  let reading = readTranscript(messages, options);
  const show = (next: readonly Json[]): void => {
    messages = next;
    reading = readTranscript(messages, options);
  };
  for (const { message, replaces } of recordsOf(transcript)) {
    const isAnswer = message["role"] === "assistant";
    // What the model answers, it answers to the context as it is now.
    if (isAnswer) counts.sent = Math.max(counts.sent, reading.transcript.tokens / window);
    const room = Math.max(0, STOP * window - reading.transcript.tokens) / Math.max(1, openCalls(reading));
    const last = messages.at(-1);
    const shown = replaces && last !== undefined ? withBlocks(last, message) : message;
    show([...(replaces ? messages.slice(0, -1) : messages), shown]);
    const capped = capLast(reading, Math.floor(Math.min(LARGEST * window, room)));
    if (capped !== null) {
      counts.capped++;
      show([...messages.slice(0, -1), capped]);
    }
    counts.peak = Math.max(counts.peak, reading.transcript.tokens / window);
    if (reading.transcript.tokens <= TRIGGER * window) continue;
    // The next answer may take what is left: nothing is waited for, the best legal cut there is will do.
    const done = compactTranscript(reading, { budget, force: true });
    if (done.outcome !== "applied") counts.deferrals++;
    else {
      counts.compactions++;
      show(done.messages);
    }
  }
  return { transcript, share, window, largest: largestOf(whole) / window, ...counts };
}

/** The last message as it is shown, earlier results capped or trimmed, with the block that has come. */
function withBlocks(last: Json, next: Json): Json {
  const [shown, come] = [last["content"], next["content"]];
  return Array.isArray(shown) && Array.isArray(come) ? { ...last, content: [...shown, come.at(-1)] } : next;
}
