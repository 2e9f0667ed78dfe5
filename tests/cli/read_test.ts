/** What the command reads, and what it says of what it cannot read. */
import { deepEqual, equal, match } from "node:assert/strict";
import { call, result, user } from "../support/chat.ts";
import { lines, ROOT, run, runProcess, testInFolder, write } from "../support/command.ts";

/** Small transcripts of all formats, each with one call that nobody has answered. */
const BROKEN: Readonly<Record<string, readonly unknown[]>> = {
  "openai-chat": [user("Go."), call("a"), user("Stop.")],
  "anthropic": [
    user("Go."),
    { role: "assistant", content: [{ type: "tool_use", id: "a", name: "run", input: {} }] },
    user("Stop."),
  ],
  "openai-responses": [
    user("Go."),
    { type: "function_call", call_id: "a", name: "run", arguments: "{}" },
    user("Stop."),
  ],
  "ai-sdk": [
    user("Go."),
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "run", input: {} }] },
    user("Stop."),
  ],
  "gemini": [
    { role: "user", parts: [{ text: "Go." }] },
    { role: "model", parts: [{ functionCall: { name: "run", args: {} } }] },
    { role: "user", parts: [{ text: "Stop." }] },
  ],
};

for (const [format, messages] of Object.entries(BROKEN)) {
  testInFolder(
    `selvage check and repair read ${format} as a list, as an object and as JSONL`,
    async (folder) => {
      const files = [
        await write(`${folder}/list.json`, JSON.stringify(messages, null, 2)),
        await write(`${folder}/messages.json`, JSON.stringify({ model: "x", messages })),
        await write(`${folder}/contents.json`, JSON.stringify({ contents: messages }, null, "\t")),
        await write(`${folder}/input.json`, JSON.stringify({ input: messages })),
        await write(`${folder}/lines.jsonl`, lines(messages)),
        await write(`${folder}/lines`, lines(messages)),
      ];
      // The names of the lists stand for formats of their own; a flag has the last word.
      const checked = await run(["check", "--json", "--format", format, ...files]);
      equal(checked.code, 1, checked.err);
      const documents = checked.out.trimEnd().split("\n").map((line) => JSON.parse(line));
      deepEqual(documents.map((found) => found.file), files);
      for (const found of documents) {
        equal(found.format, format);
        deepEqual(found.violations.map((violation: { code: string }) => violation.code), ["missing_result"]);
        deepEqual(found.legalCuts, [0, 1, 2, 3]);
      }
      const plainNames = [files[0] ?? "", files[1] ?? "", files[4] ?? ""];
      const detected = await run(["check", "--json", ...plainNames]);
      for (const line of detected.out.trimEnd().split("\n")) equal(JSON.parse(line).format, format);
      const repaired = await run(["repair", "--format", format, files[0] ?? ""]);
      equal(repaired.code, 0);
      equal((await run(["check", "--format", format, "-"], { stdin: repaired.out })).code, 0);
    },
  );
}

testInFolder("selvage works on each line of a file that holds one transcript a line", async (folder) => {
  const broken = { model: "m", messages: [user("a"), result("q")], n: 1 };
  const text = `{"messages": [{"role":"user","content":"a"} ] , "x":1.0}\n\n  ${JSON.stringify(broken)}\n` +
    `${JSON.stringify([user("b")])}\n${
      JSON.stringify({ contents: [{ role: "user", parts: [{ text: "c" }] }] })
    }\n`;
  for (const name of ["t.jsonl", "t"]) {
    const file = await write(`${folder}/${name}`, text);
    const checked = await run(["check", file]);
    equal(checked.code, 1, checked.err);
    match(checked.out, /t(\.jsonl)?, line 3: openai-chat, 2 messages/);
    const json = (await run(["check", "--json", file])).out.trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
    deepEqual(json.map((found) => [found.line, found.valid, found.format]), [
      [1, true, "openai-chat"],
      [3, false, "openai-chat"],
      [4, true, "openai-chat"],
      [5, true, "gemini"],
    ]);
    const mended = text.replace(
      JSON.stringify(result("q")),
      JSON.stringify(user("[selvage: a result without its call (q)] done")),
    );
    equal((await run(["repair", file])).out, mended);
    const written = await run(["repair", "--write", file]);
    equal(written.code, 0, written.err);
    equal(await Deno.readTextFile(file), mended);
    equal(written.out.split("written; the file as it was").length, 2);
    equal(await Deno.readTextFile(`${file}.bak`), text);
  }
  // One line that cannot be read does not hide the others, and stays as it is.
  const bad = `${JSON.stringify([{ role: "wizard", content: "" }])}\n${
    JSON.stringify([user("a"), result("q", "")])
  }\n`;
  const repaired = await run(["repair", "-"], { stdin: bad });
  equal(repaired.code, 2);
  match(repaired.err, /role.*\(line 1\)/);
  equal(repaired.out, `${bad.split("\n")[0]}\n${JSON.stringify([user("a")])}\n`);
  const noJson = await run(["check", "-"], { stdin: `${JSON.stringify([user("a")])}\n[{]\n` });
  equal(noJson.code, 2);
  equal(
    noJson.err,
    'selvage: Cannot read standard input: message 0 (line 2, column 3): found "]", ' +
      'wanted a name in quotes or "}"\n',
  );
  const cut = await run(["check", "-"], { stdin: `${JSON.stringify([user("a")])}\n[{"role":"user"` });
  equal(cut.code, 2);
  equal(cut.err, `selvage: Cannot read standard input: ${CUT_OFF.replace("LINE", "2")}\n`);
});

/** What is said of a last line that breaks off. */
const CUT_OFF = "found that line LINE, the last one, ends in the middle, wanted it finished or removed";

testInFolder("selvage says of a file whose last line is cut off what became of it", async (folder) => {
  const good = lines([user("a"), call("x"), result("x", "all of it")]);
  const whole = JSON.stringify(user('then "this" \u00e9\n'));
  for (const command of [["check"], ["repair"], ["compact", "--budget=100"]]) {
    for (const end of ["", "\n\n"]) {
      const file = await write(`${folder}/t.jsonl`, good + whole.slice(0, -4) + end);
      const { code, out, err } = await run([...command, file]);
      deepEqual([code, out], [2, ""]);
      equal(err, `selvage: Cannot read ${file}: ${CUT_OFF.replace("LINE", "4")}\n`);
    }
  }
  // Wherever it is cut.
  for (let length = 1; length < whole.length; length++) {
    const { err } = await run(["check", "-"], { stdin: good + whole.slice(0, length) });
    equal(err, `selvage: Cannot read standard input: ${CUT_OFF.replace("LINE", "4")}\n`);
  }
});

testInFolder(
  "selvage names the line that is no JSON, and exits 2 for what it cannot read",
  async (folder) => {
    const good = lines([user("a")]);
    const cases: readonly (readonly [string, string | Uint8Array<ArrayBuffer>, RegExp])[] = [
      ["bad.jsonl", `${good}\n${good}{"role":`, new RegExp(`bad\\.jsonl: ${CUT_OFF.replace("LINE", "4")}`)],
      ["first.jsonl", `{"role"\n${good}`, /first\.jsonl: line 1, column 8: found the end, wanted ":"$/],
      [
        "middle.jsonl",
        `${good}  {"a":1,}\n${good}`,
        /: line 2, column 10: found "}", wanted a name in quotes$/,
      ],
      ["number.jsonl", `${good}17\n`, /line 2: found no JSON object/],
      ["field.jsonl", `${good}${lines([{ role: "user", content: 3 }])}`, /message 1: .*content.*\(line 2\)/],
      ["empty.json", "\n \n", /found nothing in it/],
      ["word.json", "\nhello", /word\.json: line 2, column 1: found "h", wanted a value$/],
      [
        "cut.json",
        '[{"role":"user"',
        /cut\.json: message 0 \(line 1, column 16\): found the end, wanted a comma or /,
      ],
      ["other.json", '{"a":\n1}', /found no list of messages/],
      ["text.json", '{"messages":"x"}', /found no list of messages/],
      ["bytes.json", new Uint8Array([0x5b, 0xff, 0x5d]), /no UTF-8/],
      ["role.json", '[{"role":"wizard","content":"x"}]', /message 0: found .* in role/],
      ["format.json", '[{"a":1}]', /Cannot tell the format/],
    ];
    const files: string[] = [];
    for (const [name, content] of cases) {
      const file = `${folder}/${name}`;
      await Deno.writeFile(file, typeof content === "string" ? new TextEncoder().encode(content) : content);
      files.push(file);
    }
    const { code, out, err } = await run(["check", ...files, `${folder}/missing.json`, folder]);
    equal(code, 2);
    equal(out, "");
    const said = err.trimEnd().split("\n");
    equal(said.length, files.length + 2, err);
    for (const [index, [, , wanted]] of cases.entries()) match(said[index] ?? "", wanted);
    match(said.at(-2) ?? "", /^selvage: .*missing\.json/);
    const json = await run(["check", "--json", files[0] ?? ""]);
    equal(json.code, 2);
    deepEqual(JSON.parse(json.out).error.line, 4);
    const both = await run(["check", files[0] ?? "", "-"], { stdin: good });
    equal(both.code, 2, "one file that cannot be read does not hide the others");
    match(both.out, /valid/);
  },
);

testInFolder("selvage names the message and the line of a JSON document that is broken", async (folder) => {
  const good = '{"role":"user","content":"a"}';
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      `[\n${good},\n {"role":"user",\n"content":}\n]`,
      /: message 1 \(line 4, column 11\): found "}", wanted a value$/m,
    ],
    [`[\n${good}, {"role"}\n]`, /: message 1 \(line 2, column 39\): found "}", wanted ":"$/m],
    [
      `[\n${good},\n{"role":"user",\n"content":"a" "b"}\n]`,
      /: message 1 \(line 4, column 15\): found text in quotes, wanted a comma or /,
    ],
    [`{"messages":[${good},\n${good}`, /: line 2, column 30: found the end, wanted a comma or /],
    [`[${good}\n ${good}]`, /: line 2, column 2: found a message, wanted a comma or /],
    [`[${good}] x`, /: line 1, column 33: found "x", wanted nothing behind the value$/m],
    [`{"messages":[${good}],\n"messages":{}}`, /found no list of messages/],
  ];
  for (const [text, wanted] of cases) {
    const { code, err } = await run(["check", await write(`${folder}/t.json`, text)]);
    equal(code, 2);
    match(err, wanted, text);
  }
});

Deno.test("selvage reads deep JSON, white space and byte order marks without a fault", async () => {
  for (
    const [levels, wanted] of [[9_000, /message 1: found .* in deep\.a/], [
      90_000,
      /message 1 \(line 1\): found .* 10000/,
    ]] as const
  ) {
    const deep = '{"a":'.repeat(levels) + "1" + "}".repeat(levels);
    const { code, err } = await run(["check", "-"], {
      stdin: `[{"role":"user","content":"x"},{"role":"user","content":"x","deep":${deep}}]`,
    });
    equal(code, 2);
    match(err, wanted);
  }
  const marked = `\ufeff\n [ {"role":"user","content":"x"} ] \n`;
  deepEqual((await run(["repair", "-"], { stdin: marked })).out, marked);
});

testInFolder("selvage says what is wrong with a path in words", async (folder) => {
  const { code, err } = await run(["check", "no/such.json", folder, `${folder}/none.json`]);
  equal(code, 2);
  const root = ROOT.pathname.replace(/\/$/, "");
  deepEqual(err.trimEnd().split("\n"), [
    `selvage: Cannot read no/such.json: there is no such file in ${root}`,
    `selvage: Cannot read ${folder}: it is a folder, wanted a file`,
    `selvage: Cannot read ${folder}/none.json: there is no such file`,
  ]);
  for (const words of [["repair", "--write"], ["compact", "--budget=1", "--write"]]) {
    match(
      (await run([...words, "no/such.json"])).err,
      /Cannot read no\/such\.json: there is no such file in /,
    );
  }
});

testInFolder("selvage names the file of every error, however short its name is", async (folder) => {
  await write(`${folder}/t`, '[{"a":1}]');
  const command = [
    Deno.execPath(),
    "run",
    "--quiet",
    "--no-lock",
    "--config",
    new URL("deno.json", ROOT).pathname,
  ];
  const { code, err } = await runProcess(["check", "t", "u"], {
    command: [...command, "-P=cli", new URL("src/cli.ts", ROOT).pathname],
    cwd: folder,
  });
  equal(code, 2);
  match(
    err,
    /^selvage: t: Cannot tell the format .*\nselvage: Cannot read u: there is no such file in .*\n$/,
  );
});
