import { deepEqual, equal, ok } from "node:assert/strict";
import fc from "fast-check";
import { elementSpans, fieldStart, jsonList, parseExact } from "../../src/formats/source.ts";
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

Deno.test("parseExact() takes any depth that JSON.parse takes", () => {
  const text = "[".repeat(50_000) + "1234567890123456789" + "]".repeat(50_000);
  ok(Array.isArray(parseExact(text)));
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
