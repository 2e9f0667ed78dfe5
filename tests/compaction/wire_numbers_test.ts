/** Ledgers that were there before: all are taken over, and messages keep their numbers. */
import { equal, match, ok } from "node:assert/strict";
import { pairsIn } from "../../src/compaction/ledger.ts";
import { parseLedger } from "../../src/compaction/parse_ledger.ts";
import { isLedger, type JsonObject } from "../../src/transcripts.ts";
import { call, compact, LOREM, type Messages, result, rounds, summaryOf, system, user } from "./_wire.ts";

Deno.test("compactTranscript() takes over every ledger, wherever it stands, and drops no line", () => {
  const first = summaryOf(compact([user("Go."), ...rounds(12, "a")], { budget: 600 }).messages);
  const second = summaryOf(compact([user("Go."), ...rounds(9, "b")], { budget: 600 }).messages);
  const pairs = (text: string): number => pairsIn(parseLedger(text)?.lines ?? []);
  const both = pairs(first) + pairs(second);
  ok(pairs(first) > 4 && pairs(second) > 4);
  const later = rounds(12, "z");
  const inputs: readonly Messages[] = [
    [user(first), user(second), ...later],
    [user("You are on linux."), user(first), user(second), ...later],
    [system("Be brief."), user(first), system("On linux."), user(second), ...later],
    [user(first), ...rounds(2, "y"), user(second), ...later],
    [{ role: "user", content: [{ type: "text", text: first }, { type: "text", text: second }] }, ...later],
    [
      user(first),
      { role: "user", content: [{ type: "text", text: second }, { type: "text", text: "On." }] },
      ...later,
    ],
  ];
  for (const [index, messages] of inputs.entries()) {
    for (const pinned of [[], [0], [0, 1], [1]]) {
      const isMixed = index === 5 && pinned.includes(1);
      const done = compact(messages, { budget: 700, pinned: isMixed ? [] : pinned });
      equal(done.outcome, "applied", `${index} ${done.reason}`);
      const texts = done.messages.map(({ content }) => String(content)).filter(isLedger);
      equal(texts.length, 1, `${index} ${pinned}`);
      equal(pairs(texts[0] ?? ""), both + done.ledger.length, `${index} ${pinned}`);
      equal(compact(done.messages, { budget: 700 }).outcome, "nothing");
    }
  }
});

/** The call that a line of a ledger names stands at its number in `log`. */
function holdsNumbers(text: string, log: Messages): void {
  for (const line of parseLedger(text)?.lines ?? []) {
    const found = JSON.stringify(log[line.seq] ?? null);
    if (line.kind === "pair") {
      ok(found.includes(JSON.stringify(line.args).slice(1, -1)), `${line.ref}: ${found}`);
    }
    if (line.kind === "user") ok(found.includes(line.text.slice(0, 20)), `e${line.seq}: ${found}`);
  }
}

Deno.test("compactTranscript() goes on counting in the uncut transcript, over three compactions", () => {
  const named = (name: string, n: number): Messages => {
    const id = `${name}${n}`;
    const made = call(id);
    const [{ function: run }] = made["tool_calls"] as [{ function: JsonObject }];
    return [
      {
        ...made,
        tool_calls: [{ id, type: "function", function: { ...run, arguments: `{"path":"${id}"}` } }],
      },
      result(id, `${id} ${LOREM}`),
    ];
  };
  const some = (name: string, count: number): Messages =>
    Array.from({ length: count }, (_, n) => named(name, n)).flat();
  const lost = named("lost", 0).slice(0, 1);
  let log: Messages = [
    system("Be brief."),
    system("Be kind."),
    user("The task."),
    ...lost,
    user("After a call that is lost."),
    ...some("a", 8),
    system("In between."),
    ...lost,
    user("After another one that is lost."),
    ...some("b", 5),
  ];
  let shown = log;
  const pins = [[6], [], []];
  for (const [round, pinned] of pins.entries()) {
    const done = compact(shown, { budget: 900, pinned });
    equal(done.outcome, "applied");
    const text = summaryOf(done.messages);
    holdsNumbers(text, log);
    for (const { at, ref, callId } of done.ledger) {
      ok(JSON.stringify(shown[at]).includes(`"id":"${callId}"`), "`at` is a message of the input");
      const seq = Number(ref.match(/^e(\d+)\.0$/)?.[1]);
      ok(JSON.stringify(log[seq]).includes(`"id":"${callId}"`), `${ref} is not ${callId}`);
      if (round === 0) equal(seq, at);
    }
    const more = [...some(`c${round}-`, 7), user(`More ${round}`)];
    shown = [...done.messages, ...more];
    log = [...log, ...more];
  }
  match(summaryOf(shown), /\nbelow: e\d+\.\.\n/);
});

Deno.test("compactTranscript() moves the numbers of a ledger that others put messages in front of", () => {
  const once = compact([user("Go."), ...rounds(12)], { budget: 600 });
  const { at } = once.cut ?? { at: 0 };
  const grown = [user("Today is Monday."), user("And it rains."), ...once.messages, ...rounds(8, "z")];
  const twice = compact(grown, { budget: 600 });
  const log = [
    user("Today is Monday."),
    user("And it rains."),
    user("Go."),
    ...rounds(12),
    ...rounds(8, "z"),
  ];
  for (const { ref, callId } of twice.ledger) {
    const seq = Number(ref.match(/^e(\d+)\.0$/)?.[1]);
    ok(JSON.stringify(log[seq]).includes(`"id":"${callId}"`), `${ref} is not ${callId}`);
  }
  equal(twice.ledger[0]?.ref, `e${at + 2}.0`);
});
