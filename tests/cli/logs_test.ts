/** Session logs of agents. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { unwrapLines } from "../../src/files/wrapped.ts";
import { user } from "../support/chat.ts";
import { lines, run, testInFolder, write } from "../support/command.ts";

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
