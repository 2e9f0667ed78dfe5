/** What the command prints and writes of a transcript. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { lookAt, replaceFile } from "../../src/_cli_write.ts";
import { call, result, user } from "../support/chat.ts";
import { lines, run, testInFolder, write } from "../support/command.ts";

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

testInFolder("selvage repair keeps what stands between messages that stay", async (folder) => {
  const text =
    '[{"role":"user","content":"a"},  {"role":"user","content":"b"},\n\n{"role":"user","content":"c"} ]';
  const file = await write(`${folder}/t.json`, text);
  equal((await run(["repair", file])).out, text);
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
