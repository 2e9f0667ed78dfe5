/**
 * Transcripts in the shape of public bug reports, see `tests/fixtures/cases/README.md`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { checkTranscript, parseTranscript } from "../../src/core/mod.ts";
import { type Case, caseRecords, readCase } from "../support/case_records.ts";

/** Cases that records cannot express yet, by id, and what is missing: none today. */
const LATER: Readonly<Record<string, string>> = {};

const folder = new URL("../fixtures/cases/", import.meta.url);

const CASES: readonly Case[] = [...Deno.readDirSync(folder)]
  .filter(({ name }) => name.endsWith(".json"))
  .map(({ name }) => readCase(Deno.readTextFileSync(new URL(name, folder))))
  .sort((a, b) => a.id.localeCompare(b.id));

function unique(values: Iterable<string>): readonly string[] {
  return [...new Set(values)].sort();
}

function judge(found: Case): void {
  const transcript = parseTranscript(caseRecords(found));
  // An approval is no tool call: its id is none that a case would name.
  const ids = (state: string) =>
    transcript.pairs
      .filter((pair) => pair.state === state && transcript.records[pair.call]?.approval !== true)
      .map(({ call }) => transcript.records[call]?.callId ?? "");
  const violations = unique(checkTranscript(transcript).map(({ code }) => code));
  const pending = ids("in_flight");
  const input = violations.length > 0 ? "invalid" : pending.length > 0 ? "pending" : "valid";
  const wanted = found.assert;
  assert.deepEqual(
    { input, violations, pending, abandoned: ids("abandoned"), legalCuts: transcript.legalCuts },
    {
      input: wanted.input,
      violations: unique(wanted.violations),
      pending: wanted.pending,
      abandoned: wanted.abandoned,
      legalCuts: wanted.legalCuts,
    },
  );
  if (wanted.legalCutsWithLongRunning !== undefined) {
    const open = parseTranscript(caseRecords(found, found.options.longRunningIds));
    assert.deepEqual(open.legalCuts, wanted.legalCutsWithLongRunning);
  }
  for (const at of wanted.forbiddenCuts ?? []) assert(!transcript.isLegalCut(at), `cut ${at} is forbidden`);
}

Deno.test.each(CASES.filter(({ id }) => !(id in LATER)))("case $id", (found) => judge(found));

Deno.test("the cases that are left for later are exactly those that fail today", () => {
  const failing = CASES.filter((found) => {
    try {
      judge(found);
      return false;
    } catch (error) {
      assert(error instanceof assert.AssertionError, `${found.id}: ${error}`);
      return true;
    }
  });
  assert.deepEqual(failing.map(({ id }) => id), Object.keys(LATER).sort());
});

Deno.test("there are cases of all five formats", () => {
  const formats = ["ai-sdk", "anthropic", "gemini", "openai-chat", "openai-responses"];
  assert.deepEqual(unique(CASES.map(({ format }) => format)), formats);
});
