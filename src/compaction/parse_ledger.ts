/**
 * Reads a rendered ledger back. In wire formats a summary is known by its header and checksum and by nothing
 * else: any other text, however much it looks like one, is what somebody said.
 *
 * @module
 */
import type { CallStatus } from "../ports.ts";
import { shortHash } from "./digest.ts";
import { LEDGER_HEADER, type LedgerLine, RECALL_HEADER, type Run } from "./ledger.ts";
import type { RangeCalls } from "./ledger_range.ts";

/** A ledger that was read back. */
export interface ParsedLedger {
  readonly lines: readonly LedgerLine[];
  /** What a model or a caller wrote behind the ledger; empty where there is none. */
  readonly prose: string;
  /** Numbers of the messages that followed when it was written; empty where it does not say. */
  readonly below: readonly Run[];
}

const STATUSES: readonly string[] = ["ok", "error", "aborted"] satisfies readonly CallStatus[];

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `read_file {"path":"a"} -> ok: "text"`: the last place at which both halves are JSON divides them. */
function parsePair(seq: number, ref: string, rest: string): LedgerLine | null {
  const label = rest.match(/^("(?:[^"\\]|\\.){0,1000}"|\S+) /)?.[1];
  if (label === undefined) return null;
  const tool = label.startsWith('"') ? parseJson(label) : label;
  const body = rest.slice(label.length + 1);
  for (let at = body.lastIndexOf(" -> "); at >= 0; at = body.lastIndexOf(" -> ", at - 1)) {
    const args = body.slice(0, at);
    // Compared and cut, not matched: a pattern that ran to the end of the line from each arrow would cost the square.
    const status = STATUSES.find((found) => body.startsWith(`${found}: "`, at + 4));
    const digest = status === undefined ? undefined : parseJson(body.slice(at + 4 + status.length + 2));
    if (typeof digest === "string" && parseJson(args) !== undefined && typeof tool === "string") {
      return { kind: "pair", seq, ref, tool, args, status: status as CallStatus, digest };
    }
    if (at === 0) break;
  }
  return null;
}

/** `read_file 6 ok`; a name that is none is a JSON string, and may hold whatever stands between items. */
const ITEM = /^("(?:[^"\\]|\\.){0,1000}"|[^\s"]+) (\d+) (\w+)(, |; |$)/;

/** `30 calls: read_file 6 ok, run 1 error; 1 user message; 2 answers` */
function parseRange(seq: number, to: number, text: string): LedgerLine | null {
  const head = text.match(/^\d+ calls?(: |; |$)/);
  if (head === null) return null;
  let rest = text.slice(head[0].length);
  const calls = new Map<string, Partial<Record<CallStatus, number>>>();
  for (let behind = head[1] === ": " ? ", " : ""; behind === ", ";) {
    const [item = "", label = "", times, status = "", next = ""] = rest.match(ITEM) ?? [];
    const tool = label.startsWith('"') ? parseJson(label) : label;
    if (typeof tool !== "string" || !STATUSES.includes(status)) return null;
    calls.set(tool, { ...calls.get(tool), [status]: Number(times) });
    rest = rest.slice(item.length);
    behind = next;
  }
  const counts = rest.match(
    /^(?:(\d+) user messages?)?(?:(?:^|; )(\d+) answers?)?(?:(?:^|; )named (\[.*\]))?$/s,
  );
  const facts = counts?.[3] === undefined ? [] : parseJson(counts[3]);
  if (counts === null || !Array.isArray(facts) || !facts.every((fact) => typeof fact === "string")) {
    return null;
  }
  const range: RangeCalls = Object.fromEntries(calls);
  return {
    kind: "range",
    seq,
    to,
    calls: range,
    users: Number(counts[1] ?? 0),
    answers: Number(counts[2] ?? 0),
    ...(facts.length > 0 ? { facts } : {}),
  };
}

function parseLine(line: string): LedgerLine | null {
  const range = line.match(/^e(\d{1,15})(?:\.\.e(\d{1,15}))? (\d+ calls?(?:: |; |$).*)$/s);
  if (range !== null) {
    const [, from, to = from, text = ""] = range;
    return parseRange(Number(from), Number(to), text);
  }
  const said = line.match(/^e(\d{1,15}) (user|answer): (.*)$/s);
  if (said !== null) {
    const text = parseJson(said[3] ?? "");
    if (typeof text !== "string") return null;
    return { kind: said[2] === "user" ? "user" : "answer", seq: Number(said[1]), text };
  }
  const pair = line.match(/^(e(\d{1,15})(?:\.\d{1,15})?) (.*)$/s);
  return pair === null ? null : parsePair(Number(pair[2]), pair[1] ?? "", pair[3] ?? "");
}

/** `e3..e5, e42..` */
function parseBelow(text: string): readonly Run[] | null {
  const runs = text.split(", ").map((item): Run | null => {
    const [whole, from, range, to] = item.match(/^e(\d{1,15})(\.\.(?:e(\d{1,15}))?)?$/) ?? [];
    if (whole === undefined) return null;
    const end = range === undefined ? from : to;
    return { from: Number(from), to: end === undefined ? Infinity : Number(end) };
  });
  const whole = runs.filter((run) => run !== null);
  return whole.length === runs.length ? whole : null;
}

/**
 * Reads a ledger back.
 *
 * @param text Text of a user message.
 * @returns The lines, or null where header, checksum or a line is not that of a ledger.
 */
export function parseLedger(text: string): ParsedLedger | null {
  const header = [LEDGER_HEADER, RECALL_HEADER].find((line) => text.startsWith(`${line}\n`));
  if (header === undefined) return null;
  const end = text.slice(header.length).match(/\n\[end of ledger; check ([0-9a-f]{8})\](?:\n\n|$)/);
  if (end === null || end.index === undefined) return null;
  const body = text.slice(header.length + 1, header.length + end.index);
  if (shortHash(body) !== end[1]) return null;
  const found = body === "" ? [] : body.split("\n");
  const last = found.at(-1)?.match(/^below: (.*)$/s)?.[1];
  const below = last === undefined ? [] : parseBelow(last);
  const lines = (last === undefined ? found : found.slice(0, -1)).map(parseLine);
  const whole = lines.filter((line) => line !== null);
  if (whole.length !== lines.length || below === null) return null;
  return { lines: whole, below, prose: text.slice(header.length + end.index + end[0].length) };
}
