/** What ledgers are made of: entries, and lines. */
import type { LedgerLine } from "../../src/compaction/ledger.ts";
import type { CallStatus, Entry } from "../../src/ports.ts";
import { assistant, callPart, result, user } from "../support/entries.ts";
import { prose } from "../support/turns.ts";

/** A short log with calls that end in every way. */
export const entries: readonly Entry[] = [
  user(0, "Fix the tests.\nAll of them."),
  assistant(1, [
    { type: "text", text: "I run them." },
    callPart("run", { command: "deno test" }),
    callPart("read", { path: "a.ts", note: prose(200) }),
  ]),
  result(2, "e1.1", { type: "error-text", value: "not found" }, { status: "error" }),
  result(3, "e1.0", { type: "json", value: { exitCode: 1, log: prose(300) } }),
  assistant(4, [{ type: "reasoning", text: "hm" }, { type: "text", text: "They fail. I stop here." }]),
  user(5, [{ type: "text", text: "Look:" }, { type: "file", mediaType: "image/png", data: "AAAA" }]),
  assistant(6, "I see."),
  assistant(7, [callPart("run", {})]),
  result(8, "e7.0", { type: "error-text", value: "Aborted" }, { status: "aborted" }),
  assistant(9, []),
];

/** The line of a pair. */
export function pair(seq: number, name = "read", status: CallStatus = "ok"): LedgerLine {
  return {
    kind: "pair",
    seq,
    ref: `e${seq}.0`,
    tool: name,
    args: `{"path":"file ${seq}"}`,
    status,
    digest: prose(60),
  };
}
