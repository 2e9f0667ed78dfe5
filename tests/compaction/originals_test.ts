import { deepEqual, equal, match, ok } from "node:assert/strict";
import fc from "fast-check";
import { originalText, pageOf, parseRef, searchOriginals } from "../../src/compaction/originals.ts";
import { assistant, callPart, numbered, result, user } from "../support/entries.ts";
import { runs } from "../support/runs.ts";

const entries = numbered([
  (seq) =>
    user(seq, [{ type: "text", text: "Find the Leak." }, {
      type: "file",
      mediaType: "image/png",
      data: "AA",
    }]),
  (seq) =>
    assistant(seq, [
      { type: "reasoning", text: "Two files may hold it." },
      { type: "text", text: "I look." },
      callPart("read", { path: "a.ts" }),
      callPart("read", { path: "b.ts" }),
    ]),
  (seq) => result(seq, "e1.1", "beta\nthe leak is here\nomega"),
  (seq) =>
    result(seq, "e1.0", { type: "error-json", value: { code: 2, hint: "no leak" } }, { status: "error" }),
  (seq) => assistant(seq, "It is in b.ts."),
]);

function textOf(ref: string): string | null {
  const parsed = parseRef(ref);
  ok(parsed !== null, ref);
  return originalText(entries, parsed);
}

Deno.test.each([["e3..e1"], ["41"], ["e"], ["e1.0.0"], ["e1.."], ["e-1"], ["e1..3"], [""], [" e1"]])(
  "parseRef() gives null for %j",
  (text) => equal(parseRef(text), null),
);

Deno.test("originalText() writes what each kind of ref stands for", () => {
  equal(textOf("e0"), "e0 user:\nFind the Leak.\n[file image/png]");
  equal(
    textOf("e1"),
    'e1 assistant:\nreasoning: Two files may hold it.\nI look.\ne1.0 call of read: {"path":"a.ts"}\n' +
      'e1.1 call of read: {"path":"b.ts"}',
  );
  const call =
    'e1.0 call of read: {"path":"a.ts"}\ne1.0 result of read (error):\n{"code":2,"hint":"no leak"}';
  equal(textOf("e1.0"), call);
  equal(textOf("e3"), call, "a result is shown with its call");
  equal(
    textOf("e2..e4"),
    [
      "e1.1 result of read (ok):\nbeta\nthe leak is here\nomega",
      'e1.0 result of read (error):\n{"code":2,"hint":"no leak"}',
      "e4 assistant:\nIt is in b.ts.",
    ].join("\n\n"),
  );
  for (const ref of ["e5", "e0.0", "e1.2", "e5..e9"]) equal(textOf(ref), null, ref);
});

Deno.test("originalText() says where a call has no result yet", () => {
  const ref = parseRef("e1.0");
  ok(ref !== null);
  match(originalText(entries.slice(0, 2), ref) ?? "", /\n\(no result yet\)$/);
});

Deno.test("pageOf() loses no character over any pages, and cuts no surrogate pair in two", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 9 }), (text, limit) => {
      let read = "";
      for (let offset = 0; offset < text.length;) {
        const page = pageOf(text, { offset, limit });
        equal(page.offset, offset);
        equal(page.total, text.length);
        ok(page.end > offset, "a page moves on");
        ok(page.text.isWellFormed() || !text.isWellFormed());
        read += page.text;
        offset = page.end;
      }
      equal(read, text);
    }),
    runs(),
  );
});

Deno.test("searchOriginals() names each ref that holds a text, and where in its text", () => {
  const { hits } = searchOriginals(entries, { search: "LEAK", ref: null, most: 10 });
  deepEqual(hits.map(({ ref, times }) => [ref, times]), [["e0", 1], ["e1.1", 1], ["e1.0", 1]]);
  for (const { ref, at } of hits) match((textOf(ref) ?? "").slice(at), /^leak/i);
  equal(hits[1]?.text, "the leak is here");
});

Deno.test("searchOriginals() takes * for anything within a line, and nothing else for more than it is", () => {
  const find = (search: string) =>
    searchOriginals(entries, { search, ref: null, most: 10 }).hits.map(({ ref }) => ref);
  deepEqual(find("the*here"), ["e1.1"]);
  deepEqual(find("beta*here"), [], "not over the end of a line");
  deepEqual(find("(a+)+$"), []);
  deepEqual(find("b.ts"), ["e1", "e4"]);
  deepEqual(find("bxts"), []);
  deepEqual(find("***"), []);
});

Deno.test("searchOriginals() gives all places of one ref, and stops at the most", () => {
  const log = [user(0, "one two one\none")];
  const ref = { kind: "entry", seq: 0 } as const;
  const { hits } = searchOriginals(log, { search: "one", ref, most: 10 });
  deepEqual(hits.map(({ at }) => at), [9, 17, 21]);
  equal(searchOriginals(log, { search: "one", ref, most: 2 }).hits.length, 2);
});

Deno.test("searchOriginals() finds a text wherever it stands, as a plain search would", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "İ", "\n", "*"), maxLength: 30 });
  fc.assert(
    fc.property(letters, letters, (text, search) => {
      const words = search.split("*").filter((word) => word !== "");
      if (words.length === 0) return;
      const isIn = text.split("\n").some((line) => {
        let at = 0;
        return words.every((word) => (at = line.indexOf(word, at)) >= 0 && (at += word.length) >= 0);
      });
      const { hits } = searchOriginals([user(0, text)], { search, ref: null, most: 1 });
      if (!search.includes("\n") && !/[user:0]/.test(search)) {
        equal(hits.length > 0, isIn, JSON.stringify([text, search]));
      }
    }),
    runs(),
  );
});

Deno.test.each(
  [
    ["\nx", "\n*b", 0],
    ["\n\nab", "\n*b", 1],
    ["b\nb\nb a", "b\nb*a", 1],
    ["a\nb c", "a\nb*c", 1],
    ["a\nb\nc", "a\nb*c", 0],
    ["\n".repeat(20_000), "\n*b*\n", 0],
  ] as const,
)(
  "searchOriginals() comes to an end where a search holds the end of a line: %j, %j",
  (text, search, times) => {
    const { hits } = searchOriginals([user(0, text), user(1, "b")], { search, ref: null, most: 9 });
    equal(hits.filter(({ ref }) => ref === "e0").length, times);
  },
);

Deno.test("searchOriginals() takes no longer than the text is long, whatever is looked for", () => {
  const text = "a".repeat(3_000_000);
  const { hits } = searchOriginals([user(0, text)], { search: "a*b*a*b*c", ref: null, most: 5 });
  deepEqual(hits, []);
});
