/**
 * What a request proves about earlier work: the calls with their results that are still in the messages, and
 * what the ledger of a compaction says about the rest.
 */
import type { AssistantMessage, Message, ToolResultPart } from "../core/message.ts";
import { outputText } from "../tokens/measure.ts";

/** A call whose result is in the messages. */
export interface Deed {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** True where the message itself marks the result as an error; some wire formats cannot. */
  readonly failed: boolean;
  /** The result as text. */
  readonly text: string;
}

/** All that a script without a memory can know. */
export interface Evidence {
  /** What the user asked for last. */
  readonly task: string;
  /** Calls with results since then, in call order. */
  readonly deeds: readonly Deed[];
  /** Those of the last step, empty before the first. */
  readonly batch: readonly Deed[];
  /** Units sealed according to ranges of the ledger, which do not say which. */
  readonly sealedInRanges: number;
  /** Numbers of units sealed according to single lines of the ledger. */
  readonly sealedInLines: readonly number[];
  /** Numbers of units sealed according to results in the messages. */
  readonly sealedInView: readonly number[];
  /** True where a line of the ledger records a read of the archive. */
  readonly archiveInLedger: boolean;
  /** What contradicts itself, one sentence each. */
  readonly faults: readonly string[];
}

const HEADER = "[selvage ledger:";
const LEDGER = /\[selvage ledger:[^\n]*\n([\s\S]*?)\n?\[end of ledger; check [0-9a-f]+\]\n*/;

/** The number of a unit in the arguments of a call, or undefined. */
export function unitOf(input: Readonly<Record<string, unknown>>): number | undefined {
  const { unit, path } = input;
  const digits = typeof unit === "string" || typeof unit === "number"
    ? String(unit).match(/\d+/)?.[0]
    : typeof path === "string"
    ? path.match(/^\/?units\/(\d+)/)?.[1]
    : undefined;
  return digits === undefined ? undefined : Number(digits);
}

function asInput(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function userText(content: Extract<Message, { role: "user" }>["content"]): string {
  if (typeof content === "string") return content;
  return content.map((part) => part.type === "text" ? part.text : "").filter((text) => text !== "").join(
    "\n",
  );
}

/** True for a `run_check` whose text says that it sealed its unit. */
export function isSeal(deed: Pick<Deed, "name" | "text">): boolean {
  return deed.name === "run_check" && /^exit 0\b/.test(deed.text);
}

/** Counts of a ledger: the only trace that is left of pairs that were compacted away. */
function readLedger(body: string): { inRanges: number; inLines: number[]; archive: boolean } {
  let inRanges = 0;
  const inLines: number[] = [];
  let archive = false;
  for (const line of body.split("\n")) {
    if (/^e\d+(?:\.\.e\d+)? \d+ calls?\b/.test(line)) {
      inRanges += Number(line.match(/\brun_check (\d+) ok\b/)?.[1] ?? 0);
    }
    const unit = line.match(/^e\d+\.\d+ run_check (\{.*?\}) -> ok\b/)?.[1];
    if (unit !== undefined) inLines.push(Number(unit.match(/\d+/)?.[0] ?? NaN));
    if (/^e\d+\.\d+ read_file \{"path":"archive\//.test(line)) archive = true;
  }
  return { inRanges, inLines, archive };
}

interface Round {
  readonly calls: {
    readonly id: string;
    readonly name: string;
    readonly input: Readonly<Record<string, unknown>>;
    result?: ToolResultPart;
  }[];
}

function roundOf(message: AssistantMessage): Round {
  if (typeof message.content === "string") return { calls: [] };
  const calls = message.content.filter((part) => part.type === "tool-call");
  return {
    calls: calls.map((call) => ({ id: call.toolCallId, name: call.toolName, input: asInput(call.input) })),
  };
}

function deedsOf(round: Round): Deed[] {
  return round.calls.flatMap(({ name, input, result }) => {
    if (result === undefined) return [];
    const failed = result.output.type.startsWith("error") || result.output.type === "execution-denied";
    return [{ name, input, failed, text: outputText(result.output) }];
  });
}

/**
 * Reads the evidence from the messages of a request. A result answers the open call of its id in the nearest
 * assistant message before it that has one.
 *
 * @param messages The messages of a request.
 * @returns What they prove, contradictions included.
 */
export function readEvidence(messages: readonly Message[]): Evidence {
  const faults: string[] = [];
  const rounds: Round[] = [];
  let task = "";
  let taskFrom = 0;
  let inRanges = 0;
  const inLines: number[] = [];
  let archive = false;
  for (const message of messages) {
    if (message.role === "user") {
      let text = userText(message.content);
      const ledger = text.match(LEDGER);
      if (ledger !== null) {
        const read = readLedger(ledger[1] ?? "");
        inRanges += read.inRanges;
        inLines.push(...read.inLines);
        archive ||= read.archive;
        text = text.replace(LEDGER, "");
      } else if (text.startsWith(HEADER)) {
        faults.push("the ledger has no end");
        continue;
      }
      // Texts that begin like this are notes of the service (a late result, for example), not a person's words.
      if (text.trim() === "" || text.startsWith("[selvage")) continue;
      task = text;
      taskFrom = rounds.length;
    } else if (message.role === "assistant") {
      rounds.push(roundOf(message));
    } else if (message.role === "tool") {
      for (const result of message.content) {
        const call = rounds.toReversed().flatMap((round) =>
          round.calls.find(({ id, result: taken }) =>
            id === result.toolCallId && taken === undefined
          ) ?? []
        )[0];
        if (call === undefined) {
          faults.push(`found a result of ${result.toolName} for a call that is not there`);
        } else call.result = result;
      }
    }
  }
  for (const { name, input, result } of rounds.flatMap((round) => round.calls)) {
    if (result === undefined) faults.push(`found the call ${name} ${JSON.stringify(input)} without a result`);
  }
  const since = rounds.slice(taskFrom);
  const seals = rounds.flatMap(deedsOf).filter(isSeal);
  return {
    task,
    deeds: since.flatMap(deedsOf),
    batch: since.map(deedsOf).findLast((deeds) => deeds.length > 0) ?? [],
    sealedInRanges: inRanges,
    sealedInLines: inLines,
    sealedInView: seals.map(({ input }) => unitOf(input) ?? NaN),
    archiveInLedger: archive,
    faults,
  };
}
