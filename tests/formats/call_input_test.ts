import { deepEqual, equal } from "node:assert/strict";
import { inputText, isUnparsed, parseInput } from "../../src/formats/call_input.ts";

Deno.test.each<[string, unknown, boolean]>([
  ["", {}, false],
  [" \n", {}, false],
  ['{"a":[1]}', { a: [1] }, false],
  ["[1]", { unparsed_arguments: "[1]" }, true],
  ['"x"', { unparsed_arguments: '"x"' }, true],
  ["null", { unparsed_arguments: "null" }, true],
  ['{"a":', { unparsed_arguments: '{"a":' }, true],
])("parseInput() makes an object of %j", (text, input, unparsed) => {
  deepEqual(parseInput(text), input);
  equal(isUnparsed(parseInput(text)), unparsed);
  if (unparsed) equal(inputText(parseInput(text)), text);
});

Deno.test("inputText() writes arguments as JSON, whatever they are", () => {
  equal(inputText({ a: 1 }), '{"a":1}');
  equal(inputText(undefined), "{}");
  equal(inputText({ unparsed_arguments: 1 }), '{"unparsed_arguments":1}');
  equal(inputText({ unparsed_arguments: "x", more: 1 }), '{"unparsed_arguments":"x","more":1}');
});
