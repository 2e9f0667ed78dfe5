/**
 * Small transcripts from public reports, each in its own format: what they assert holds in the input, after a
 * repair and after a compaction.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { checkMessages, openCalls } from "../../src/formats/check.ts";
import type { FormatName, JsonObject } from "../../src/formats/format.ts";
import { detectFormat, type Reading, readTranscript } from "../../src/formats/read.ts";
import { repairTranscript } from "../../src/formats/repair.ts";
import { compactTranscript, isLedger } from "../../src/compaction/wire.ts";

interface Case {
  readonly id: string;
  readonly format: FormatName;
  readonly messages: readonly JsonObject[];
  readonly options: Record<string, unknown>;
  // deno-lint-ignore no-explicit-any -- each case asserts something else
  readonly assert: Record<string, any>;
}

/** Expands `{"$repeat": [text, times]}`. */
function expand(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expand);
  if (typeof value !== "object" || value === null) return value;
  const repeat = (value as Record<string, unknown>)["$repeat"];
  if (Array.isArray(repeat)) return String(repeat[0]).repeat(Number(repeat[1]));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, expand(inner)]));
}

const folder = new URL("../fixtures/cases/", import.meta.url);
const CASES: Case[] = [];
for (const { name } of Deno.readDirSync(folder)) {
  if (name.endsWith(".json")) {
    CASES.push(expand(JSON.parse(Deno.readTextFileSync(new URL(name, folder)))) as Case);
  }
}
CASES.sort((a, b) => a.id.localeCompare(b.id));

/** What a case appends while a summary is made stands behind its messages. */
function arrived(found: Case): readonly JsonObject[] {
  return [...found.messages, ...((found.options["appendDuringSummary"] as JsonObject[] | undefined) ?? [])];
}

function read(
  found: Case,
  messages: readonly JsonObject[] = found.messages,
  thinking: "auto" | "ignore" = "ignore",
): Reading {
  return readTranscript(messages, { format: found.format, thinking, isSummary: isLedger });
}

/** Number of results of an id, wherever the format puts them. */
function resultsOf(reading: Reading, id: string): number {
  return reading.pieces.flat().filter((piece) => piece.kind === "tool_result" && piece.callId === id).length;
}

const REPAIRABLE = [
  "missing_result",
  "orphan_result",
  "duplicate_result",
  "misplaced_result",
  "duplicate_call_id",
];

for (const found of CASES) {
  const { id, assert } = found;
  Deno.test(`case ${id}: violations, open calls and legal cuts of the input`, () => {
    const reading = read(found);
    const codes = checkMessages(reading).map((violation) => violation.code);
    deepEqual(
      [...new Set(codes.filter((code) => REPAIRABLE.includes(code)))].sort(),
      [...assert.violations].sort(),
    );
    equal(codes.length > 0 ? "invalid" : openCalls(reading).length > 0 ? "pending" : "valid", assert.input);
    const named = (state: string) =>
      openCalls(reading).filter((call) => call.state === state).map((call) => call.callId);
    deepEqual(named("in_flight"), assert.pending);
    deepEqual(named("abandoned"), assert.abandoned);
    deepEqual(reading.transcript.legalCuts, assert.legalCuts);
    for (const cut of assert.forbiddenCuts ?? []) ok(!reading.transcript.isLegalCut(cut), `cut ${cut}`);
    if (assert.legalCutsSignedThinking !== undefined) {
      deepEqual(read(found, found.messages, "auto").transcript.legalCuts, assert.legalCutsSignedThinking);
    }
  });

  Deno.test(`case ${id}: the format is found from the messages`, () => {
    // Plain text messages look alike in several formats: then the most common one is good enough.
    const detected = detectFormat(found.messages);
    if (detected === found.format) return;
    deepEqual(readTranscript(found.messages, { format: detected }).transcript.legalCuts, assert.legalCuts);
  });

  Deno.test(`case ${id}: after a repair nothing is wrong, and a second repair changes nothing`, () => {
    const reading = read(found, arrived(found));
    const { messages, repairs } = repairTranscript(reading);
    const after = read(found, messages);
    deepEqual(checkMessages(after), []);
    if (assert.input === "valid" && assert.action !== "repair") {
      deepEqual(repairs, []);
      ok(
        messages.every((message, index) => message === reading.messages[index]),
        "what is whole comes back as it came",
      );
    }
    const again = repairTranscript(after);
    deepEqual(again.repairs, []);
    for (const [call, times] of Object.entries(assert.resultsFor ?? {})) {
      equal(resultsOf(after, call), times, call);
    }
    for (const text of assert.mustKeepText ?? []) {
      ok(JSON.stringify(messages).includes(JSON.stringify(text).slice(1, -1)), text);
    }
    if (assert.noEmptyText === true) ok(!JSON.stringify(messages).includes('"text":""'));
  });

  Deno.test(`case ${id}: compaction at every budget severs nothing and is done after one run`, () => {
    const reading = read(found, arrived(found));
    const pinned = (found.options["pin"] as number[] | undefined) ??
      (found.options["pinFirstUser"] ? [0] : []);
    for (const share of [0.2, 0.4, 0.6, 0.8]) {
      const budget = Math.max(200, Math.floor(reading.transcript.tokens * share));
      const done = compactTranscript(reading, { budget, pinned });
      const after = read(found, done.messages);
      deepEqual(checkMessages(after).map((violation) => violation.code), [], `budget ${budget}`);
      if (done.cut !== null) ok(!(assert.forbiddenCuts ?? []).includes(done.cut.at));
      for (const text of assert.mustKeepText ?? []) {
        ok(JSON.stringify(done.messages).includes(JSON.stringify(text).slice(1, -1)), `${text} at ${budget}`);
      }
      if (done.outcome !== "applied") continue;
      const text = JSON.stringify(done.messages[0]) + JSON.stringify(done.messages[1] ?? {});
      if ((assert.legalCuts as number[]).length - 2 === done.ledger.length) {
        for (const mention of assert.summaryMustMention ?? []) ok(text.includes(mention), mention);
      }
      const again = compactTranscript(after, { budget });
      equal(again.outcome, "nothing", `second run at ${budget}: ${again.reason}`);
    }
  });
}
