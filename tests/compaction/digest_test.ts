import assert from "node:assert/strict";
import { clip, digestOf, firstSentence, LONG, renderArgs, shortHash } from "../../src/compaction/digest.ts";
import { processorMs } from "../support/processor.ts";
import { prose } from "../support/turns.ts";

function args(input: unknown, verbatim: readonly string[] = []): unknown {
  return JSON.parse(renderArgs({ input }, verbatim));
}

Deno.test("shortHash() is FNV-1a", () => {
  assert.equal(shortHash(""), "811c9dc5");
  assert.equal(shortHash("a"), "e40c292c");
  assert.equal(shortHash("foobar"), "bf9cf968");
});

Deno.test("clip() keeps both ends, the length and a hash", () => {
  const text = prose(500);
  assert.equal(clip(text, 500), text);
  const short = clip(text, 100);
  assert.equal(short, `${text.slice(0, 60)}…${text.slice(-25)} (500 characters, #${shortHash(text)})`);
  assert.notEqual(clip(`${text} `, 100), short);
});

Deno.test("clip() leaves surrogate pairs whole", () => {
  for (let n = 0; n < 8; n++) assert.ok(clip("x".repeat(n) + "😀".repeat(60), 99).isWellFormed());
});

Deno.test.each(
  [
    ["path"],
    ["paths"],
    ["file_path"],
    ["filePath"],
    ["old-path"],
    ["command"],
    ["CMD"],
    ["query"],
    ["search_query"],
    ["sourceFile"],
    ["file2"],
    ["path_10"],
    ["url"],
  ],
)("renderArgs() keeps %s to 400 characters", (name) => {
  const value = prose(LONG);
  assert.deepEqual(args({ [name]: value }), { [name]: value });
  const longer = prose(LONG + 1);
  assert.deepEqual(args({ [name]: longer }), { [name]: clip(longer, LONG) });
});

Deno.test("renderArgs() clips other strings sooner, unless their tool wants them", () => {
  const value = prose(300);
  assert.deepEqual(args({ content: value, file_content: value }), {
    content: clip(value, 120),
    file_content: clip(value, 120),
  });
  assert.deepEqual(args({ content: value }, ["content"]), { content: value });
});

Deno.test("renderArgs() keeps scalars and short values as they are", () => {
  const input = { a: 1.5, b: true, c: null, d: [1, "x"], e: { f: "g" }, h: "" };
  assert.equal(renderArgs({ input }, []), JSON.stringify(input));
});

Deno.test("renderArgs() keeps paths inside nested arguments", () => {
  const path = `src/${"folder/".repeat(20)}file.ts`;
  const input = {
    edits: [{ path, old: prose(900), new: prose(900, 2) }],
    options: { deep: { query: prose(380) } },
  };
  assert.deepEqual(args(input), {
    edits: [{ path, old: clip(prose(900), 60), new: clip(prose(900, 2), 60) }],
    options: { deep: { query: prose(380) } },
  });
});

Deno.test("renderArgs() has an end, however large the arguments are", () => {
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`name${n}`, n]));
  const rendered = renderArgs({ input: many }, []);
  assert.ok(rendered.length < 2_500);
  assert.match(rendered, /,"…":"\d{4} more arguments"\}$/);
  assert.doesNotThrow(() => JSON.parse(rendered));
  const list = { items: Array.from({ length: 5_000 }, (_, n) => `item ${n}`) };
  assert.ok(renderArgs({ input: list }, []).length < 1_000);
  let deep: unknown = "end";
  for (let n = 0; n < 500; n++) deep = { deep };
  assert.ok(renderArgs({ input: { deep } }, []).length < 500);
  assert.ok(renderArgs({ input: { ["k".repeat(5_000)]: 1 } }, []).length < 300);
  const control = "\u0001".repeat(LONG);
  assert.ok(renderArgs({ input: { path: control, command: control, query: control } }, []).length < 2_500);
});

Deno.test("renderArgs() keeps five paths whole beside long contents, and says what of it is brief", () => {
  const paths = Array.from({ length: 5 }, (_, n) => [`path_${n}`, prose(300, n)] as const);
  const contents = Array.from({ length: 20 }, (_, n) => [`content_${n}`, prose(3_000, n)] as const);
  const shown = args(Object.fromEntries([...paths, ...contents])) as Record<string, string>;
  for (const [name, value] of paths) assert.equal(shown[name], value);
  assert.equal(shown["content_0"], clip(prose(3_000, 0), 120));
  assert.match(shown["…"] ?? "", /^\d+ more arguments$/);
});

Deno.test.each([[undefined], [null], ["text"], [[1, 2]], [7]])(
  "renderArgs() writes arguments that are no object as a text: %j",
  (input) => {
    assert.equal(args(input), JSON.stringify(input) ?? "null");
  },
);

Deno.test("renderArgs() keeps an argument called __proto__", () => {
  assert.equal(renderArgs({ input: JSON.parse('{"__proto__":{"a":1}}') }, []), '{"__proto__":{"a":1}}');
});

const filler = prose(400);

Deno.test("digestOf() says all of a short text, and of a long one the ends and the size", () => {
  assert.equal(digestOf("exit 0\nfine"), "exit 0\nfine");
  assert.equal(
    digestOf(`first line\n\n${filler}\nlast line\n`),
    "first line … last line (3 lines, 423 characters)",
  );
  assert.equal(digestOf(filler), `${clip(filler, 90)} (1 line, 400 characters)`);
  assert.equal(digestOf("\n".repeat(300)), " (0 lines, 300 characters)");
});

Deno.test.each(
  [
    ["exit 1"],
    ["exit code 1"],
    ["exit code: -9"],
    ["exited with code 127"],
    ["exit status = 2"],
    ['"exitCode": 1'],
    ['"exit_code":1'],
    ["returncode=3"],
    ["12 passed"],
    ["1 failed"],
    ["3 failing"],
    ["2 failures"],
    ["17 errors"],
    ["4 files changed"],
    ["120 matches"],
  ],
)("digestOf() finds %j in the middle of a long result", (found) => {
  const digest = digestOf(`start\n${filler}\nso: ${found}, and\n${filler}\nend`);
  assert.ok(digest.includes(found.replace(/^"/, "")), digest);
});

Deno.test("digestOf() gives the last counts, and no exit code is lost among them", () => {
  const suites = Array.from({ length: 50 }, (_, n) => `suite ${n}: ${n + 1} passed, ${n} skipped`).join("\n");
  const digest = digestOf(`${suites}\n51 passed\n2 failed\nexit code 1\nbye`);
  assert.match(digest, /; exit code 1, .*51 passed, 2 failed\)$/);
  assert.ok(digest.length < 300);
});

Deno.test("digestOf() takes no more than a moment for what regular expressions dislike", async () => {
  for (
    const text of [
      `exit${" ".repeat(1_000_000)}`,
      "9".repeat(1_000_000),
      "exit code ".repeat(100_000),
      "1 ".repeat(500_000),
    ]
  ) {
    assert.ok(await processorMs(() => digestOf(text)) < 2_000);
  }
});

Deno.test("firstSentence() ends at the first stop, and is clipped", () => {
  assert.equal(firstSentence("  It works. I tested it."), "It works.");
  assert.equal(firstSentence("Version 1.5 is\nout! Yes"), "Version 1.5 is\nout!");
  assert.equal(firstSentence("no stop at all"), "no stop at all");
  assert.equal(firstSentence(filler), clip(filler.trim(), 200));
});
