/**
 * One file under examination: read once, then asked about. It does what the command does, with the same code.
 *
 * @module
 */
import { compactTranscript, isLedger } from "../../compaction/wire.ts";
import { SelvageError } from "../../core/errors.ts";
import { readFound } from "../../files/reading.ts";
import { decodeText, inBlocks } from "../../files/text.ts";
import { type OpenedFile, readTranscriptFile, type TranscriptFile } from "../../files/transcripts.ts";
import { checkMessages } from "../../formats/check.ts";
import { describeTranscript } from "../../formats/describe.ts";
import type { Reading } from "../../formats/read.ts";
import { estimateTokens } from "../../formats/price.ts";
import { repairTranscript } from "../../formats/repair.ts";
import { rereadTranscript } from "../../formats/reread.ts";
import type { Findings, Opened, Preview, Shown, ShownPart, Written } from "./protocol.ts";

/** Bytes of the largest file. */
export const MAX_BYTES = 16 * 1024 * 1024;
/** Faults and repairs that are listed. */
const MAX_LISTED = 500;
/** Messages, parts of one, and characters of a part that are shown at once. */
const MAX_SHOWN = 60;
const MAX_PARTS = 40;
const MAX_TEXT = 1_200;

const NOTHING: Findings = {
  error: null,
  document: null,
  faults: [],
  faultCount: 0,
  messages: 0,
  calls: 0,
  tokens: 0,
  repairs: [],
  repairCount: 0,
  left: 0,
  wrapper: null,
};

/** A transcript of the file; `reading` is null where its messages cannot be read. */
interface Examined {
  readonly found: TranscriptFile;
  readonly reading: Reading | null;
  /** The messages as a repair makes them. */
  readonly mended: readonly unknown[];
  readonly findings: Findings;
}

/** The bytes of a text or a file, no more at a time than a part. */
async function* bytesOf(source: Blob): AsyncGenerator<Uint8Array> {
  const reader = source.stream().getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    reader.releaseLock();
  }
}

/** A file that was opened. */
export class Examination {
  readonly #name: string;
  readonly #opened: OpenedFile;
  readonly #transcripts: readonly Examined[];

  private constructor(name: string, opened: OpenedFile) {
    this.#name = name;
    this.#opened = opened;
    this.#transcripts = opened.transcripts.map(examine);
  }

  /**
   * Opens a file.
   *
   * @param name What it is called; its ending is looked at, and the mended file is called after it.
   * @param source Its bytes or its text.
   * @throws SelvageError `unreadable`, `too_large`.
   */
  static async open(name: string, source: Blob | string): Promise<Examination> {
    const blob = typeof source === "string" ? new Blob([source]) : source;
    if (blob.size > MAX_BYTES) {
      throw new SelvageError(
        "too_large",
        `Cannot read ${name}: found ${(blob.size / 1_048_576).toFixed(1)} MiB, wanted at most 16 MiB; ` +
          "the command takes files of any size",
      );
    }
    const chunks = decodeText(name, bytesOf(blob));
    return new Examination(name, await readTranscriptFile(name, { chunks, keepTexts: true }));
  }

  /** What was found in it. */
  describe(): Opened {
    return {
      kind: "opened",
      name: this.#name,
      transcripts: this.#transcripts.map(({ findings }) => findings),
    };
  }

  /** What a compaction to a budget in tokens would come to. */
  preview(transcript: number, budget: number): Preview {
    const { reading } = this.#readable(transcript);
    const made = compactTranscript(reading, { budget });
    const { outcome, cut, tokens, reason, nearest, ledger, trims } = made;
    const again = cut === null ? null : rereadTranscript(reading, { messages: made.messages, calls: [] });
    const summary = again?.pieces.flat().find(({ kind }) => kind === "summary")?.text ?? null;
    const record = again?.transcript.records.find(({ kind }) => kind === "summary");
    return {
      kind: "preview",
      outcome,
      cut,
      tokens,
      reason,
      nearest,
      pairs: ledger.length,
      trims: trims.length,
      summary,
      summaryTokens: record?.tokens ?? 0,
    };
  }

  /** Messages from one to the one before another, with their parts. */
  show(transcript: number, { from, to }: { readonly from: number; readonly to: number }): Shown {
    const { found, reading } = this.#readable(transcript);
    const last = Math.min(to, from + MAX_SHOWN);
    const messages = reading.pieces.slice(from, last).map((pieces, index) => ({
      at: from + index,
      line: found.lineOf(from + index),
      parts: pieces.slice(0, MAX_PARTS).map(({ kind, name, callId, text }): ShownPart => ({
        kind,
        name: name ?? null,
        callId: callId ?? null,
        text: text.slice(0, MAX_TEXT),
        hidden: Math.max(0, text.length - MAX_TEXT),
      })),
    }));
    return { kind: "shown", messages };
  }

  /**
   * The file mended, in the shape that it had: messages that were whole are the bytes that came in.
   *
   * @param compaction The transcript to be compacted besides, and its budget in tokens.
   */
  write(compaction?: { readonly transcript: number; readonly budget: number }): Written {
    const messages = this.#transcripts.map(({ reading, mended }, index) => {
      if (reading === null || index !== compaction?.transcript) return mended;
      return compactTranscript(reading, { budget: compaction.budget }).messages;
    });
    const parts = this.#opened.write(messages);
    const what = compaction === undefined ? "repaired" : "compacted";
    return { kind: "written", name: nameOf(this.#name, what), blob: new Blob([...inBlocks(parts)]) };
  }

  #readable(transcript: number): { readonly found: TranscriptFile; readonly reading: Reading } {
    const { found, reading } = this.#transcripts[transcript] ?? {};
    if (found !== undefined && reading) return { found, reading };
    throw new RangeError(`Cannot look at transcript ${transcript}: there is none, or it cannot be read`);
  }
}

function examine(found: TranscriptFile): Examined {
  const wrapper = found.wrapper?.inside ?? null;
  let reading: Reading;
  try {
    reading = readFound(found, { measure: estimateTokens, isSummary: isLedger });
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    return {
      found,
      reading: null,
      mended: found.messages,
      findings: { ...NOTHING, error: error.message, wrapper },
    };
  }
  const { violations, notices: _, ...document } = describeTranscript(reading);
  const { messages, repairs, calls } = repairTranscript(reading);
  const { transcript } = reading;
  return {
    found,
    reading,
    mended: messages,
    findings: {
      error: null,
      document,
      faults: violations.slice(0, MAX_LISTED).map((fault) => ({ ...fault, line: found.lineOf(fault.at) })),
      faultCount: violations.length,
      messages: reading.messages.length,
      calls: transcript.pairs.filter(({ call }) => transcript.records[call]?.approval !== true).length,
      tokens: transcript.records.reduce((sum, { tokens }) => sum + tokens, 0),
      repairs: repairs.slice(0, MAX_LISTED),
      repairCount: repairs.length,
      left: repairs.length === 0
        ? violations.length
        : checkMessages(rereadTranscript(reading, { messages, calls })).length,
      wrapper,
    },
  };
}

/** `chat.json` becomes `chat.repaired.json`. */
function nameOf(name: string, what: string): string {
  const [, stem = name, end = ".json"] = name.match(/^(.+?)(\.[a-z0-9]{1,8})?$/i) ?? [];
  return `${stem}.${what}${end}`;
}
