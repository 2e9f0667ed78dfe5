import assert from "node:assert/strict";
import fc from "fast-check";
import { headAndTail, shortenOutput } from "../../src/compaction/shorten.ts";
import type { ToolOutput } from "../../src/core/message.ts";
import { loadMeasure } from "../../src/loop/measures.ts";
import { measureOutput, outputText, type TextMeasure } from "../../src/tokens/measure.ts";
import { runs } from "../support/runs.ts";
import { prose } from "../support/turns.ts";

const ref = "e41.0";
const measure = await loadMeasure();

function shorten(output: ToolOutput, tokens: number): ToolOutput {
  return shortenOutput(output, { tokens, measure, ref });
}

Deno.test("headAndTail() keeps both ends and counts what it leaves out", () => {
  const text = "0123456789".repeat(30);
  const shown = headAndTail(text, { keep: 100, ref });
  const [head = "", note = "", tail = ""] = shown.split("\n");
  assert.equal(head.length, 70);
  assert.equal(tail.length, 30);
  assert.ok(text.startsWith(head) && text.endsWith(tail));
  assert.equal(note, "[200 of 300 characters are left out here; the whole result is entry e41.0]");
  assert.equal(headAndTail(text, { keep: 300, ref }), text);
  assert.match(headAndTail(text, { keep: 0, ref }), /^\n\[300 of 300 .*\]\n$/);
});

Deno.test("headAndTail() leaves surrogate pairs whole", () => {
  const text = "😀".repeat(60);
  for (let keep = 0; keep < text.length; keep++) {
    const shown = headAndTail(text, { keep, ref });
    assert.ok(shown.isWellFormed(), `keep ${keep}`);
    const left = Number(shown.match(/\[(\d+) of/)?.[1]);
    assert.equal(shown.match(/😀/gu)?.length ?? 0, (text.length - left) / 2);
  }
});

Deno.test.each(
  [
    [{ type: "text", value: "short" }],
    [{ type: "error-text", value: "short" }],
    [{ type: "json", value: { a: 1 } }],
    [{ type: "content", value: [{ type: "text", text: "a" }] }],
    [{ type: "execution-denied" }],
  ] as readonly [ToolOutput][],
)("shortenOutput() gives back what fits: %j", (output) => {
  assert.equal(shorten(output, 200), output);
});

const long = prose(20_000);

Deno.test.each(
  [
    [{ type: "text", value: long }, "text"],
    [{ type: "json", value: { lines: long.split(", ") } }, "text"],
    [{ type: "content", value: [{ type: "text", text: long }, { type: "text", text: "end" }] }, "text"],
    [{ type: "error-text", value: long }, "error-text"],
    [{ type: "error-json", value: { why: long } }, "error-text"],
    [{ type: "execution-denied", reason: long }, "execution-denied"],
  ] as readonly [ToolOutput, string][],
)("shortenOutput() says what kind of output it was: case %#", (output, type) => {
  const shown = shorten(output, 300);
  assert.equal(shown.type, type);
  assert.ok(measureOutput(shown, measure) <= 300);
  assert.ok(measureOutput(shown, measure) > 200, "more could have been kept");
  const text = outputText(shown);
  assert.ok(text.startsWith(outputText(output).slice(0, 20)) && text.endsWith(outputText(output).slice(-3)));
  assert.match(text, /\[\d+ of \d+ characters are left out here; the whole result is entry e41\.0\]/);
});

Deno.test("shortenOutput() says that a file is left out", () => {
  const output: ToolOutput = {
    type: "content",
    value: [{ type: "text", text: "A plot." }, { type: "file", mediaType: "image/png", data: "AAAA" }],
  };
  assert.equal(shorten(output, 2_000), output);
  const shown = shorten(output, 500);
  assert.equal(shown.type, "text");
  assert.match(
    outputText(shown),
    /^A plot\.\n\[file image\/png is left out here; the whole result is entry e41\.0\]$/,
  );
});

const pieces = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "aaaaaaaa",
    "\n\n\n",
    "        ",
    "漢字かな交じり",
    "😀👩‍👧",
    "0123456789abcdef",
    "\ud83d",
    "\udc00",
    '{"a":[',
  ),
);
const texts = fc.tuple(fc.array(pieces, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 400 }))
  .map((
    [parts, times],
  ) => parts.join("").repeat(times).slice(0, 40_000));

Deno.test("shortenOutput() never takes more than its limit, and the same input gives the same text", () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 60, max: 3_000 }), fc.boolean(), (text, tokens, isJson) => {
      const output: ToolOutput = isJson ? { type: "json", value: { text } } : { type: "text", value: text };
      const shown = shorten(output, tokens);
      assert.ok(measureOutput(shown, measure) <= tokens);
      assert.deepEqual(shorten(structuredClone(output), tokens), shown);
      if (outputText(output).isWellFormed()) assert.ok(outputText(shown).isWellFormed());
      // A view is made again from its limits: nothing may depend on what was shown before.
      assert.deepEqual(shorten(output, tokens), shown);
    }),
    runs(60),
  );
});

Deno.test.each([["a"], ["ab cd "], ["漢"], ["😀"], ["\n"]])(
  "shortenOutput() counts little of a huge text: %j",
  (unit) => {
    const value = unit.repeat(5_000_000 / unit.length);
    let counted = 0;
    const counting: TextMeasure = (text, limit) => {
      counted += text.length;
      return measure(text, limit);
    };
    const tokens = 1_000;
    const shown = shortenOutput({ type: "text", value }, { tokens, measure: counting, ref });
    assert.ok(measureOutput(shown, measure) <= tokens);
    assert.ok(counted <= 40 * tokens, `counted ${counted} characters`);
  },
);

Deno.test("shortenOutput() does not count a long text to its end that is only just too short to skip", () => {
  // 120,000 characters could be 1,000 tokens, by the longest there are; a limit ends the count early.
  let counted = 0;
  const counting: TextMeasure = (text, limit = Infinity) => {
    const most = Math.min(text.length, limit * 4);
    counted += most;
    return most / 4 + 1;
  };
  const value = "x".repeat(120_000);
  shortenOutput({ type: "text", value }, { tokens: 1_000, measure: counting, ref });
  assert.ok(counted < 20_000, `counted ${counted} characters`);
});
