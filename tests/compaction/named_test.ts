/** What a ledger names of lines that it only counts, and of texts that it shortens. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { clip, digestOf, LONG, saidBy } from "../../src/compaction/digest.ts";
import { errorLines, kindOf, ruleSentences, tokensIn } from "../../src/compaction/facts.ts";
import { fitLedger } from "../../src/compaction/fit_ledger.ts";
import { type LedgerLine, renderLedger } from "../../src/compaction/ledger.ts";
import { parseLedger } from "../../src/compaction/parse_ledger.ts";
import { loadMeasure } from "../../src/loop/measures.ts";
import { measureText } from "../../src/tokens/measure.ts";
import { runs } from "../support/runs.ts";
import { prose } from "../support/turns.ts";

const measure = await loadMeasure();

function pair(seq: number, digest: string, args: unknown = {}): LedgerLine {
  return {
    kind: "pair",
    seq,
    ref: `e${seq}.0`,
    tool: "run",
    args: JSON.stringify(args),
    status: "ok",
    digest,
  };
}

const namedIn = (lines: readonly LedgerLine[]): readonly string[] =>
  lines.flatMap((line) => line.kind === "range" ? line.facts ?? [] : []);

Deno.test.each(
  [
    ["see https://example.org/a?b=1#c), or", "url", "https://example.org/a?b=1#c"],
    ["in ./src/core/cut.ts:41", "path", "./src/core/cut.ts"],
    ['{"path":"/etc/ssl/openssl.cnf"}', "path", "/etc/ssl/openssl.cnf"],
    ["commit 3f2a9bc1 of", "hash", "3f2a9bc1"],
    ["order WX-4711 is", "id", "WX-4711"],
    ["user mia_kim_4397 has", "id", "mia_kim_4397"],
  ] as const,
)("tokensIn() finds in %j the %s", (text, kind, found) => {
  assert.deepEqual(tokensIn(text), [{ kind, text: found }]);
  assert.equal(kindOf(found), kind);
});

Deno.test("errorLines() and ruleSentences() give the line, or the sentence, and nothing beside it", () => {
  assert.deepEqual(errorLines("one\n  E2: cannot open a.ts\ntwo failed\nthree", 5), [
    "E2: cannot open a.ts",
    "two failed",
  ]);
  assert.deepEqual(errorLines("all is well", 5), []);
  assert.deepEqual(ruleSentences("Fix it. Never touch the lock file! You must ask first. Thanks.", 5), [
    "Never touch the lock file",
    "You must ask first",
  ]);
  assert.deepEqual(ruleSentences("Never edit src/db.ts or v2.1 of it. Don’t ask… You shouldn't wait?", 5), [
    "Never edit src/db.ts or v2.1 of it",
    "Don’t ask… You shouldn't wait",
  ]);
});

Deno.test("ruleSentences() shows of a sentence that is too long the part that binds", () => {
  const [rule = ""] = ruleSentences(`${"when it rains ".repeat(25)}you must never open the roof. Thanks.`, 5);
  assert.match(rule, /you must never open the roof$/);
  assert.ok(rule.length <= 240);
});

Deno.test("a digest names what a long result names, its first error above all", () => {
  const text = `start\n${prose(400)}\nfatal: no such ref 3f2a9bc1\n${
    prose(200)
  }\nsee https://example.org/log/7\nend`;
  const digest = digestOf(text);
  assert.match(digest, /^start … fatal: no such ref 3f2a9bc1 … end \(/);
  assert.match(digest, /; names https:\/\/example\.org\/log\/7\)$/);
});

Deno.test("saidBy() keeps the sentences of a long message that bind", () => {
  const rule = "You must never push to the branch called main";
  const said = saidBy(`Hello. ${prose(600)}. ${rule}. ${prose(600, 2)}.`);
  assert.ok(said.includes(rule));
  assert.ok(said.length < LONG + 400);
  assert.equal(saidBy(prose(LONG)), prose(LONG));
});

Deno.test("fitLedger() names what lines told that it only counts, and a later pass goes on naming it", () => {
  const lines = [
    { kind: "user" as const, seq: 0, text: "Fix the build. Do not touch the lock file." },
    pair(1, "ok", { path: "src/weft/loom.ts" }),
    pair(3, "commit 3f2a9bc1, see https://example.org/log/7"),
    pair(5, "error: cannot find warp.ts"),
    ...Array.from({ length: 6 }, (_, n) => pair(7 + 2 * n, prose(150, n))),
  ];
  const wanted = [
    "src/weft/loom.ts",
    "https://example.org/log/7",
    "3f2a9bc1",
    "error: cannot find warp.ts",
  ];
  const once = fitLedger(lines, { tokens: 320, measure });
  assert.deepEqual([...namedIn(once)].sort(), [...wanted].sort());
  // By the text alone, as a client sends it back.
  const read = parseLedger(renderLedger(once));
  assert.deepEqual(read?.lines, once);
  assert.deepEqual(fitLedger(once, { tokens: 320, measure }), once);
  const more = Array.from({ length: 4 }, (_, n) => pair(30 + 2 * n, prose(150, n)));
  const later = fitLedger([...read?.lines ?? [], ...more], { tokens: 320, measure });
  for (const fact of wanted) assert.ok(namedIn(later).includes(fact), fact);
  assert.ok(measureText(renderLedger(later), measure) <= 320);
});

Deno.test("a rule of a user outlives the line that it stood in", () => {
  const lines: LedgerLine[] = Array.from({ length: 12 }, (_, n) => ({
    kind: "user",
    seq: n,
    text: n === 3 ? `${prose(200)}. Never call the customer twice. ${prose(100)}` : prose(300, n),
  }));
  const kept = fitLedger(lines, { tokens: 200, measure });
  assert.deepEqual(namedIn(kept), ["Never call the customer twice"]);
});

Deno.test("what binds in a long task outlives its other words, and every line but its own, over many passes", () => {
  const rules = Array.from({ length: 8 }, (_, n) => `Rule ${n}: never change the interface of module ${n}`);
  const text = rules.map((rule, n) => `${prose(400, n)}. ${rule}.`).join(" ");
  const task: LedgerLine = { kind: "user", seq: 0, text: saidBy(text) };
  const pairs = (from: number): LedgerLine[] =>
    Array.from({ length: 12 }, (_, n) => pair(from + 2 * n, prose(150, n), { path: `src/f${from + n}.ts` }));
  const toldIn = (lines: readonly LedgerLine[]): string =>
    lines.map((line) => line.kind === "user" ? line.text : "").join("");
  let ledger = fitLedger([task, ...pairs(1)], { tokens: 300, measure });
  for (let pass = 1; pass < 4; pass++) {
    for (const rule of rules) assert.ok(toldIn(ledger).includes(rule), rule);
    assert.ok(measureText(renderLedger(ledger), measure) <= 300);
    ledger = fitLedger([...ledger, ...pairs(1 + 100 * pass)], { tokens: 300, measure });
  }
  // Where there is room for some of them, those that were said first stay.
  const less = toldIn(fitLedger(ledger, { tokens: 220, measure }));
  assert.ok(less.includes(rules[0] ?? "") && less.includes(rules[1] ?? ""), less);
});

Deno.test("what a ledger names cannot pass for its frame, and reads back, whatever it is", () => {
  const words = fc.constantFrom(
    "[end of ledger; check 00000000]",
    '; named ["x"]',
    "must",
    "error",
    "src/a.ts",
    "\n",
    "\u2028",
    '"',
    "\\",
    "https://a.example/b",
    "e1..e2 3 calls: run 3 ok",
    ". ",
  );
  const text = fc.array(words, { maxLength: 12 }).map((parts) => parts.join(" "));
  const line = fc.tuple(fc.nat(99), text, fc.boolean()).map(([seq, text, isUser]): LedgerLine =>
    isUser ? { kind: "user", seq, text } : pair(seq, text)
  );
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 90, max: 500 }),
      (lines, tokens) => {
        const kept = fitLedger(lines, { tokens, measure });
        const rendered = renderLedger(kept);
        assert.deepEqual(parseLedger(rendered)?.lines, kept);
        assert.deepEqual(fitLedger(kept, { tokens, measure }), kept);
        assert.equal(rendered.match(/\[end of ledger/g)?.length, 1);
      },
    ),
    runs(60),
  );
});

Deno.test("the mark that a shortening leaves is no fact: in a range it would lead nowhere", () => {
  const text = `${"é".repeat(300)} order WX-4711`;
  const lines = [1, 2, 3, 4, 5, 6].map((n) =>
    pair(n, clip(`${n} ${text}`, 160), { text: clip(`${n} ${text}`, 120) })
  );
  const named = namedIn(fitLedger(lines, { tokens: 160, measure }));
  assert.deepEqual(named, ["WX-4711"]);
});

Deno.test("facts take a bounded number of steps to find in what regular expressions dislike", () => {
  // A square of these would be 10^12 steps: it would not end within any test.
  const long = 1_000_000;
  for (
    const unit of ["a", "a/", "@", "~/", "-.", "a_", "A1", "0f", "http://", "error\n", "must ", "e", "."]
  ) {
    const text = unit.repeat(long / unit.length);
    assert.ok(digestOf(text).length < 1_500);
    assert.ok(saidBy(text).length < 3_600);
    tokensIn(text);
  }
});
