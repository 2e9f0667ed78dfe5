/** The command line. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { call, user } from "../support/chat.ts";
import { lines, ROOT, run, testInFolder, write } from "../support/command.ts";

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

Deno.test("selvage says once of a model that it does not know what tokens are counted with", async () => {
  const stdin = lines([user("a")]);
  for (const flags of [[], ["--json"]]) {
    const { code, err } = await run(["check", "--model", "foo\u001b[31m", ...flags, "-"], { stdin });
    equal(code, 0);
    match(err, /^selvage: tokens are counted with o200k_base: the model foo[ -\uffff]* is not known\n$/);
  }
  for (
    const model of ["gpt-5", "openai/gpt-4", "gpt-35-turbo", "anthropic.claude-sonnet-4-5", "gemini-2.5-pro"]
  ) {
    equal((await run(["check", "--model", model, "-"], { stdin })).err, "");
  }
});
