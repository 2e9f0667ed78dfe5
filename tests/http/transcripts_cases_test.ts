/** The cases of the fixtures, sent to the routes. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { Json } from "../support/chat.ts";
import { post } from "../support/transcript_routes.ts";

interface Case {
  readonly id: string;
  readonly format: string;
  readonly messages: readonly Json[];
  readonly options: Json;
  readonly assert: Json;
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
const CASES: Case[] = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
  name.endsWith(".json")
).sort().map((name) => expand(JSON.parse(Deno.readTextFileSync(new URL(name, folder)))) as Case);

const REPAIRABLE = [
  "missing_result",
  "orphan_result",
  "duplicate_result",
  "misplaced_result",
  "duplicate_call_id",
];

for (const { id, format, messages, options, assert } of CASES) {
  Deno.test(`case ${id} over HTTP: POST /v1/check finds what it asserts`, async () => {
    const found = await post("check", { format, messages, thinking: "ignore" });
    deepEqual(Object.keys(found), [
      "valid",
      "format",
      "violations",
      "notices",
      "atoms",
      "legalCuts",
      "pending",
      "abandoned",
      "openCalls",
    ]);
    const codes: string[] = found.violations.map((violation: Json) => violation.code);
    deepEqual(
      [...new Set(codes.filter((code) => REPAIRABLE.includes(code)))].sort(),
      [...assert.violations].sort(),
    );
    equal(found.valid, assert.input !== "invalid");
    deepEqual(found.pending, assert.pending);
    deepEqual(found.abandoned, assert.abandoned);
    deepEqual(found.legalCuts, assert.legalCuts);
    if (assert.legalCutsSignedThinking !== undefined) {
      deepEqual((await post("check", { format, messages })).legalCuts, assert.legalCutsSignedThinking);
    }
    if (assert.legalCutsWithLongRunning !== undefined) {
      const longRunning = options.longRunningIds;
      deepEqual(
        (await post("check", { format, messages, longRunning })).legalCuts,
        assert.legalCutsWithLongRunning,
      );
    }
    let at = 0;
    for (const atom of found.atoms) {
      equal(atom.from, at, "atoms follow one another without a gap");
      ok(atom.state === "open" || atom.state === "closed");
      ok(atom.tokens >= 0);
      at = atom.to;
    }
    equal(at, messages.length);
  });

  Deno.test(`case ${id} over HTTP: POST /v1/repair leaves nothing wrong and is done after one run`, async () => {
    const repaired = await post("repair", { format, messages, thinking: "ignore" });
    deepEqual(Object.keys(repaired).sort(), ["messages", "repairs", "violations"]);
    deepEqual(repaired.violations, []);
    const again = await post("repair", { format, messages: repaired.messages, thinking: "ignore" });
    deepEqual(again.repairs, []);
    deepEqual(again.messages, repaired.messages);
    if (repaired.repairs.length === 0) deepEqual(repaired.messages, messages);
  });

  Deno.test(`case ${id} over HTTP: POST /v1/compact severs nothing, and a second run answers nothing`, async () => {
    const { atoms } = await post("check", { format, messages });
    const total = atoms.reduce((sum: number, atom: Json) => sum + atom.tokens, 0);
    for (const part of [0.3, 0.6, 0.9]) {
      const budget = Math.max(200, Math.floor(total * part));
      const done = await post("compact", { format, messages, budget });
      ok(["applied", "nothing", "deferred", "refused"].includes(done.outcome));
      if (done.outcome !== "applied") continue;
      ok(assert.legalCuts.includes(done.cut.at));
      const after = await post("check", { format, messages: done.messages });
      deepEqual(after.violations, [], `budget ${budget}`);
      const again = await post("compact", { format, messages: done.messages, budget });
      equal(again.outcome, "nothing", `second run at ${budget}: ${again.reason}`);
      deepEqual(again.messages, done.messages);
    }
  });
}
