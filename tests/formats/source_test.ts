import { deepEqual, equal, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import {
  elementSpans,
  fieldStart,
  findDeep,
  jsonList,
  MAX_LEVELS,
  parseExact,
  shapeOf,
} from "../../src/formats/source.ts";
import { runs } from "../support/runs.ts";

/** JSON text of any value, with white space of any kind between its tokens. */
const jsonText = fc.tuple(fc.jsonValue(), fc.constantFrom(0, 1, 4, "\t")).map(([value, indent]) =>
  JSON.stringify(value, null, indent)
);

Deno.test("elementSpans() finds the elements that JSON.parse finds, whatever is in them", () => {
  fc.assert(
    fc.property(
      fc.array(jsonText),
      fc.constantFrom("", " ", "\n  ", "\r\n\t"),
      (elements, space) => {
        const text = `${space}[${elements.map((element) => space + element + space).join(",")}${space}]`;
        const spans = elementSpans(text, text.indexOf("["));
        deepEqual(spans.map(({ from, to }) => text.slice(from, to)), elements);
      },
    ),
    runs(),
  );
});

Deno.test("fieldStart() finds the field that JSON.parse takes, and null where there is none", () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(
          fc.constantFrom("messages", "mess\\u0061ges", "message", "", "{", '\\"messages\\"'),
          jsonText,
        ),
      ),
      (fields) => {
        const text = ` { ${fields.map(([name, value]) => `"${name}" : ${value}`).join(" , ")} } `;
        const parsed = JSON.parse(text);
        const start = fieldStart(text, "messages");
        if (!Object.hasOwn(parsed, "messages")) return equal(start, null);
        const [span] = elementSpans(`[${text.slice(start ?? 0).trimEnd().slice(0, -1)}]`, 0);
        const value = `[${text.slice(start ?? 0).trimEnd().slice(0, -1)}]`.slice(span?.from, span?.to);
        deepEqual(JSON.parse(value), parsed["messages"]);
      },
    ),
    runs(),
  );
});

Deno.test("parseExact() gives what JSON.parse gives, and writes long numbers as they were", () => {
  fc.assert(
    fc.property(jsonText, (text) => {
      if (!/\d{16}/.test(text)) deepEqual(parseExact(text), JSON.parse(text));
    }),
    runs(),
  );
  for (
    const text of [
      "12345678901234567890",
      '{"a":[-9007199254740993],"b":"1234567890123456789"}',
      '{"a":0.1000000000000000055511151231257827}',
    ]
  ) {
    equal(JSON.stringify(parseExact(text)), text);
  }
  ok(Object.hasOwn(parseExact('{"__proto__":1234567890123456789}') as object, "__proto__"));
});

Deno.test("parseExact() takes texts up to its levels, numbers without a stack for them as they are, and no deeper ones", () => {
  const nested = (levels: number) => "[".repeat(levels) + "1234567890123456789" + "]".repeat(levels);
  ok(Array.isArray(parseExact(nested(MAX_LEVELS))));
  throws(() => parseExact(nested(MAX_LEVELS + 1)), /^SyntaxError: found JSON nested more than 10000 levels/);
});

Deno.test("findDeep() finds what is nested too deeply, and what stands in front of it", () => {
  const cases: readonly [text: string, begin: string | null, isClosed?: boolean][] = [
    ["[[1],{}]", null],
    ["[[[1]]]", "[[[]]]", true],
    ['{"a":[1,{"b":2}],"c":3}', '{"a":[1,[]]}', true],
    ['{"a":{"b":{', '{"a":{"b":[]}}', false],
    ['["[[[[",{"{{\\\\\\"[[[":"\\\\"}]', null],
    ['["\\\\",[[]]]', '["\\\\",[[]]]', true],
    ['["[[[', null],
    ["]]][[1]]", null],
    ["[],[],[[]]", null],
    ['"\ud800[[[\udc00"', null],
  ];
  for (const [text, begin, isClosed] of cases) {
    deepEqual(findDeep(text, 2), begin === null ? null : { begin, isClosed }, text);
  }
});

Deno.test("findDeep() agrees with the depth of what JSON.parse gives", () => {
  const depthOf = (value: unknown): number =>
    typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 5 }), (value, levels) => {
      const deep = findDeep(JSON.stringify(value), levels);
      equal(deep !== null, depthOf(value) > levels);
      if (deep !== null) equal(depthOf(JSON.parse(deep.begin)), levels + 1);
    }),
    runs(500),
  );
});

Deno.test("shapeOf() counts commas and opening brackets, and none in a string", () => {
  const cases: readonly [text: string, marks: number][] = [
    ["1", 0],
    ["[]", 1],
    ["[[],{}]", 4],
    ['{"a":[1,"x,[{",3],"b,":"\\\\"}', 5],
    ['["\\"",","]', 2],
    ['["[,', 1],
  ];
  for (const [text, marks] of cases) equal(shapeOf(text, 10).marks, marks, text);
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 5 }), (value, levels) => {
      const text = JSON.stringify(value);
      const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, "");
      equal(shapeOf(text, levels).marks, bare.match(/[,[{]/g)?.length ?? 0);
    }),
    runs(500),
  );
});

Deno.test("elementSpans() takes a time that grows with the text: backslashes, quotes, depth", () => {
  for (
    const element of [
      `"${"\\\\".repeat(500_000)}"`,
      `"${'\\"'.repeat(500_000)}"`,
      "[".repeat(500_000) + "]".repeat(500_000),
    ]
  ) {
    deepEqual(elementSpans(`[${element}]`, 0), [{ from: 1, to: element.length + 1 }]);
  }
});

Deno.test("jsonList() writes messages that came in with their own text and others as JSON", () => {
  const [one, two] = [{ a: 1 }, { b: 2 }];
  equal(jsonList([one, two, one], new Map([[one, '{ "a": 1.0 }']])), '[{ "a": 1.0 },{"b":2},{ "a": 1.0 }]');
  equal(jsonList([], new Map()), "[]");
});
