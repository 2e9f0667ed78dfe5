import assert from "node:assert/strict";
import fc from "fast-check";
import { Tiktoken } from "js-tiktoken/lite";
import cl100k from "js-tiktoken/ranks/cl100k_base";
import o200k from "js-tiktoken/ranks/o200k_base";
import { readVocabulary, work } from "../../src/tokens/_bpe.ts";
import { type Encoding, isLoaded, loadCounter, utf8Length } from "../../src/tokens/counter.ts";
import { runs } from "../support/runs.ts";

const RANKS = { o200k_base: o200k, cl100k_base: cl100k };
const ENCODINGS: readonly Encoding[] = ["o200k_base", "cl100k_base"];

/** Runs of one class of characters. The oracle needs the cube of a run's bytes, so no run has more than 200. */
function run(...units: string[]): fc.Arbitrary<string> {
  const unit = fc.constantFrom(...units);
  const longest = Math.floor(200 / Math.max(...units.map((unit) => utf8Length(unit))));
  return fc.oneof(
    { weight: 12, arbitrary: fc.string({ unit, minLength: 1, maxLength: 8, size: "max" }) },
    { weight: 1, arbitrary: fc.string({ unit, minLength: 1, maxLength: longest, size: "max" }) },
  );
}

const ANY_RUN = fc.oneof(
  run(..."abcdefghijklmnopqrstuvwxyz"),
  run(..."etaoin"),
  run(..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
  run(..."aAbBéÉßıǅʰ"),
  run(..."0123456789", "²", "½", "٣", "Ⅷ"),
  run(" "),
  run(" ", "\t", "\n", "\r", "\v", "\f", "\u00a0", "\u2003", "\u2028", "\u3000", "\ufeff"),
  run("\n", "\r\n", "\n  ", "/\n"),
  run(..."!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«»…—"),
  run("-"),
  run("'s", "'S", "'t", "'re", "'RE", "'vE", "'m", "'Ll", "'d", "'x", "'", "’s"),
  run(..."的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于"),
  run(..."가나다라마바사아자차카타파하한국어"),
  run(..."абвгдежзийклмноАБВГДЕЖЗ"),
  run("e\u0301", "a\u0308", "\u0327", "\u20e3", "\u0e31", "\u093f"),
  run("😀", "🚀", "👍🏽", "👩🏿‍💻", "👨‍👩‍👧‍👦", "🇫🇷", "\u200d", "🏻", "❤️"),
  run("\ud83d", "\ude00", "\udbff", "x\udc00"),
  run("<|endoftext|>", "<|im_start|>", "<|fim_prefix|>", "<|endofprompt|>"),
  fc.string({ unit: "binary", minLength: 1, maxLength: 6 }),
);
const ANY_TEXT = fc.array(ANY_RUN, { minLength: 1, maxLength: 6, size: "max" }).map((runs) => runs.join(""));

/** What counting costs, in operations. */
function cost(count: () => unknown): { lookups: number; updates: number } {
  const before = { ...work };
  count();
  return { lookups: work.lookups - before.lookups, updates: work.updates - before.updates };
}

Deno.test("loadCounter() loads no rank data before it is called", async () => {
  const fresh = new URL("../../src/tokens/counter.ts?fresh", import.meta.url).href;
  const counter: { isLoaded: typeof isLoaded; loadCounter: typeof loadCounter } = await import(fresh);
  assert.equal(counter.isLoaded("o200k_base"), false);
  const { encoding } = await counter.loadCounter();
  assert.equal(encoding, "o200k_base");
  assert.equal(counter.isLoaded("o200k_base"), true);
  assert.equal(counter.isLoaded("cl100k_base"), false);
});

Deno.test("loadCounter() shares one load between concurrent calls", async () => {
  const [first, second] = await Promise.all([loadCounter("cl100k_base"), loadCounter("cl100k_base")]);
  assert.equal(first, second);
  assert.equal(await loadCounter("cl100k_base"), first);
  assert.notEqual(await loadCounter(), first);
});

Deno.test("loadCounter() forgets a load that failed", async () => {
  const unknown = "toString" as Encoding;
  const wanted = { name: "RangeError", message: /found "toString", wanted o200k_base or cl100k_base/ };
  await assert.rejects(loadCounter(unknown), wanted);
  assert.equal(isLoaded(unknown), false);
  await assert.rejects(loadCounter(unknown), wanted);
});

Deno.test("readVocabulary() refuses rank data of another shape", () => {
  for (const data of ["", "IQ== 0\nIg== 1\n", "! 1 IQ==", "! 0 IQ==\n! 9 Ig=="]) {
    assert.throws(() => readVocabulary(data), TypeError);
  }
});

Deno.test("bound() is of the whole text, whatever it is called with beside it", async () => {
  const { bound } = await loadCounter();
  assert.deepEqual(["naïve", "中", "\ud800"].map(bound), [6, 3, 3]);
});

Deno.test("utf8Length() is the length that TextEncoder writes", () => {
  const encoder = new TextEncoder();
  const wanted = {
    "": 0,
    "a": 1,
    "\x7f": 1,
    "\x80": 2,
    "\u07ff": 2,
    "\u0800": 3,
    "é": 2,
    "中": 3,
    "😀": 4,
    "\ud83d": 3,
    "\ude00\ud83d": 6,
    "\ud83d\ud83d\ude00": 7,
  };
  for (const [text, bytes] of Object.entries(wanted)) {
    assert.equal(utf8Length(text), bytes, JSON.stringify(text));
  }
  fc.assert(
    fc.property(ANY_TEXT, (text) => assert.equal(utf8Length(text), encoder.encode(text).length)),
    runs(1000),
  );
});

for (const encoding of ENCODINGS) {
  Deno.test(`count() equals the oracle on fuzzed strings (${encoding})`, async () => {
    const { count } = await loadCounter(encoding);
    const oracle = new Tiktoken(RANKS[encoding]);
    fc.assert(
      fc.property(ANY_TEXT, (text) => assert.equal(count(text), oracle.encode(text, [], []).length)),
      runs(3000),
    );
  });

  Deno.test(`count() is at most bound() and zero for the empty string only (${encoding})`, async () => {
    const { count, bound } = await loadCounter(encoding);
    assert.equal(count(""), 0);
    fc.assert(
      fc.property(ANY_TEXT, (text) => {
        assert.ok(count(text) > 0);
        assert.ok(count(text) <= bound(text));
      }),
      runs(1000),
    );
  });

  Deno.test(`count() adds up over neutral cuts (${encoding})`, async () => {
    const { count } = await loadCounter(encoding);
    const afterLine = fc.tuple(
      ANY_TEXT.map((text) => `${text}\n`),
      fc.constantFrom("a", "Z", "0", "'s", "中", "é", "😀"),
    );
    const betweenWords = fc.tuple(ANY_TEXT.map((text) => `${text}9`), fc.constantFrom(" a", " Zed"));
    fc.assert(
      fc.property(fc.oneof(afterLine, betweenWords), ANY_TEXT, ([left, start], rest) => {
        assert.equal(count(left + start + rest), count(left) + count(start + rest));
      }),
      runs(1000),
    );
  });
}

Deno.test("count() equals stored counts", async () => {
  const { count } = await loadCounter();
  const wanted: [string, number][] = [
    ["hello world <|endoftext|>", 9],
    ["<|im_start|>system", 7],
    ["\ud800", 1],
    ["a\ud800b", 3],
    ["\ufeffhello", 2],
    ["a".repeat(100_000), 12_500],
    [" ".repeat(100_000), 782],
    ["\n".repeat(100_000), 6_250],
    ["中".repeat(100_000), 100_000],
  ];
  for (const [text, tokens] of wanted) assert.equal(count(text), tokens, JSON.stringify(text.slice(0, 30)));
});

Deno.test("count() over windows with neutral cuts equals the sum over lines", async () => {
  const { count } = await loadCounter();
  const line = (i: number) => `${i} selvages don't fray: naïve ${"x".repeat(i % 7)} 中文，${i * i}\n`;
  const lines = Array.from({ length: 9_000 }, (_, i) => line(i));
  assert.ok(lines.join("").length > 4 * 65_536);
  assert.equal(count(lines.join("")), lines.reduce((sum, text) => sum + count(text), 0));
  const words = Array.from({ length: 40_000 }, (_, i) => ` word${"s".repeat(i % 5)}`);
  assert.equal(count(`a${words.join("")}`), count("a") + words.reduce((sum, text) => sum + count(text), 0));
});

Deno.test("count() never cuts a surrogate pair in two", async () => {
  const { count } = await loadCounter();
  const text = `x${"😀".repeat(40_000)}`;
  assert.equal(count(text), count(text.slice(0, 65_535)) + count(text.slice(65_535)));
});

Deno.test("count() needs operations in proportion to the length", async () => {
  const { count } = await loadCounter();
  const runs: [string, number][] = [["a", 1_000_000], [" ", 1_000_000], ["ab", 500_000], ["-", 1_000_000]];
  const texts = runs.map(([unit, times]) => unit.repeat(times));
  texts.push("的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也".repeat(6_000));
  for (const text of texts) {
    const { lookups, updates } = cost(() => count(text));
    const n = utf8Length(text);
    assert.ok(lookups <= 4 * n + 100, `${lookups} look-ups for ${n} bytes of ${text.slice(0, 2)}`);
    assert.ok(updates <= 3 * n, `${updates} updates for ${n} bytes of ${text.slice(0, 2)}`);
  }
});

Deno.test("count() throws for no string", async () => {
  const { count } = await loadCounter();
  // Without windows the pattern overflows V8's stack from about 4.2 million on; the benchmark goes to 10 million.
  assert.equal(count("中".repeat(4_500_000)), 4_500_000);
  for (const text of ["\ud800".repeat(200_000), "\udc00\ud800".repeat(100_000), "\0".repeat(200_000)]) {
    assert.ok(count(text) > 0);
  }
});

Deno.test("count() with a limit is exact up to it and greater beyond it", async () => {
  const { count } = await loadCounter();
  fc.assert(
    fc.property(ANY_TEXT, fc.nat(40), (text, limit) => {
      const [exact, limited] = [count(text), count(text, limit)];
      if (exact <= limit) assert.equal(limited, exact);
      else assert.ok(limited > limit && limited <= exact);
    }),
    runs(1000),
  );
  assert.equal(count("one two three", NaN), 3);
  assert.equal(count("one two three", Infinity), 3);
});

Deno.test("count() with a limit stops early", async () => {
  const { count } = await loadCounter();
  const text = "The selvage keeps cloth from unravelling. ".repeat(25_000);
  const [whole, limited] = [cost(() => count(text)), cost(() => count(text, 1000))];
  assert.ok(limited.lookups < whole.lookups / 100, `${limited.lookups} of ${whole.lookups} look-ups`);
});

Deno.test("count() keeps no text in the state of RegExp", async () => {
  const { count } = await loadCounter();
  count(`a secret ${"of several windows ".repeat(10_000)}`);
  count("another secret", 1);
  assert.equal((RegExp as unknown as { input: string }).input, " ");
});
