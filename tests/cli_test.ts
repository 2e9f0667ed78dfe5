/**
 * The command, run as a user runs it, and its picture and its diff by themselves.
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import fc from "fast-check";
import { diffMessages } from "../src/_cli_diff.ts";
import { drawAtoms } from "../src/_cli_picture.ts";
import { JsonSplitter, type SplitJson } from "../src/_cli_split.ts";
import { createPaint, plain, wrap } from "../src/_cli_text.ts";
import { unwrapLines } from "../src/_cli_wrapped.ts";
import { lookAt, replaceFile } from "../src/_cli_write.ts";
import { describeTranscript } from "../src/formats/describe.ts";
import { readTranscript } from "../src/formats/read.ts";

const ROOT = new URL("../", import.meta.url);
const COMMAND = [Deno.execPath(), "run", "--quiet", "--no-lock", "-P=cli", "src/cli.ts"];

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(
  args: readonly string[],
  { stdin = "", command = COMMAND, env = {} }: {
    readonly stdin?: string | Uint8Array<ArrayBuffer>;
    readonly command?: readonly string[];
    readonly env?: Record<string, string>;
  } = {},
): Promise<Outcome> {
  const [program = "", ...words] = command;
  const child = new Deno.Command(program, {
    args: [...words, ...args],
    cwd: ROOT,
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const write = async () => {
    const writer = child.stdin.getWriter();
    await writer.write(typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin);
    await writer.close();
  };
  // A command that refuses its arguments does not read its input.
  const [output] = await Promise.all([child.output(), write().catch(() => {})]);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return { code: output.code, out: decoder.decode(output.stdout), err: decoder.decode(output.stderr) };
}

/** Runs a test in a folder of its own. */
function testInFolder(name: string, test: (folder: string) => Promise<void>): void {
  Deno.test(name, async () => {
    const folder = await Deno.makeTempDir();
    try {
      await test(folder);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

async function write(path: string, text: string): Promise<string> {
  await Deno.writeTextFile(path, text);
  return path;
}

const call = (id: string, args = "{}") => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "run", arguments: args } }],
});
const result = (id: string, content = "done") => ({ role: "tool", tool_call_id: id, content });
const user = (content: string) => ({ role: "user", content });
const lines = (messages: readonly unknown[]) =>
  messages.map((message) => `${JSON.stringify(message)}\n`).join("");

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

testInFolder(
  "selvage repair --write keeps shape, indentation, backups and everything it does not mend",
  async (folder) => {
    const messages = [user("Go."), call("a"), user("Stop.")];
    const text = `{\n    "model": "m",\n    "messages": [\n${
      messages.map((message) => `        ${JSON.stringify(message, null, 4).replaceAll("\n", "\n        ")}`)
        .join(",\n")
    }\n    ],\n    "temperature": 1.0, "seed": 12345678901234567890\n}\n`;
    const file = await write(`${folder}/t.json`, text);
    await Deno.chmod(file, 0o640);
    const first = await run(["repair", "--write", file]);
    equal(first.code, 0, first.err);
    equal(await Deno.readTextFile(`${file}.bak`), text);
    const made = await Deno.readTextFile(file);
    const added = '        {\n            "role": "tool",\n            "tool_call_id": "a",\n' +
      '            "content": "Error: Aborted: the call did not finish"\n        },\n';
    const place = text.indexOf('        {\n            "role": "user",\n            "content": "Stop."');
    equal(made, text.slice(0, place) + added + text.slice(place));
    equal((await Deno.stat(file)).mode! & 0o777, 0o640);
    ok(first.out.includes('\n  what changed:\n  behind message 1:\n  + { "role": "tool"'), first.out);
    ok(!/^(---|\+\+\+|@@)/m.test(first.out), "what is no patch does not look like one");
    match(first.out, /the file as it was is .*t\.json\.bak/);
    // Nothing to repair: nothing is written, and no backup made.
    const again = await run(["repair", "--write", file]);
    match(again.out, /nothing to repair/);
    deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["t.json", "t.json.bak"]);
    for (const backup of ["t.json.bak.1", "t.json.bak.2"]) {
      await Deno.writeTextFile(file, text);
      equal((await run(["repair", "--write", "--json", file])).code, 0);
      equal(await Deno.readTextFile(`${folder}/${backup}`), text);
    }
    deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "t.json",
      "t.json.bak",
      "t.json.bak.1",
      "t.json.bak.2",
    ]);
  },
);

testInFolder(
  "selvage repair --write keeps JSONL as JSONL, with its line ends, and writes through a link",
  async (folder) => {
    const messages = [user("Go."), call("a"), { ...user("Stop."), x: 1.5, "2": 0, "1": 0 }];
    const own = [
      '{"role": "user",  "content": "Go."}',
      JSON.stringify(messages[1]),
      '{"role":"user","content":"Stop.","n":1.0}',
    ];
    for (const [end, last] of [["\n", "\n"], ["\r\n", "\r\n"], ["\n", ""]] as const) {
      const file = await write(`${folder}/t.jsonl`, own.join(end) + last);
      await Deno.symlink(file, `${folder}/link.jsonl`);
      const { code, err } = await run(["repair", "--write", `${folder}/link.jsonl`]);
      equal(code, 0, err);
      const added = JSON.stringify(result("a", "Error: Aborted: the call did not finish"));
      equal(await Deno.readTextFile(file), [own[0], own[1], added, own[2]].join(end) + last);
      ok((await Deno.lstat(`${folder}/link.jsonl`)).isSymlink);
      equal(await Deno.readTextFile(`${folder}/link.jsonl.bak`), own.join(end) + last);
      await Deno.remove(`${folder}/link.jsonl`);
      await Deno.remove(`${folder}/link.jsonl.bak`);
    }
  },
);

testInFolder("selvage repair prints the transcript and, apart from it, the report", async (folder) => {
  const messages = [user("Go."), call("a"), user("Stop.")];
  const text = lines(messages);
  const file = await write(`${folder}/t.jsonl`, text);
  const { code, out, err } = await run(["repair", file]);
  equal(code, 0);
  deepEqual(out.trimEnd().split("\n").map((line) => JSON.parse(line).role), [
    "user",
    "assistant",
    "tool",
    "user",
  ]);
  match(
    err,
    /1 repair\n {2}message 1 \(line 2\): missing_result: Answered the call with an error: it did not finish\n/,
  );
  equal(await Deno.readTextFile(file), text);
  const json = JSON.parse((await run(["repair", "--json", file])).out);
  deepEqual(Object.keys(json), ["file", "format", "repairs", "violations", "messages"]);
  equal(json.messages.length, 4);
  const whole = await write(`${folder}/whole.json`, '[ {"role":"user","content":"a", "n":1.0} ]\n');
  equal((await run(["repair", whole])).out, '[ {"role":"user","content":"a", "n":1.0} ]\n');
});

testInFolder(
  "selvage compact prints the compacted transcript, and the report apart from it",
  async (folder) => {
    const messages = [
      user("Start."),
      ...Array.from({ length: 60 }, (_, n) => [
        call(`c${n}`),
        result(`c${n}`, `${n} word`.repeat(60)),
      ]).flat(),
    ];
    const file = await write(`${folder}/t.json`, JSON.stringify({ messages, n: 1.0 }));
    const { code, out, err } = await run(["compact", "--budget", "2000", "--pin", "0", file]);
    equal(code, 0, err);
    const made = JSON.parse(out).messages;
    ok(made.length < messages.length);
    match(made[0].content, /^\[selvage ledger/);
    deepEqual(made[1], messages[0], "a pin stays");
    match(err, /compacted: near cut at message \d+, (on target|\d+ tokens? (over|under) its target)/);
    match(err, /-> [\d,]+ tokens, budget 2,000, \d+ pairs in the ledger/);
    ok(err.includes("#"), "the cut shows in the picture");
    for (const line of err.split("\n")) ok(line.length <= 100, line);
    const again = await run(["compact", "--budget=2000", "--json", "-"], { stdin: out });
    equal(again.code, 0);
    const document = JSON.parse(again.out);
    deepEqual(Object.keys(document).sort(), [
      "cut",
      "file",
      "format",
      "ledger",
      "messages",
      "nearest",
      "outcome",
      "reason",
      "repairs",
      "signed",
      "tokens",
      "trims",
      "violations",
    ]);
    equal(document.outcome, "nothing");
    const deferred = await run(["compact", "--budget=500", "--policy=backward", "--lookback=0", file]);
    equal(deferred.code, 1);
    deepEqual(JSON.parse(deferred.out).messages, messages);
    match(deferred.err, /(deferred|refused): \w+; nearest legal cuts: \d+ and \d+/);
  },
);

testInFolder(
  "selvage names the line that is no JSON, and exits 2 for what it cannot read",
  async (folder) => {
    const good = lines([user("a")]);
    const cases: readonly (readonly [string, string | Uint8Array<ArrayBuffer>, RegExp])[] = [
      ["bad.jsonl", `${good}\n${good}{"role":`, /bad\.jsonl: line 4: /],
      ["first.jsonl", `{"role"\n${good}`, /first\.jsonl: line 1: /],
      ["number.jsonl", `${good}17\n`, /line 2: found no JSON object/],
      ["field.jsonl", `${good}${lines([{ role: "user", content: 3 }])}`, /message 1: .*content.*\(line 2\)/],
      ["empty.json", "\n \n", /found nothing in it/],
      ["text.json", "hello", /Cannot read /],
      ["cut.json", '[{"role":"user"', /Cannot read /],
      ["other.json", '{"a":\n1}', /found no list of messages/],
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

Deno.test("selvage reads deep JSON, white space and byte order marks without a fault", async () => {
  const deep = '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000);
  const { code, err } = await run(["check", "-"], {
    stdin: `[{"role":"user","content":"x"},{"role":"user","content":"x","deep":${deep}}]`,
  });
  equal(code, 2);
  match(err, /message 1: found .* in deep\.a/);
  const marked = `\ufeff\n [ {"role":"user","content":"x"} ] \n`;
  deepEqual((await run(["repair", "-"], { stdin: marked })).out, marked);
});

for (
  const [args, wanted] of [
    [[], /found no command, wanted check, repair, compact/],
    [["chek", "x"], /found the command "chek"/],
    [["check"], /found no FILE/],
    [["check", "--wrong", "x"], /Cannot use --wrong: check knows .*--format .*--json/],
    [["check", "--budget", "5", "x"], /Cannot use --budget: check knows /],
    [["check", "-x", "x"], /Cannot use -x/],
    [["check", "--json=yes", "x"], /takes no value/],
    [["check", "--format"], /found no NAME/],
    [["check", "--format", "gemeni", "x"], /wanted ai-sdk, gemini, anthropic, openai-chat, openai-responses/],
    [["check", "--thinking", "hard", "x"], /wanted auto, ignore/],
    [["check", "-", "-"], /standard input twice/],
    [["repair", "--write", "-"], /Cannot write to standard input/],
    [["compact", "x"], /found no --budget/],
    [["compact", "--budget", "0", "x"], /--budget: found "0", wanted a number over 0/],
    [["compact", "--budget", "NaN", "x"], /--budget: found "NaN"/],
    [["compact", "--budget=", "x"], /--budget: found ""/],
    [["compact", "--budget", "5", "--budget", "6", "x"], /twice/],
    [["compact", "--budget", "5", "--pin", "1.5", "x"], /--pinned: found "1.5"/],
    [["compact", "--budget", "5", "--policy", "wild", "x"], /wanted full, backward/],
  ] as const
) {
  Deno.test(`selvage ${args.join(" ")} is refused with a sentence`, async () => {
    const { code, out, err } = await run(args);
    equal(code, 2);
    equal(out, "");
    match(err, wanted);
  });
}

Deno.test("selvage compact exits 2 for a pin, a call or a summary that does not fit the transcript", async () => {
  const stdin = lines([user("word ".repeat(4_000)), user("x"), user("y")]);
  for (
    const [flag, wanted] of [["--pin=9", /pin message 9/], ["--in-flight=zz", /call "zz"/], [
      "--summary= ",
      /white space/,
    ]] as const
  ) {
    const { code, err } = await run(["compact", "--budget=1000", flag, "-"], { stdin });
    equal(code, 2);
    match(err, wanted);
  }
});

Deno.test("selvage --help and --version tell what there is, in 100 columns", async () => {
  const version = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT))).version;
  equal((await run(["--version"])).out, `${version}\n`);
  for (const args of [["--help"], ["-h"], ["check", "--help"], ["repair", "-h"], ["compact", "--help"]]) {
    const { code, out } = await run(args);
    equal(code, 0);
    match(out, /^Usage: selvage /);
    for (const line of out.split("\n")) ok(line.length <= 100, line);
  }
});

Deno.test("selvage stops quietly when nobody reads its output any more", async () => {
  const child = new Deno.Command(COMMAND[0] ?? "", {
    args: [...COMMAND.slice(1), "repair", "-"],
    cwd: ROOT,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await child.stdout.cancel();
  const writer = child.stdin.getWriter();
  await writer.write(
    new TextEncoder().encode(lines(Array.from({ length: 20_000 }, () => user("word ".repeat(40))))),
  );
  await writer.close();
  const err = await new Response(child.stderr).text();
  ok(!/error|EPIPE/i.test(err), err);
  equal((await child.status).code, 0);
});

testInFolder(
  "selvage reads JSONL of any size line by line and writes it back to the byte",
  async (folder) => {
    const file = `${folder}/big.jsonl`;
    const round = (n: number) =>
      lines([user(`Question ${n}`), call(`c${n}`), result(`c${n}`, "some text ".repeat(20))]);
    const writer = await Deno.open(file, { write: true, create: true });
    const encoder = new TextEncoder();
    for (let n = 0; n < 20; n++) {
      await writer.write(encoder.encode(Array.from({ length: 500 }, (_, m) => round(500 * n + m)).join("")));
    }
    writer.close();
    const { code, out } = await run(["repair", file]);
    equal(code, 0);
    ok(out === await Deno.readTextFile(file));
    const checked = await run(["check", file]);
    match(checked.out, /30,000 messages, 10,000 calls/);
    match(checked.out, /one letter for \d+ atoms/);
    for (const line of checked.out.split("\n")) ok(line.length <= 100, line);
  },
);

testInFolder("deno task cli runs the command", async (folder) => {
  const file = await write(`${folder}/t.json`, JSON.stringify([user("Go.")]));
  const { code, out } = await run(["check", file], { command: [Deno.execPath(), "task", "--quiet", "cli"] });
  equal(code, 0);
  match(out, /valid/);
});

/** The version of a Node that can run TypeScript, or why there is none. */
async function findNode(): Promise<{ readonly isAble: boolean; readonly found: string }> {
  try {
    const { stdout } = await new Deno.Command("node", { args: ["--version"] }).output();
    const found = new TextDecoder().decode(stdout).trim();
    const [major = 0, minor = 0] = found.slice(1).split(".").map(Number);
    return { isAble: major > 22 || (major === 22 && minor >= 7), found: `found node ${found}` };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { isAble: false, found: "found no node" };
  }
}

const node = await findNode();

Deno.test({
  name: node.isAble
    ? "selvage runs under plain Node, without any package"
    : `selvage runs under plain Node (not tried: ${node.found}, wanted 22.7 or later)`,
  ignore: !node.isAble,
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      const command = ["node", "--experimental-transform-types", "--no-warnings", "src/cli.ts"];
      const file = await write(`${folder}/t.jsonl`, lines([user("Go."), call("a"), user("Stop.")]));
      const checked = await run(["check", file], { command });
      equal(checked.code, 1, checked.err);
      ok(checked.out.includes("|U|A|U|"), checked.out);
      const repaired = await run(["repair", "--write", file], { command });
      equal(repaired.code, 0, repaired.err);
      equal((await run(["check", "-"], { command, stdin: await Deno.readTextFile(file) })).code, 0);
      deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["t.jsonl", "t.jsonl.bak"]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** What an agent writes into the log of a session: a line for each block of an answer, and lines of other kinds. */
const MESSAGE_LOG = [
  { type: "summary", summary: "Earlier" },
  { uuid: "1", isSidechain: false, type: "user", message: user("Fix it.") },
  ...[
    { type: "text", text: "Let me look." },
    { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } },
    { type: "tool_use", id: "t2", name: "Bash", input: { command: "pwd" } },
  ].map((block, n) => ({
    uuid: `a${n}`,
    isSidechain: false,
    type: "assistant",
    message: { id: "msg_1", role: "assistant", content: [block] },
  })),
  { type: "progress", data: {} },
  { uuid: "s", isSidechain: true, type: "user", message: user("A task for another agent") },
  ...["t1", "t2"].map((id) => ({
    uuid: id,
    isSidechain: false,
    type: "user",
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "ok" }] },
  })),
  {
    uuid: "b",
    isSidechain: false,
    type: "assistant",
    message: {
      id: "msg_2",
      role: "assistant",
      content: [{ type: "tool_use", id: "t3", name: "Bash", input: {} }],
    },
  },
  { uuid: "c", isSidechain: false, type: "user", message: user("Stop.") },
];

/** The same of an agent that wraps items of the Responses API. */
const PAYLOAD_LOG = [
  { type: "session_meta", payload: { id: "x" } },
  { type: "response_item", payload: { type: "message", role: "user", content: "Fix it." } },
  { type: "event_msg", payload: { type: "user_message", message: "Fix it." } },
  {
    type: "response_item",
    payload: { type: "function_call", call_id: "t3", name: "shell", arguments: "{}" },
  },
  { type: "response_item", payload: { type: "ghost_snapshot", ghost_commit: {} } },
  { type: "response_item", payload: { type: "message", role: "user", content: "Stop." } },
];

testInFolder("selvage reads the messages of session logs out of what wraps them", async (folder) => {
  const cases = [
    { inside: "message", log: MESSAGE_LOG, format: "anthropic", messages: 6, at: 4, line: 10, skipped: 3 },
    {
      inside: "payload",
      log: PAYLOAD_LOG,
      format: "openai-responses",
      messages: 3,
      at: 1,
      line: 4,
      skipped: 3,
    },
  ];
  for (const { inside, log, format, messages, at, line, skipped } of cases) {
    const text = lines(log);
    const file = await write(`${folder}/${inside}.jsonl`, text);
    const whole = await write(`${folder}/${inside}.json`, JSON.stringify(log));
    const checked = await run(["check", file]);
    equal(checked.code, 1, checked.err);
    match(checked.out, new RegExp(`: ${format}, ${messages} messages, `));
    ok(checked.out.includes(`read from \`${inside}\`; ${skipped} lines without one left out`), checked.out);
    ok(checked.out.includes(`message ${at} (line ${line}): missing_result`), checked.out);
    const json = JSON.parse((await run(["check", "--json", whole])).out);
    deepEqual(json.violations.map((violation: { code: string }) => violation.code), ["missing_result"]);
    // What is printed are the messages alone; a log is not written, for its lines hold more than that.
    const printed = await run(["repair", file]);
    equal(printed.code, 0, printed.err);
    equal(printed.out.trimEnd().split("\n").length, messages + 1);
    equal((await run(["check", "-"], { stdin: printed.out })).code, 0);
    const refused = await run(["repair", "--write", file]);
    equal(refused.code, 2);
    match(refused.err, new RegExp(`Cannot write .*its lines wrap each message in \`${inside}\``));
    equal(await Deno.readTextFile(file), text);
    const compacted = await run(["compact", "--budget", "100000", "--json", file]);
    equal(JSON.parse(compacted.out).messages.length, messages + 1);
  }
  deepEqual([...Deno.readDirSync(folder)].length, 4, "no backup is left of what was not written");
});

Deno.test("unwrapLines() joins the lines of one answer, and leaves plain messages alone", () => {
  const { messages, places, wrapper } = unwrapLines(MESSAGE_LOG);
  deepEqual(wrapper, { inside: "message", skipped: 3 });
  deepEqual(places, [1, 2, 7, 8, 9, 10]);
  deepEqual((messages[1] as { content: readonly unknown[] }).content.length, 3);
  const plain = [user("a"), { ...user("b"), message: user("c"), payload: user("d") }];
  deepEqual(unwrapLines(plain), { messages: plain, wrapper: null, places: null });
  const items = [{ type: "function_call", call_id: "a" }, { type: "response_item", text: "x" }];
  equal(unwrapLines(items).wrapper, null);
});

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
  match(noJson.err, /Cannot read standard input: line 2: /);
});

testInFolder("selvage compact shows a plan and changes nothing, and writes with a backup", async (folder) => {
  const messages = [
    { role: "system", content: "Be brief." },
    user("Start."),
    ...Array.from({ length: 60 }, (_, n) => [call(`c${n}`), result(`c${n}`, `${n} word`.repeat(60))]).flat(),
  ];
  const text = JSON.stringify({ messages, n: 1 }, null, 2);
  const file = await write(`${folder}/t.json`, text);
  const plan = await run(["compact", "--budget", "2000", "--plan", file]);
  equal(plan.code, 0, plan.err);
  equal(plan.err, "");
  match(plan.out, /plan, nothing is changed: near cut at message \d+/);
  match(plan.out, /tokens without system messages, budget 2,000/);
  match(plan.out, /to be summarised: \d+ messages in front of message \d+\n {2}message 2: run \{\} -> ok: /);
  const json = JSON.parse((await run(["compact", "--budget", "2000", "--plan", "--json", file])).out);
  equal(json.plan, true);
  deepEqual(json.toSummarise, messages.slice(1, json.cut.at));
  ok(!("messages" in json));
  equal(await Deno.readTextFile(file), text);
  const written = await run(["compact", "--budget", "2000", "--write", file]);
  equal(written.code, 0, written.err);
  equal(written.err, "");
  match(written.out, /the file as it was is .*t\.json\.bak/);
  equal(await Deno.readTextFile(`${file}.bak`), text);
  const made = JSON.parse(await Deno.readTextFile(file));
  match(made.messages[1].content, /^\[selvage ledger/);
  deepEqual([made.n, made.messages.slice(2)], [1, messages.slice(json.cut.at)]);
  // What is done already is not written again.
  match((await run(["compact", "--budget", "2000", "--write", file])).out, /nothing to do/);
  deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["t.json", "t.json.bak"]);
});

testInFolder("selvage knows flags by the names of the fields, and by those they had", async (folder) => {
  const messages = [user("Start."), ...Array.from({ length: 40 }, (_, n) => user(`${n} word `.repeat(60)))];
  const file = await write(`${folder}/t.json`, JSON.stringify([...messages, call("a"), user("x")]));
  const answers = await Promise.all([
    ["--pinned", "0", "--summary-reserve", "500", "--repair", "false", "--in-flight", "a"],
    ["--pin", "0", "--reserve", "500", "--no-repair", "--in-flight", "41.0"],
    ["--pinned=0", "--summaryReserve=500", "--repair=false", "--inFlight=e41.0"],
  ].map((flags) => run(["compact", "--budget", "2000", "--json", ...flags, file])));
  for (const { code, out, err } of answers) {
    equal(code, 0, err);
    equal(out, answers[0]?.out);
  }
  deepEqual(JSON.parse(answers[0]?.out ?? "").messages[1], messages[0]);
  // An id that looks like a place is an id.
  const ids = lines([user("a"), call("0.0"), user("b")]);
  equal((await run(["check", "--in-flight=0.0", "-"], { stdin: ids })).code, 0);
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

Deno.test("selvage check counts legal cuts that are too many to list, and says so", async () => {
  const { out } = await run(["check", "-"], { stdin: lines(Array.from({ length: 120 }, () => user("x"))) });
  ok(out.includes("legal cuts: 121 of them; --json lists all\n"), out);
});

testInFolder("selvage repair keeps what stands between messages that stay", async (folder) => {
  const text =
    '[{"role":"user","content":"a"},  {"role":"user","content":"b"},\n\n{"role":"user","content":"c"} ]';
  const file = await write(`${folder}/t.json`, text);
  equal((await run(["repair", file])).out, text);
});

testInFolder("replaceFile() leaves no backup of a file that stays as it was", async (folder) => {
  const file = await write(`${folder}/t`, "old");
  await rejects(replaceFile(file, ["new"], { size: 1, mtimeMs: 1 }), { code: "changed_meanwhile" });
  const failing = (function* (): Generator<string> {
    yield "new";
    throw new TypeError("broken");
  })();
  const seen = await lookAt(file);
  ok(seen !== null);
  await rejects(replaceFile(file, failing, seen), TypeError);
  deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["t"]);
  equal(await Deno.readTextFile(file), "old");
  equal(await replaceFile(file, ["new"], seen), `${file}.bak`);
});

testInFolder(
  "replaceFile() refuses a file of several names, of which only one would change",
  async (folder) => {
    const file = await write(`${folder}/a`, "old");
    await Deno.link(file, `${folder}/b`);
    const seen = await lookAt(file);
    ok(seen !== null);
    await rejects(replaceFile(file, ["new"], seen), { code: "hard_linked", message: /found 2 names/ });
    deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["a", "b"]);
  },
);

/** Splits a text that comes in parts of `size` characters. */
function splitText(text: string, size: number): SplitJson {
  const splitter = new JsonSplitter();
  for (let at = 0; at < text.length; at += size) splitter.push(text.slice(at, at + size));
  return splitter.end();
}

Deno.test("JsonSplitter finds the messages of any document, however it is cut, and loses no character", () => {
  const seed = Date.now() & 0x7fffffff;
  console.log(`seed ${seed}`);
  const names = fc.constantFrom(null, "messages", "input", "contents");
  const indents = fc.constantFrom(undefined, 1, "\t");
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      names,
      fc.jsonValue(),
      indents,
      fc.integer({ min: 1, max: 9 }),
      (...args) => {
        const [list, name, other, indent, size] = args;
        const document = name === null ? list : { other, [name]: list, more: [name, [1]], last: name };
        const text = JSON.stringify(document, null, indent);
        const { around, texts, values, lists } = splitText(text, size);
        equal(around.map((piece, index) => piece + (texts[index] ?? "")).join(""), text);
        const found = lists.findLast((one) => one.name === name);
        deepEqual(values.slice(found?.from, found?.to), JSON.parse(JSON.stringify(list)));
      },
    ),
    { seed, numRuns: 500 },
  );
});

Deno.test("JsonSplitter takes what JSON.parse() takes, and nothing else", () => {
  const seed = Date.now() & 0x7fffffff;
  console.log(`seed ${seed}`);
  const piece = fc.constantFrom(
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    '"messages"',
    '"a"',
    "1",
    "true",
    " ",
    '"',
    "\\",
    "x",
  );
  const takes = (read: () => unknown): boolean => {
    try {
      read();
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), fc.boolean(), (pieces, isList) => {
      const inner = pieces.join("");
      const text = isList ? `[${inner}]` : `{"messages":[${inner}]}`;
      equal(takes(() => splitText(text, 1)), takes(() => JSON.parse(text)), text);
    }),
    { seed, numRuns: 5_000 },
  );
});

testInFolder("selvage names the message and the line of a JSON document that is broken", async (folder) => {
  const good = '{"role":"user","content":"a"}';
  const cases: readonly (readonly [string, RegExp])[] = [
    [`[\n${good},\n{"role":"user",\n"content":}\n]`, /message 1: .* \(line 3\)/],
    [`[\n${good},\n{"role":"user",\n"content":"a" "b"}\n]`, /message 1: .* \(line 4\)/],
    [`{"messages":[${good},${good}`, /around the messages/],
    [`[${good} ${good}]`, /around the messages/],
    [`[${good}] x`, /around the messages/],
    [`{"messages":[${good}],\n"messages":{}}`, /found no list of messages/],
  ];
  for (const [text, wanted] of cases) {
    const { code, err } = await run(["check", await write(`${folder}/t.json`, text)]);
    equal(code, 2);
    match(err, wanted, text);
  }
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

testInFolder("README shows what the command really prints", async (folder) => {
  const messages = [
    user("Run the tests, then fix what fails."),
    {
      ...call("c1"),
      tool_calls: [
        { id: "c1", type: "function", function: { name: "run", arguments: '{"cmd":"npm test"}' } },
        { id: "c2", type: "function", function: { name: "read", arguments: '{"path":"a.ts"}' } },
      ],
    },
    result("c1", "2 passed, 1 failed"),
    user("Never mind the file."),
    { role: "assistant", content: "Then the failing test is left." },
  ];
  await write(`${folder}/trace.jsonl`, lines(messages));
  const readme = await Deno.readTextFile(new URL("README.md", ROOT));
  for (const words of ["check", "repair --write"]) {
    const start = readme.indexOf(`    deno task cli ${words} trace.jsonl\n`);
    ok(start >= 0, words);
    const block = readme.slice(start).split("\n").slice(2);
    const shown = block.slice(0, block.findIndex((line) => !line.startsWith("    ")));
    const { out } = await run([...words.split(" "), `${folder}/trace.jsonl`]);
    const printed = out.replaceAll(`${folder}/`, "").split("\n");
    for (const [index, line] of shown.entries()) {
      if (line.trim() === "…") break;
      equal(printed[index], line.slice(4), `line ${index} of ${words}`);
    }
  }
});
