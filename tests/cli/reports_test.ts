/** What the command says for people: reports, pictures, diffs. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { diffMessages } from "../../src/_cli_diff.ts";
import { drawAtoms } from "../../src/_cli_picture.ts";
import { createPaint, plain, wrap } from "../../src/_cli_text.ts";
import { describeTranscript } from "../../src/formats/describe.ts";
import { readTranscript } from "../../src/formats/read.ts";
import { call, result, user } from "../support/chat.ts";
import { openaiFaults } from "../support/dialects.ts";
import type { Json } from "../support/wire_json.ts";
import { lines, ROOT, run, testInFolder, write } from "../support/command.ts";

testInFolder(
  "selvage check reports violations with their lines, calls in flight, cuts and a picture",
  async (folder) => {
    const file = await write(
      `${folder}/t.jsonl`,
      lines([user("Go."), result("x", "who asked?"), call("a"), result("a"), call("b")]),
    );
    const { code, out, err } = await run(["check", file]);
    equal(code, 1);
    equal(err, "");
    const shown = out.split("\n");
    match(shown.join(" "), /t\.jsonl: +openai-chat, 5 messages, 2 calls, \d+ tokens/);
    ok(shown.includes("  1 violation, 1 call in flight"), out);
    ok(
      out.includes(
        '  message 1 (line 2): orphan_result (C2): The result x answers no call\n      result x "who asked?"\n',
      ),
    );
    ok(out.includes("  message 4 (line 5): call 4.0 is in flight: run, b\n"));
    ok(out.includes("  legal cuts: 0 1 2 4\n"));
    ok(out.includes("      0 |U|x|Ar|/:\n"), out);
    for (const line of shown) ok(line.length <= 100, line);
    ok(!out.includes("\x1b"), "no colours in a pipe");
  },
);

Deno.test("selvage check exits 0 for a valid transcript on standard input, and takes flags for open calls", async () => {
  const valid = await run(["check", "-"], { stdin: lines([user("Go."), call("a"), result("a")]) });
  deepEqual([valid.code, valid.err], [0, ""]);
  match(valid.out, /^standard input: openai-chat/);
  const open = lines([user("Go."), call("a"), user("Wait.")]);
  equal((await run(["check", "-"], { stdin: open })).code, 1);
  for (const flag of ["--in-flight=a", "--in-flight=1.0", "--long-running=a"]) {
    equal((await run(["check", flag, "-"], { stdin: open })).code, 0, flag);
  }
});

Deno.test("selvage check shows the part that a violation is about, and says the same thing once", async () => {
  const results = ["a", "b", "c", "d", "zz"].map((id) => ({
    type: "tool_result",
    tool_use_id: id,
    content: id,
  }));
  const uses = ["a", "b", "c", "d"].map((id) => ({ type: "tool_use", id, name: "run", input: {} }));
  const orphan = [user("x"), { role: "assistant", content: uses }, { role: "user", content: results }];
  const { out } = await run(["check", "-"], { stdin: JSON.stringify(orphan) });
  ok(out.includes('orphan_result (C2): The result zz answers no call\n      result 4: zz "zz"\n'), out);
  const same = Array.from({ length: 4 }, () => ({ ...call("a").tool_calls[0] }));
  const twice = [user("x"), { ...call("a"), tool_calls: same }];
  const found = await run(["check", "-"], { stdin: JSON.stringify(twice) });
  equal(found.out.split("duplicate_call_id").length, 2, found.out);
  ok(
    /duplicate_call_id [^]* \(3 times\)\n {6}call 0: a run \{\}, call 1: a run /.test(found.out),
    found.out,
  );
});

Deno.test("selvage shows of calls without ids only those that miss their result", async () => {
  const calls = ["read", "list", "run"].map((name) => ({ functionCall: { name, args: {} } }));
  const contents = [
    { role: "user", parts: [{ text: "Go." }] },
    { role: "model", parts: calls },
    { role: "user", parts: [{ functionResponse: { name: "read", response: { output: "x" } } }] },
    { role: "user", parts: [{ text: "Stop." }] },
  ];
  const stdin = JSON.stringify({ contents });
  const context = "\n      call 1: list {}, call 2: run {}\n";
  const { out } = await run(["check", "-"], { stdin });
  ok(out.includes(`The call list is passed over without a result${context}`), out);
  ok((await run(["repair", "-"], { stdin })).err.includes(`it did not finish (2 times)${context}`));
});

Deno.test("selvage check counts legal cuts that are too many to list, and says so", async () => {
  const { out } = await run(["check", "-"], { stdin: lines(Array.from({ length: 120 }, () => user("x"))) });
  ok(out.includes("legal cuts: 121 of them; --json lists all\n"), out);
});

const noPaint = createPaint(false);

function draw(messages: readonly unknown[], cut: number | null = null): readonly string[] {
  const reading = readTranscript(messages);
  return drawAtoms(describeTranscript(reading), { pieces: reading.pieces, cut, paint: noPaint });
}

Deno.test("drawAtoms() draws messages by role, bars at legal cuts, open calls hatched", () => {
  const messages = [
    { role: "system", content: "s" },
    user("u"),
    call("a"),
    result("a"),
    call("b"),
    { ...result("z"), content: "" },
  ];
  equal(draw(messages)[0], "      0 |S|U|Ar|/:x:");
  equal(draw(messages.slice(0, 4), 2)[0], "      0 |S|U#Ar|");
  deepEqual(draw([]), []);
  const wide = [
    user("u"),
    { ...call("c0"), tool_calls: Array.from({ length: 40 }, (_, n) => call(`c${n}`).tool_calls[0]) },
    ...Array.from({ length: 40 }, (_, n) => result(`c${n}`)),
  ];
  equal(draw(wide)[0], "      0 |U|Arrrrrrrrrrrrrrrrrrrr*41|");
});

Deno.test("drawAtoms() never takes more than 100 columns or eight lines, whatever the length", () => {
  for (const length of [1, 44, 45, 46, 92, 269, 270, 271, 272, 1_000, 12_345]) {
    const messages = Array.from(
      { length },
      (_, n) => n % 7 === 3 ? { role: "assistant", content: "a" } : user("u"),
    );
    const drawn = draw(messages, Math.floor(length / 2));
    ok(drawn.length <= 8, `${length}: ${drawn.length} lines`);
    for (const line of drawn) ok(line.length <= 100, `${length}: ${line.length} columns`);
    equal(drawn.join("").split("#").length - 1, 2, "the cut once, and in the legend");
  }
});

Deno.test("diffMessages() shows what came, what went and what was moved, by message", () => {
  const [a, b, c, d] = [{ m: "a" }, { m: "b" }, { m: "c" }, { m: "d" }];
  const diff = (before: readonly unknown[], after: readonly unknown[]) =>
    diffMessages(before, after, { textOf: JSON.stringify, nameOf: (at) => `message ${at}`, paint: noPaint });
  deepEqual(diff([a, b], [a, b]), []);
  deepEqual(diff([], []), []);
  deepEqual(diff([a, b], [a, c, b]), ["  behind message 0:", '  + {"m":"c"}']);
  deepEqual(diff([a, b], [c, a, b]), ["  in front of all:", '  + {"m":"c"}']);
  deepEqual(diff([a, b], [b]), ["  message 0:", '  - {"m":"a"}']);
  deepEqual(diff([a, b, c], [c]), ["  message 0 to message 1:", '  - {"m":"a"}', '  - {"m":"b"}']);
  deepEqual(diff([a, b, c, d], [a, d, b, c]), [
    "  behind message 0:",
    '  + {"m":"d"}',
    "  message 3:",
    '  - {"m":"d"}',
  ]);
  const long = { m: "x".repeat(1_000), n: 1 };
  const [, gone = "", come = ""] = diff([long], [{ ...long, n: 2 }]);
  ok(gone.startsWith("  - …") && gone.endsWith('"n":1}'), gone);
  ok(come.startsWith("  + …") && come.endsWith('"n":2}'), come);
});

Deno.test("plain() prints nothing that moves a cursor, and never half a character", () => {
  equal(plain("a\x1b[31mb\u0007\u202ec\u009bd"), "a·[31mb··c·d");
  equal(plain("a\n\t b"), "a b");
  equal(plain("x".repeat(200), 10), "xxxxxxxxx…");
  equal(plain(`${"x".repeat(8)}\u{1f600}yy`, 10), "xxxxxxxx…");
  equal(plain("\ud800"), "\ufffd");
  for (const line of wrap(`${"word ".repeat(60)}${"y".repeat(300)}`, "    ")) ok(line.length <= 100);
});

Deno.test("createPaint() colours or leaves alone", () => {
  equal(createPaint(true).red("x"), "\x1b[31mx\x1b[0m");
  equal(createPaint(false).red("x"), "x");
});

testInFolder("README shows what the command really prints of the sample", async (folder) => {
  const file = await write(
    `${folder}/trace.jsonl`,
    await Deno.readTextFile(new URL("examples/trace.jsonl", ROOT)),
  );
  const readme = await Deno.readTextFile(new URL("README.md", ROOT));
  for (const words of ["check", "repair --write"]) {
    const start = readme.indexOf(`    deno task cli ${words} trace.jsonl\n`);
    ok(start >= 0, words);
    const block = readme.slice(start).split("\n").slice(2);
    const shown = block.slice(0, block.findIndex((line) => !line.startsWith("    ")));
    const { out } = await run([...words.split(" "), file]);
    const printed = out.replaceAll(`${folder}/`, "").trimEnd().split("\n");
    let at = 0;
    for (const [index, line] of shown.map((text) => text.slice(4)).entries()) {
      // Lines may be left out where README says so.
      if (line.trim() === "…") continue;
      if (shown[index - 1]?.trim() === "…") at = printed.indexOf(line, at);
      equal(printed[at], line, `line ${index} of ${words}`);
      at++;
    }
    equal(at, printed.length, `${words} ends as README shows`);
  }
});

testInFolder("the sample is refused as it is, and neither mended nor compacted", async (folder) => {
  const sample = await Deno.readTextFile(new URL("examples/trace.jsonl", ROOT));
  const file = await write(`${folder}/trace.jsonl`, sample);
  const messages = (text: string): readonly Json[] =>
    text.trimEnd().split("\n").map((line) => JSON.parse(line));
  ok(openaiFaults(messages(sample)).length > 0);
  const mended = await run(["repair", file]);
  deepEqual([mended.code, openaiFaults(messages(mended.out))], [0, []]);
  const readme = await Deno.readTextFile(new URL("README.md", ROOT));
  const [, budget = ""] = /deno task cli compact (--budget \d+) trace\.jsonl/.exec(readme) ?? [];
  const compacted = await run(["compact", ...budget.split(" "), file]);
  deepEqual([compacted.code, openaiFaults(messages(compacted.out))], [0, []]);
  ok(messages(compacted.out).length < messages(sample).length);
});
