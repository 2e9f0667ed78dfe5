import { deepEqual, equal, throws } from "node:assert/strict";
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { ClientError } from "../../src/client/mod.ts";
import { SseParser } from "../../src/client/sse.ts";
import { runs } from "../support/runs.ts";

interface Found {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** What the parser of the package gives: an id only where the event itself has one. */
function expected(text: string): readonly Found[] {
  const events: Found[] = [];
  const parser = createParser({
    onEvent: ({ id, event = "", data }) => events.push({ id, event, data }),
  });
  parser.feed(text);
  return events;
}

/** The text in pieces that end where the numbers say. */
function split(text: string, ends: readonly number[]): readonly string[] {
  const at = [...new Set(ends.map((end) => end % (text.length + 1)))].sort((a, b) => a - b);
  return [...at, text.length].map((end, index) => text.slice(at[index - 1] ?? 0, end));
}

const line = fc.oneof(
  fc.constantFrom("data: a", "data:b", "data", "data: ", "event: step", "event:", "id: t:1", "id: t:2"),
  fc.constantFrom(
    ": comment",
    ":",
    "retry: 10",
    "other: x",
    "data:  two",
    "data: ä€😀",
    "datax: 1",
    " data: 1",
  ),
  fc.string({ maxLength: 8 }).map((text) => `data: ${text.replace(/[\r\n]/g, "")}`),
);
const text = fc.array(fc.tuple(fc.oneof(line, fc.constant("")), fc.constantFrom("\n", "\r\n", "\r")), {
  maxLength: 30,
}).map((lines) => lines.map((parts) => parts.join("")).join(""));

Deno.test("SseParser finds what eventsource-parser finds, wherever chunks end", () => {
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 12 }), (text, ends) => {
      // A CR at the very end may still become a CR LF: what follows decides.
      const whole = `${text}: end\n`;
      const parser = new SseParser();
      const found = split(whole, ends).flatMap((piece) => parser.push(piece));
      const wanted = expected(whole);
      // Ours last until the next one, as the standard has it.
      deepEqual(found, wanted.map(({ id, ...event }, at) => ({ ...event, id: id ?? found[at]?.id })));
    }),
    runs(2_000),
  );
});

Deno.test("SseParser gives an event with its blank line, not later, and never one without it", () => {
  const parser = new SseParser();
  deepEqual(parser.push("\ufeffid: t:1\r\nevent: a\rdata: 1\ndata: 2\r\n\r"), [
    { id: "t:1", event: "a", data: "1\n2" },
  ]);
  deepEqual(parser.push("\ndata: 3\n"), []);
  deepEqual(parser.push("\n"), [{ id: "t:1", event: "", data: "3" }]);
  deepEqual(parser.push("data: cut o"), []);
});

Deno.test("SseParser takes a long line in many pieces in linear time, and none without an end", () => {
  const parser = new SseParser();
  const piece = "x".repeat(1_024 * 1_024);
  parser.push("data: ");
  for (let n = 0; n < 8; n++) deepEqual(parser.push(piece), []);
  equal(parser.push("\n\n")[0]?.data.length, 8 * piece.length);
  throws(
    () => {
      for (let n = 0; n < 80; n++) parser.push(piece);
    },
    (error) => error instanceof ClientError && error.code === "bad_answer",
  );
});
