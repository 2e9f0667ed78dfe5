/** Text that was cut in the middle of a character, which no service reads, in every format. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { compactTranscript } from "../../src/compaction/wire.ts";
import { isWellFormed, wellFormed } from "../../src/core/well_formed.ts";
import type { JsonObject } from "../../src/formats/format.ts";
import { readTranscript } from "../../src/formats/read.ts";
import {
  chatCall,
  chatResult,
  codesOf,
  contents,
  functionCall,
  functionOutput,
  item,
  mend,
  modelCall,
  modelResult,
  said,
  ui,
  uiText,
  use,
  used,
  user,
} from "./_read.ts";

const HALF = "all good \ud83d";
const MENDED = "all good \ufffd";

const cases: Readonly<Record<string, readonly JsonObject[]>> = {
  "openai-chat": [user(HALF), chatCall("a"), { ...chatResult("a"), content: HALF }],
  anthropic: [user(), use("a", { path: HALF }), used("a", HALF)],
  "openai-responses": [item("user"), functionCall("a"), { ...functionOutput("a"), output: HALF }],
  "ai-sdk": [user(), modelCall("a"), modelResult("a"), said(HALF)],
  "ai-sdk-ui": [ui("user", uiText(HALF))],
  gemini: [contents({ text: HALF })],
};

for (const [name, messages] of Object.entries(cases)) {
  Deno.test(`half a character is named and mended: ${name}`, () => {
    const halves = messages.flatMap((message, at) => isWellFormed(message) ? [] : [at]);
    deepEqual(codesOf(messages), halves.map((at) => `${at} half_character`));
    const { messages: mended, repairs } = mend(messages);
    deepEqual(
      repairs.map(({ code, at, to }) => [code, at, to]),
      halves.map((at) => ["half_character", at, at]),
    );
    deepEqual(mended, JSON.parse(JSON.stringify(messages).replaceAll("\\ud83d", "\ufffd")));
    ok(
      mended.every((message, at) => halves.includes(at) || message === messages[at]),
      "the rest is as it was",
    );
  });
}

Deno.test("half a character is mended in what a repair makes of a result without a call", () => {
  const messages = [user(), { ...chatResult("gone"), content: HALF }];
  const { messages: mended } = mend(messages);
  ok(isWellFormed(mended) && JSON.stringify(mended).includes(MENDED));
});

Deno.test("a compaction hands out no half a character, kept or in its ledger", () => {
  const rounds = Array.from({ length: 40 }, (_, n) => [
    chatCall(`c${n}`, JSON.stringify({ path: n }), `run_${n % 3}`),
    { ...chatResult(`c${n}`), content: `${HALF} ${"word ".repeat(40)}` },
  ]).flat();
  const { outcome, messages } = compactTranscript(readTranscript([user(), ...rounds]), { budget: 1_500 });
  equal(outcome, "applied");
  ok(isWellFormed(messages));
});

Deno.test("wellFormed() mends names and what is nested, and leaves alone what is whole and what is no JSON", () => {
  const whole = { a: ["😀", { b: 1 }], url: new URL("http://127.0.0.1/") };
  equal(wellFormed(whole), whole);
  const url = new URL("http://127.0.0.1/");
  const mended = wellFormed({ [HALF]: [[HALF]], url, n: null });
  deepEqual(mended, { [MENDED]: [[MENDED]], url, n: null });
  equal(mended["url"], url);
});
