/** Turns that leave the log for a branch of their own, and turns that bring a history along. */
import assert from "node:assert/strict";
import type { StoredView } from "../../src/compaction/context.ts";
import { setPin } from "../../src/loop/pins.ts";
import type { Entry, UserEntry } from "../../src/ports.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import { assertAccounted, overflow } from "../support/requests.ts";
import { Bench, calls, endOf, eventsOf, KEY, prose, replies, tool } from "../support/turns.ts";

const tools = [tool("read", ({ n, length }) => prose(Number(length), Number(n)))];

function textsOf(entries: readonly Entry[]): readonly string[] {
  return entries.filter((entry): entry is UserEntry => entry.kind === "user").map(({ message }) =>
    String(message.content)
  );
}

Deno.test("a turn that forks shows its model what is before the fork, and keeps what it leaves", async () => {
  const bench = new Bench({ script: replies({ text: "one" }, { text: "two" }, { text: "three" }) });
  await bench.run("first");
  await bench.run("second");
  const before = await bench.state();
  assert.equal(endOf(await bench.run("other", { fork: { at: 2 } })), "stop");
  const { entries, head } = await bench.assertSound();
  assert.deepEqual(textsOf(entries), ["first", "other"]);
  assert.deepEqual(bench.requests.at(-1)?.messages.map(({ content }) => content), [
    "first",
    [{ type: "text", text: "one" }],
    "other",
  ]);
  assert.equal(head.branch, 1);
  assert.deepEqual((await bench.store.read(KEY, { branch: 0 }))?.entries, before.entries);
});

Deno.test("a turn can go back to a branch that was left", async () => {
  const bench = new Bench({ script: replies({ text: "1" }, { text: "2" }, { text: "3" }, { text: "4" }) });
  await bench.run("first");
  await bench.run("second");
  await bench.run("other", { fork: { at: 2 } });
  await bench.run("third", { fork: { at: 4, branch: 0 } });
  assert.deepEqual(textsOf((await bench.assertSound()).entries), ["first", "second", "third"]);
});

Deno.test("a fork that is refused, or cannot be stored, leaves everything as it was", async () => {
  const bench = new Bench({
    script: replies({ text: "one" }, calls("read", { n: 1, length: 9 }), { text: "x" }),
    tools,
  });
  await bench.run("first");
  await bench.run("second");
  const before = await bench.state();
  for (const fork of [{ at: 9 }, { at: -1 }, { at: 2, branch: 3 }, { at: 4 }]) {
    await assert.rejects(bench.run("other", { fork }), { code: "bad_fork" });
  }
  await assert.rejects(bench.run("other", { fork: { at: 4 } }), {
    message: /found \d entries, and 1 call open before it, wanted/,
  });
  await assert.rejects(bench.run("x ".repeat(400_000), { fork: { at: 2 } }), { code: "input_too_large" });
  const { head, entries } = await bench.assertSound();
  assert.deepEqual(entries, before.entries);
  assert.deepEqual([head.branch, head.branches], [undefined, undefined]);
});

Deno.test("a turn that is refused leaves no session where there was none", async () => {
  const bench = new Bench({ script: replies({ text: "one" }) });
  await assert.rejects(bench.run("first", { fork: { at: 9 } }), { code: "bad_fork" });
  assert.equal(await bench.store.read(KEY), null);
  const begin = () => {
    throw new TypeError("no beginning");
  };
  await assert.rejects(bench.run("first", { begin }), /no beginning/);
  assert.equal(await bench.store.read(KEY), null);
  assert.equal(endOf(await bench.run("first")), "stop");
  await assert.rejects(bench.run("second", { fork: { at: 9 } }), { code: "bad_fork" });
  assert.deepEqual(textsOf((await bench.assertSound()).entries), ["first"]);
});

Deno.test("a fork takes the view along that was made before it, and no later one", async () => {
  const read = (n: number): ScriptedReply => calls("read", { n, length: 1_500 });
  const turn = (): ScriptedReply[] => [...Array.from({ length: 14 }, (_, n) => read(n)), { text: "done" }];
  const bench = new Bench({ tools, window: 8_000, script: replies(...turn(), ...turn(), ...turn()) });
  await bench.run("first task");
  const after = await bench.state();
  await bench.run("second task");
  const whole = await bench.state();
  assert.ok(after.head.view >= 1 && whole.head.view > after.head.view);
  const requests = bench.requests.length;
  const events = await bench.run("third task", { fork: { at: after.entries.length } });
  const { entries, head, view } = await bench.assertSound();
  const [first] = eventsOf(events, "compaction").filter(({ phase }) => phase === "applied");
  assert.ok(first?.view !== undefined && first.view > after.head.view, "numbers go on in the branch");
  assert.equal((view as StoredView).version, head.view);
  // What the first request shows is what the turn before the fork had left.
  assert.deepEqual(
    bench.requests[requests]?.messages.slice(0, -1),
    bench.requests[15]?.messages.slice(0, -1),
  );
  for (const request of bench.requests.slice(requests)) {
    assertAccounted(request, entries);
    assert.equal(overflow(request, 8_000), 0);
  }
  assert.deepEqual((await bench.store.read(KEY, { branch: 0 }))?.view, whole.view);
});

Deno.test("a fork shows what was pinned after its view was made, and takes no pin of an entry along that it leaves", async () => {
  const read = (n: number): ScriptedReply => calls("read", { n, length: 1_500 });
  const turn = (from: number): ScriptedReply[] => [
    ...Array.from({ length: 14 }, (_, n) => read(from + n)),
    { text: "done" },
  ];
  const bench = new Bench({ tools, window: 8_000, script: replies(...turn(0), ...turn(20), ...turn(40)) });
  await bench.run("first task");
  const { entries: { length } } = await bench.state();
  await bench.run("second task");
  const place = { key: KEY, agent: bench.agent, store: bench.store, clock: bench.clock };
  const left = `e${length + 3}.0`;
  for (const ref of ["e3.0", left]) await setPin(place, { ref, pinned: true });
  const requests = bench.requests.length;
  await bench.run("third task", { fork: { at: length } });
  const { entries, head, view } = await bench.assertSound();
  assert.deepEqual(head.pins, { "e3.0": true });
  for (const request of bench.requests.slice(requests)) {
    assertAccounted(request, entries);
    assert.equal(overflow(request, 8_000), 0);
    const shown = JSON.stringify(request.messages);
    assert.ok(shown.includes(prose(1_500, 1)), "what is pinned, to the letter");
  }
  const { pinned, cut } = view as StoredView;
  assert.ok(cut > length + 5, "the branch was compacted");
  assert.ok(!pinned.includes(length + 3), `${pinned}: in the branch another call has the ref ${left}`);
});

Deno.test("the entry behind a compaction tells of it, across turns", async () => {
  const read = (n: number): ScriptedReply => calls("read", { n, length: 1_500 });
  const script = replies(...Array.from({ length: 30 }, (_, n) => read(n)), { text: "done" }, {
    text: "again",
  });
  const bench = new Bench({ tools, window: 8_000, script });
  const events = [...await bench.run("first"), ...await bench.run("second")];
  const { entries } = await bench.assertSound();
  const applied = eventsOf(events, "compaction").filter(({ phase }) => phase === "applied");
  assert.ok(applied.length > 3);
  const noted = entries.flatMap(({ compacted }) => compacted === undefined ? [] : [compacted]);
  assert.deepEqual(
    noted,
    applied.map(({ id: _id, type: _type, phase: _phase, ...facts }) => facts),
  );
});

Deno.test("a turn brings a history along, with the view that shows it", async () => {
  const at = { turn: "import_1", at: 1 };
  const history: Entry[] = [
    { kind: "user", seq: 0, ...at, message: { role: "user", content: "from elsewhere" } },
    {
      kind: "assistant",
      seq: 1,
      ...at,
      step: 1,
      message: {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "a", toolName: "read", input: { n: 1 } }],
      },
      reason: "tool-calls",
      model: "import",
    },
    {
      kind: "result",
      seq: 2,
      ...at,
      step: 1,
      call: "e1.0",
      toolName: "read",
      status: "ok",
      output: { type: "text", value: "found" },
      ms: 0,
    },
  ];
  const bench = new Bench({ tools, script: replies({ text: "one" }, { text: "two" }) });
  await bench.run("go on", { history: { entries: history }, client: { id: "u1", metadata: { a: 1 } } });
  const { entries } = await bench.assertSound();
  assert.deepEqual(entries.slice(0, 3), history);
  assert.deepEqual(entries[3]?.client, { id: "u1", metadata: { a: 1 } });
  assert.equal(bench.requests[0]?.messages.length, 4);
  // Behind a log it is numbered on.
  await bench.run("and on", { history: { entries: history } });
  const { entries: more } = await bench.assertSound();
  assert.deepEqual(more.map(({ seq }) => seq), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal((more[7] as { call?: string }).call, "e6.0");
});
