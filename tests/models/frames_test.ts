import { deepEqual, equal, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import { Frames } from "../../src/models/_frames.ts";
import { runs } from "../support/runs.ts";

/** A text as one frame has it and another does not: plain, or with every character escaped. */
const literal = fc.tuple(fc.string({ unit: "binary" }), fc.boolean()).map(([text, isEscaped]) =>
  isEscaped
    ? `"${[...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join("")}"`
    : JSON.stringify(text)
);
const chunk = (text: string): string =>
  `{"id":"c1","choices":[{"index":0,"delta":{"content":${text}},"end":null}]}`;
/** Frames of a stream: mostly alike, now and then another kind, or none at all. */
const frame = fc.oneof(
  { weight: 8, arbitrary: literal.map(chunk) },
  { weight: 1, arbitrary: literal.map((id) => chunk('"x"').replace('"c1"', () => id)) },
  { weight: 1, arbitrary: literal.map((key) => `{${key}:"a","b":"c"}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      chunk('"x",'),
      chunk('"x"').replace("null", "true"),
      chunk('"x","content":"y"'),
      "{",
      "7",
      '"x"',
      "",
      "[1,2]",
    ),
  },
  { weight: 1, arbitrary: fc.json() },
);

function parsed(parse: (text: string) => unknown, text: string): unknown {
  try {
    return { value: structuredClone(parse(text)) };
  } catch (error) {
    return { is: (error as Error).name };
  }
}

Deno.test("Frames parses each frame as JSON.parse does", () => {
  fc.assert(
    fc.property(fc.array(frame, { minLength: 12, maxLength: 60 }), (all) => {
      const frames = new Frames();
      for (const data of all) deepEqual(parsed((text) => frames.parse(text), data), parsed(JSON.parse, data));
    }),
    runs(300),
  );
});

Deno.test("Frames takes the string that frames of a burst differ in, and no more than that", () => {
  const texts = [
    ..."abcdefghijklmnop",
    'say \\"hi\\"',
    "\\u00e9\\n",
    "",
    "\\ud800",
    "x".repeat(10_000),
    "end",
  ];
  const frames = new Frames();
  const seen = texts.map((text) =>
    frames.parse(chunk(`"${text}"`)) as { choices: { delta: { content: string } }[] }
  );
  // One object again and again: that is what it is good for.
  ok(new Set(seen).size < texts.length);
  equal(seen.at(-1)?.choices[0]?.delta.content, "end");
  // More than one string, then a string that is closed too early, and one that is not closed.
  const other = chunk('"x"').replace("c1", "c2");
  deepEqual(frames.parse(other), JSON.parse(other));
  const ended = chunk('"x"').replace("null", "true");
  deepEqual(frames.parse(ended), JSON.parse(ended));
  throws(() => frames.parse(chunk('"a"b"')), SyntaxError);
  throws(() => frames.parse(chunk('"a')), SyntaxError);
  deepEqual(frames.parse('{"__proto__":"a"}'), JSON.parse('{"__proto__":"a"}'));
  deepEqual(frames.parse(chunk('"again"')), JSON.parse(chunk('"again"')));
});

Deno.test("Frames takes the string also where what is around it has changed", () => {
  const frames = new Frames();
  const parse = (id: string): Set<unknown> =>
    new Set(
      Array.from({ length: 100 }, (_, n) => frames.parse(chunk(`"${n}"`).replace("c1", id))),
    );
  // Some are parsed before it is known what they have in common, and once more behind the change.
  ok(parse("c1").size < 15);
  ok(parse("c2").size < 15);
});
