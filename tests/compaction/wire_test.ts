/** Compaction of transcripts that need a repair: it comes first, and positions stay those of the input. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { pairsIn, renderLedger } from "../../src/compaction/ledger.ts";
import { parseLedger } from "../../src/compaction/parse_ledger.ts";
import {
  checkMessages,
  compactTranscript,
  isLedger,
  type JsonObject,
  readTranscript,
  repairTranscript,
} from "../../src/transcripts.ts";
import { call, compact, type Messages, read, result, rounds, said, user, words } from "./_wire.ts";

const broken: Messages = [user("Go."), call("lost"), user("On."), ...rounds(12, "c", words(40))];

Deno.test("compactTranscript() counts what a repair adds: a second run answers nothing at every budget", () => {
  const calls = (n: number) => ({
    role: "assistant",
    content: null,
    tool_calls: Array.from({ length: 6 }, (_, index) => ({
      id: `c${n}.${index}`,
      type: "function",
      function: { name: "run", arguments: "{}" },
    })),
  });
  // Calls without results cost little as they come, and much more once each of them has one.
  const messages = Array.from({ length: 12 }, (_, n) => [user(`Do ${n}.`), calls(n)]).flat().concat(
    user("End."),
  );
  const outcomes = new Set<string>();
  for (let budget = 60; budget < 1_600; budget += 7) {
    const done = compact(messages, { budget, summaryReserve: 60 });
    outcomes.add(done.outcome);
    ok(done.reason?.startsWith("rejected") !== true, `${done.reason} at ${budget}`);
    deepEqual(checkMessages(read(done.messages)), []);
    if (done.outcome !== "applied") continue;
    const again = compact(done.messages, { budget, summaryReserve: 60 });
    deepEqual([again.outcome, again.repairs], ["nothing", []], `at ${budget}`);
  }
  ok(outcomes.has("applied") && outcomes.has("nothing"), [...outcomes].join());
});

Deno.test("compactTranscript() tells cut, ledger, trims and repairs by messages of the input", () => {
  const messages = [...broken, call("wide"), result("wide", words(3_000)), call("open"), user("Stop.")];
  const done = compact(messages, { budget: 600 });
  equal(done.outcome, "applied");
  ok(done.cut !== null && read(messages).transcript.isLegalCut(done.cut.at));
  for (const { at, callId } of done.ledger) {
    ok(
      at < done.cut.at && JSON.stringify(messages[at]).includes(`"id":"${callId}"`),
      `${at} is not ${callId}`,
    );
  }
  deepEqual(done.ledger[0]?.callId, "lost");
  equal(done.ledger[0]?.outcome, "aborted");
  deepEqual(done.trims.map(({ at, callId }) => [at, callId]), [[messages.length - 3, "wide"]]);
  deepEqual(done.repairs, [{
    code: "missing_result",
    at: messages.length - 2,
    callId: "open",
    message: "Answered the call with an error: it did not finish",
  }]);
});

Deno.test("compactTranscript() tells how a trimmed result moved: by the message that it stood in", () => {
  const wide = result("late", words(3_000));
  const messages = [...broken, call("late"), user("Meanwhile."), wide, said("Read.")];
  const done = compact(messages, { budget: 600 });
  deepEqual(done.trims.map(({ at, callId }) => [at, callId]), [[messages.indexOf(wide), "late"]]);
  ok(done.cut !== null && read(messages).transcript.isLegalCut(done.cut.at));
});

Deno.test("compactTranscript() gives kept messages back as the objects that came in, behind what a repair adds", () => {
  const done = compact(broken, { budget: 600, pinned: [2] });
  const { at } = done.cut ?? { at: 0 };
  ok(at > 3);
  deepEqual(done.messages.length, 2 + broken.length - at);
  equal(done.messages[1], broken[2], "the pin is an index of the input");
  ok(done.messages.slice(2).every((message, index) => message === broken[at + index]));
  deepEqual(done.repairs, [], "what was mended has left");
});

Deno.test("compactTranscript() keeps a pinned round with what a repair adds to it", () => {
  const done = compact(broken, { budget: 600, pinned: [1] });
  equal(done.messages[1], broken[1]);
  equal(done.messages[2]?.["tool_call_id"], "lost");
  deepEqual(done.repairs, [{
    code: "missing_result",
    at: 1,
    callId: "lost",
    message: "Answered the call with an error: it did not finish",
  }]);
  ok(done.ledger.every(({ callId }) => callId !== "lost"));
});

Deno.test("compactTranscript() says what became of a pinned message that a repair takes away", () => {
  const messages = [user("Go."), call("a"), result("a"), result("a"), ...rounds(12, "c", words(40))];
  const done = compact(messages, { budget: 600, pinned: [3] });
  equal(done.outcome, "applied");
  deepEqual(done.repairs, [{
    code: "duplicate_result",
    at: 3,
    callId: "a",
    message: "Took out the result: it says what the first one says",
  }]);
  equal(
    done.messages.length,
    1 + messages.length - (done.cut?.at ?? 0),
    "nothing else is pinned in its place",
  );
});

Deno.test("compactTranscript() keeps pinned messages of the system and pinned rounds side by side", () => {
  const messages = [{ role: "system", content: "Be brief." }, user("Go."), ...rounds(12, "c", words(40))];
  const done = compact(messages, { budget: 600, pinned: [0, 3] });
  equal(done.outcome, "applied", done.reason ?? "");
  equal(done.messages[0], messages[0]);
  deepEqual(done.messages.slice(2, 4), messages.slice(2, 4));
});

Deno.test("compactTranscript() goes on counting what the caller counted, wherever a repair moves it", () => {
  const tokens = broken.map((_, at) => 100 + at);
  const reading = read(broken, { tokens });
  const done = compactTranscript(reading, { budget: 1_000 });
  const { at } = done.cut ?? { at: 0 };
  const tail = tokens.slice(at).reduce((a, b) => a + b, 0);
  ok(tail <= 1_000 * 1.15 && tail >= 500, `the tail has ${tail}`);
  equal(done.tokens.before, tokens.reduce((a, b) => a + b, 0));
  const summary = read(done.messages.slice(0, 1)).transcript.tokens;
  equal(done.tokens.after, summary + tail);
  // Where nothing leaves, only the result that was added is counted here.
  const whole = compactTranscript(reading, { budget: 10_000 });
  const added = repairTranscript(reading).messages[2] ?? {};
  deepEqual(whole.tokens, {
    before: done.tokens.before,
    after: done.tokens.before + read([added]).transcript.tokens,
    budget: 10_000,
  });
});

Deno.test("compactTranscript() plans what it would do after the repair, and gives back what came in", () => {
  const options = { budget: 600, pinned: [2] };
  const plan = compact(broken, { ...options, plan: true });
  const done = compact(broken, options);
  deepEqual([plan.cut, plan.ledger, plan.tokens], [done.cut, done.ledger, done.tokens]);
  equal(plan.messages.every((message, at) => message === broken[at]), true);
  deepEqual(plan.repairs, []);
  const removed = broken.filter((_, at) => at < (done.cut?.at ?? 0) && at !== 2);
  ok(plan.toSummarise?.every((message, at) => message === removed[at]));
  equal(plan.toSummarise?.length, removed.length);
});

Deno.test("compactTranscript() without a repair cuts what came in as it is", () => {
  const messages = [...broken, call("open"), user("Stop.")];
  const done = compact(messages, { budget: 600, repair: false });
  equal(done.outcome, "applied");
  deepEqual(done.messages.slice(-2), messages.slice(-2));
  deepEqual(done.repairs, []);
});

Deno.test("compactTranscript() makes no cut that the input does not have; what a repair gives back may have it", () => {
  // The answer came late: until it is moved, all between call and answer is one piece.
  const messages = [
    user("Go."),
    call("late"),
    ...Array.from({ length: 8 }, () => user(words(100))),
    result("late"),
  ];
  const deferred = compact(messages, { budget: 400 });
  deepEqual([deferred.outcome, deferred.reason, deferred.cut], ["deferred", "atom_too_wide", null]);
  const { before, after } = deferred.nearest ?? {};
  const { transcript } = read(messages);
  ok([before, after].every((at) => at == null || transcript.isLegalCut(at)));
  const next = compact(deferred.messages, { budget: 400 });
  equal(next.outcome, "applied");
  equal(compact(next.messages, { budget: 400 }).outcome, "nothing");
});

Deno.test("compactTranscript() cuts nothing behind a call in flight, also where a repair closes it", () => {
  const messages = [
    user("Go."),
    ...rounds(4, "c", words(40)),
    call("cut", '{"path": "a'),
    ...rounds(8, "c", words(40)).slice(8),
  ];
  const reading = read(messages, { inFlight: ["cut"] });
  const done = compactTranscript(reading, { budget: 300, force: true });
  ok(done.cut === null || reading.transcript.isLegalCut(done.cut.at));
  deepEqual(checkMessages(read(done.messages)), []);
});

Deno.test("compactTranscript() finds no trims for a pinned tail that a forced cut leaves over its budget", () => {
  const messages = [user("Go."), ...rounds(4, "c", words(40)), call("wide"), result("wide", words(3_000))];
  const done = compact(messages, { budget: 500, pinned: [messages.length - 1], force: true });
  equal(done.outcome, "applied", done.reason ?? "");
  deepEqual(done.trims, []);
  const again = compact(done.messages, { budget: 500, pinned: [done.messages.length - 1] });
  equal(again.outcome, "refused");
});

Deno.test("compactTranscript() puts an empty ledger in front of a tail that may not come first", () => {
  const text = (content: string): JsonObject => ({
    role: "assistant",
    content: [{ type: "text", text: content }],
  });
  const messages = [
    { role: "user", content: [{ type: "text", text: "" }] },
    { role: "assistant", content: [{ type: "thinking", thinking: words(300) }] },
    text(words(100)),
    user("Go on."),
  ];
  const options = { format: "anthropic", isSummary: isLedger } as const;
  const done = compactTranscript(readTranscript(messages, options), { budget: 200, summaryReserve: 60 });
  deepEqual([done.outcome, done.cut?.at], ["applied", 2]);
  equal(done.messages[0]?.["content"], renderLedger([], { below: [{ from: 2, to: Infinity }] }));
  deepEqual(done.messages.slice(1), messages.slice(2));
  const again = compactTranscript(readTranscript(done.messages, options), {
    budget: 200,
    summaryReserve: 60,
  });
  equal(again.outcome, "nothing");
});

Deno.test("compactTranscript() keeps the caller's summary where no message that leaves has a line", () => {
  const lost = Array.from({ length: 6 }, (_, n) => user(n === 0 ? "" : " ".repeat(40 * n)));
  const done = compact([...lost, user(words(100)), said(words(100))], {
    budget: 320,
    summaryReserve: 60,
    summary: "Nothing was said.",
    repair: false,
  });
  deepEqual([done.outcome, done.cut?.at], ["applied", 6]);
  equal(
    done.messages[0]?.["content"],
    `${renderLedger([], { below: [{ from: 6, to: Infinity }] })}\n\nNothing was said.`,
  );
});

Deno.test("compactTranscript() writes no line for an empty text, and one for a file", () => {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  const messages = [
    user(""),
    { role: "user", content: [image] },
    ...Array.from({ length: 6 }, () => user(words(10))),
  ];
  const done = compact(messages, { budget: 400, summaryReserve: 200 });
  const summary = String(done.messages[0]?.["content"]);
  ok(summary.includes('\ne1 user: "[file]"') && !summary.includes("\ne0 user"), summary);
});

Deno.test("compactTranscript() takes over an earlier ledger that somebody put a message in front of", () => {
  const once = compact([user("Go."), ...rounds(12, "c", words(40))], { budget: 600 });
  const later = rounds(8, "c", words(40)).map((message) =>
    JSON.parse(JSON.stringify(message).replaceAll('"c', '"d'))
  );
  const grown = [user("Today is Monday."), ...once.messages, ...later];
  const twice = compact(grown, { budget: 600 });
  equal(twice.outcome, "applied");
  const ledger = parseLedger(String(twice.messages[0]?.["content"]));
  equal(pairsIn(ledger?.lines ?? []), once.ledger.length + twice.ledger.length);
  equal(twice.messages.filter((message) => isLedger(String(message["content"]))).length, 1);
  equal(compact(twice.messages, { budget: 600 }).outcome, "nothing");
});
