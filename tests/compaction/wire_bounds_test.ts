/** What comes out of a compaction: how large it may be, and what it says of itself. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { pairsIn } from "../../src/compaction/ledger.ts";
import { parseLedger } from "../../src/compaction/parse_ledger.ts";
import {
  checkMessages,
  compactTranscript,
  isLedger,
  type JsonObject,
  readTranscript,
} from "../../src/transcripts.ts";
import { call, compact, LOREM, type Messages, result, rounds, said, summaryOf, user } from "./_wire.ts";

Deno.test("compactTranscript() answers nothing where all fits, whatever is kept free for a summary", () => {
  const messages = [user(`a ${LOREM}`), said(LOREM), user(LOREM)];
  const { before } = compact(messages, { budget: 9_000 }).tokens;
  for (const summaryReserve of [0, before / 2, before, 9_000]) {
    for (const budget of [before, before + 1, before * 2]) {
      equal(compact(messages, { budget, summaryReserve }).outcome, "nothing", `${budget} ${summaryReserve}`);
    }
  }
});

Deno.test("compactTranscript() gives out at most 1.15 of its budget and saves a tenth, or says why not", () => {
  const texts = Array.from({ length: 12 }, (_, n) => [user(`Question ${n} ${LOREM}`), said(`${n} ${LOREM}`)]);
  const transcripts = [
    texts.flat(),
    [user("Go."), ...rounds(20, "c", "short"), said("Done.")],
    [user("Go."), ...rounds(6), user("On."), ...rounds(12, "d", "short")],
  ];
  const seen = new Set<string>();
  for (const messages of transcripts) {
    for (let budget = 5; budget < 2_400; budget = Math.ceil(budget * 1.04)) {
      const { outcome, reason, tokens, messages: made } = compact(messages, { budget });
      seen.add(reason ?? outcome);
      ok(reason?.startsWith("rejected") !== true, `${reason} at ${budget}`);
      if (outcome === "nothing") {
        ok(tokens.before <= budget * 1.15, `${tokens.before} at ${budget}`);
        equal(
          reason === "within_budget",
          tokens.before <= budget,
          `${reason} for ${tokens.before} at ${budget}`,
        );
      }
      if (outcome !== "applied") continue;
      ok(tokens.after <= budget * 1.15, `${tokens.after} at ${budget}`);
      ok(tokens.after <= tokens.before * 0.9, `${tokens.after} of ${tokens.before} at ${budget}`);
      equal(compact(made, { budget }).outcome, "nothing");
    }
  }
  const wanted = ["applied", "within_budget", "too_little_to_gain", "budget_too_small"];
  ok(wanted.every((found) => seen.has(found)), [...seen].join());
});

Deno.test("compactTranscript() says that what is over the budget is no more than a cut may keep", () => {
  const messages = [user("Go."), ...rounds(20, "c", "short"), said("Done.")];
  const { before } = compact(messages, { budget: 9_000 }).tokens;
  const { outcome, reason } = compact(messages, { budget: Math.ceil(before / 1.1), summaryReserve: 0 });
  deepEqual([outcome, reason], ["nothing", "within_lookback"]);
});

Deno.test("compactTranscript() says that a budget is too small where the summary alone fills it", () => {
  const messages = [...rounds(8, "c", "short"), user("On.")];
  const done = compact(messages, { budget: 30 });
  deepEqual([done.outcome, done.reason], ["refused", "budget_too_small"]);
  ok((compact(messages, { budget: 30, force: true }).tokens.after ?? 0) > 30 * 1.15, "asked for");
  const full = compact(messages, { budget: 50, summaryReserve: 80 });
  deepEqual([full.outcome, full.reason], ["refused", "budget_too_small"], "nothing is pinned");
});

Deno.test("compactTranscript() makes an earlier summary smaller where it alone is too large for the budget", () => {
  const once = compact([...rounds(60), user("On.")], { budget: 3_000, summaryReserve: 2_000 });
  const tail = once.messages.slice(-3);
  const kept = [...once.messages.slice(0, 1), ...tail];
  const budget = 400;
  const twice = compact(kept, { budget });
  equal(twice.outcome, "applied", twice.reason ?? "");
  ok(twice.tokens.after <= budget * 1.15);
  deepEqual(twice.messages.slice(1), tail);
  equal(pairsIn(parseLedger(summaryOf(twice.messages))?.lines ?? []), once.ledger.length);
  equal(compact(twice.messages, { budget }).outcome, "nothing");
});

Deno.test("compactTranscript() refuses no neighbouring orphans for what only a second run would do", () => {
  const orphans = Array.from({ length: 10 }, (_, n) => result(`c${n}`, `result ${n}`));
  for (let budget = 20; budget < 200; budget += 3) {
    const { reason } = compact([user("x"), ...orphans], { budget });
    ok(reason?.startsWith("rejected") !== true, `${reason} at ${budget}`);
  }
});

Deno.test("compactTranscript() says where the whole of a shortened result is in words that hold there", () => {
  const messages = [user("Go."), ...rounds(12), call("wide"), result("wide", "word ".repeat(3_000))];
  const done = compact(messages, { budget: 600 });
  deepEqual(done.trims.map(({ at }) => at), [messages.length - 1]);
  match(
    String(done.messages.at(-1)?.["content"]),
    new RegExp(`the whole result is message ${messages.length - 1} of what was compacted\\]`),
  );
});

Deno.test("compactTranscript() leaves a line for a result without its call that goes with what is cut away", () => {
  const messages = [
    user("Go."),
    result("toolu_04", "It rained."),
    call("a"),
    result("a", "first"),
    result("a", "first"),
    result("a", "other"),
    ...rounds(12),
  ];
  for (const repair of [true, false]) {
    const text = summaryOf(compact(messages, { budget: 900, repair }).messages);
    ok(text.includes('e1 user: "[selvage: a result without its call (toolu_04)] It rained."'), text);
    ok(text.includes('e5 user: "[selvage: a second result of a] other"') && !text.includes("\ne4 "), text);
  }
});

Deno.test("compactTranscript() records the result that stands directly in front of its call", () => {
  const messages = [user("Go."), result("a", "It rained."), call("a"), ...rounds(12)];
  const done = compact(messages, { budget: 900 });
  deepEqual(done.ledger.slice(0, 1).map(({ callId, outcome, digest }) => [callId, outcome, digest]), [
    ["a", "ok", "It rained."],
  ]);
});

Deno.test("compactTranscript() writes what a function of Gemini gave back without escaping it twice", () => {
  const round = (n: number, response: JsonObject): Messages => [
    { role: "model", parts: [{ functionCall: { name: "run", args: { n } } }] },
    { role: "user", parts: [{ functionResponse: { name: "run", response } }] },
  ];
  const messages = [
    { role: "user", parts: [{ text: "Go." }] },
    ...round(0, { output: 'He said "no".\nTwice.' }),
    ...round(1, { result: { files: ["a.ts", "b.ts"], size: 2 } }),
    ...round(2, { code: 1, text: "bad" }),
    ...Array.from({ length: 10 }, (_, n) => round(3 + n, { output: LOREM })).flat(),
  ];
  const done = compact(messages, { budget: 700 }, { format: "gemini" });
  deepEqual(done.ledger.slice(0, 3).map(({ digest }) => digest), [
    'He said "no".\nTwice.',
    "files: [a.ts, b.ts]\nsize: 2",
    "code: 1\ntext: bad",
  ]);
});

Deno.test("compactTranscript() says what is wrong with what came out, also where it was asked to mend nothing", () => {
  const messages = [user("Go."), ...rounds(12), call("open"), user("Stop.")];
  deepEqual(compact(messages, { budget: 600 }).violations, []);
  const { violations, messages: made, outcome } = compact(messages, { budget: 600, repair: false });
  equal(outcome, "applied");
  deepEqual(violations.map(({ code, at }) => [code, at]), [["missing_result", made.length - 2]]);
  deepEqual(compact(messages, { budget: 90_000, repair: false }).violations.length, 1);
});

/** A loop of steps with signed reasoning behind one user message. */
function signedLoop(steps: number): Messages {
  return Array.from({ length: steps }, (_, n): Messages => [
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: `Step ${n}.`, signature: `s${n}` },
        { type: "tool_use", id: `t${n}`, name: "run", input: {} },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: `t${n}`, content: `${n} ${LOREM}` }] },
  ]).flat();
}

Deno.test("compactTranscript() says that it has cut a loop with signed reasoning, and what is signed in the rest", () => {
  const messages = [user("Go."), ...signedLoop(12)];
  const read = { format: "anthropic", isSummary: isLedger } as const;
  const reading = readTranscript(messages, read);
  const done = compactTranscript(reading, { budget: 700 });
  const { at } = done.cut ?? { at: 0 };
  deepEqual([done.outcome, done.reason], ["applied", "inside_signed_reasoning"]);
  ok(!reading.transcript.isLegalCut(at), "none where it is asked for");
  deepEqual(done.signed, messages.flatMap(({ role }, n) => n >= at && role === "assistant" ? [n] : []));
  ok(done.messages.slice(1).every((message, n) => message === messages[at + n]), "bytes are kept");
  const asked = compactTranscript(readTranscript(messages, { ...read, thinking: "ignore" }), { budget: 700 });
  deepEqual([asked.outcome, asked.reason, asked.signed.length > 0], ["applied", null, true]);
  // A loop that is done may be cut anywhere; what is signed behind the summary is said all the same.
  const turn = [...messages, { role: "assistant", content: "Done." }, user("And now?")];
  const other = compactTranscript(readTranscript(turn, read), { budget: 700 });
  deepEqual([other.outcome, other.reason], ["applied", null]);
  ok(other.signed.length > 0 && other.signed.every((n) => n >= (other.cut?.at ?? 0)));
  deepEqual(compactTranscript(reading, { budget: 90_000 }).signed, []);
  deepEqual(checkMessages(readTranscript(done.messages, read)), []);
});
