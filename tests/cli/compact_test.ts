/** `selvage compact`. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { call, COMPACT_FIELDS, result, rounds, user } from "../support/chat.ts";
import { lines, run, testInFolder, write } from "../support/command.ts";

testInFolder(
  "selvage compact prints the compacted transcript, and the report apart from it",
  async (folder) => {
    const messages = rounds(60, 60);
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
    deepEqual(Object.keys(document).sort(), ["file", ...COMPACT_FIELDS].sort());
    deepEqual([document.outcome, ["within_budget", "within_lookback"].includes(document.reason)], [
      "nothing",
      true,
    ]);
    const deferred = await run(["compact", "--budget=500", "--policy=backward", "--lookback=0", file]);
    equal(deferred.code, 1);
    deepEqual(JSON.parse(deferred.out).messages, messages);
    match(
      deferred.err,
      /deferred: atom_too_wide; nearest legal cuts: \d+ and \d+\n {2}what helps: raise --budget, or compact again when /,
    );
  },
);

testInFolder("selvage compact shows a plan and changes nothing, and writes with a backup", async (folder) => {
  const messages = [{ role: "system", content: "Be brief." }, ...rounds(60, 60)];
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

Deno.test("selvage compact says of each thing that bars the way what helps", async () => {
  const wide = [user("Go."), { ...call("a") }, result("a", "word ".repeat(3_000)), user("Thanks.")];
  const open = [user("Go."), call("a"), user("word ".repeat(3_000))];
  const cases: readonly (readonly [readonly unknown[], readonly string[], RegExp])[] = [
    [
      wide.slice(0, 3),
      ["--budget=100"],
      /refused: atom_too_wide.*\n {2}what helps: raise --budget: the newest messages /,
    ],
    [
      wide,
      ["--budget=1000", "--pin=2"],
      /refused: pinned_too_big.*\n {2}what helps: pin less, or raise --budget: /,
    ],
    [wide, ["--budget=1"], /refused: \w+.*\n {2}what helps: /],
    [
      open,
      ["--budget=200", "--in-flight=a"],
      /deferred: open_call.*\n {2}what helps: compact again once the open call is answered\n/,
    ],
  ];
  for (const [messages, flags, wanted] of cases) {
    const { code, err } = await run(["compact", ...flags, "-"], { stdin: lines(messages) });
    equal(code, 1, err);
    match(err, wanted);
  }
});
