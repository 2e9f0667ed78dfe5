/** `POST /v1/compact`. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { call, COMPACT_FIELDS, type Json, result, rounds, said, user } from "../support/chat.ts";
import { post, refused } from "../support/transcript_routes.ts";

Deno.test("POST /v1/compact answers all that was promised, and the ledger names the pairs", async () => {
  const messages = [{ role: "system", content: "Be brief." }, ...rounds(30)];
  const done = await post("compact", { messages, budget: 2_000 });
  deepEqual(Object.keys(done).sort(), COMPACT_FIELDS);
  equal(done.outcome, "applied");
  deepEqual(Object.keys(done.cut).sort(), ["at", "distance", "lookbackUsed", "method"]);
  equal(done.tokens.budget, 2_000);
  ok(done.tokens.after < done.tokens.before && done.tokens.after <= 2_300);
  deepEqual(Object.keys(done.ledger[0]).sort(), [
    "arguments",
    "at",
    "callId",
    "digest",
    "outcome",
    "ref",
    "tool",
  ]);
  deepEqual(done.messages[0], messages[0], "the system message stays in front");
  match(done.messages[1].content, /^\[selvage ledger/);
  deepEqual(done.messages.slice(2), messages.slice(done.cut.at));
  deepEqual(
    done.ledger.map((pair: Json) => pair.at),
    messages.slice(0, done.cut.at).flatMap((message, at) => message.tool_calls ? [at] : []),
  );
  equal(done.reason, null);
  equal(done.nearest, null);
  const again = await post("compact", { messages: done.messages, budget: 2_000 });
  equal(again.outcome, "nothing");
  deepEqual(again.messages, done.messages);
});

Deno.test("POST /v1/compact with plan changes nothing; a second call with a summary applies it", async () => {
  const messages = rounds(30);
  const plan = await post("compact", { messages, budget: 2_000, plan: true });
  equal(plan.outcome, "applied");
  equal(plan.plan, true);
  ok(!("messages" in plan), "nothing is applied, so there is no new transcript");
  deepEqual(plan.toSummarise, messages.slice(0, plan.cut.at));
  ok(plan.ledger.length > 0);
  const done = await post("compact", { messages, budget: 2_000, summary: "  Twenty runs, all fine.  " });
  deepEqual(done.cut, plan.cut);
  ok(done.messages[0].content.endsWith("\n\nTwenty runs, all fine."));
  // The next compaction keeps the prose, and merges the ledger.
  const more = [...done.messages, ...rounds(20).slice(1)];
  const next = await post("compact", { messages: more, budget: 2_000 });
  ok(next.messages[0].content.endsWith("\n\nTwenty runs, all fine."));
  equal(next.messages.filter((message: Json) => /\[selvage ledger/.test(message.content ?? "")).length, 1);
  const broken = [user("Go."), call("a"), user("Stop.")];
  const nothing = await post("compact", { messages: broken, budget: 2_000, plan: true });
  equal(nothing.outcome, "nothing");
  deepEqual(
    [nothing.plan, nothing.toSummarise, nothing.repairs, "messages" in nothing],
    [true, [], [], false],
    "a plan repairs nothing either",
  );
});

Deno.test("POST /v1/compact heeds policy, bounds, reserve, pins, own counts and repair", async () => {
  const messages = rounds(30);
  const compact = (more: Json) => post("compact", { messages, budget: 2_000, ...more });
  const plain = await compact({});
  const exact = await compact({ lookback: 0, lookahead: 0, policy: "backward" });
  equal(exact.outcome, "deferred");
  equal(exact.reason, "atom_too_wide");
  ok(exact.nearest.before < exact.nearest.after);
  const back = await compact({ policy: "backward", lookback: 0.3 });
  ok(back.cut.at < plain.cut.at || back.cut.distance >= 0);
  equal(back.cut.lookbackUsed, back.cut.distance);
  const reserved = await compact({ summaryReserve: 1_000 });
  ok(reserved.cut.at > plain.cut.at, "what the summary may take is not there for the tail");
  const pinned = await compact({ pinned: [0, 3] });
  deepEqual(pinned.messages.slice(1, 4), [messages[0], messages[3], messages[4]], "pins keep whole atoms");
  const counted = await compact({ tokens: messages.map(() => 1_000) });
  equal(counted.tokens.before, 61_000);
  ok(counted.cut.at > plain.cut.at);
  const broken = [user("Go."), call("a"), user("Stop."), ...messages];
  equal((await post("compact", { messages: broken, budget: 100_000 })).repairs.length, 1);
  const kept = await post("compact", { messages: broken, budget: 100_000, repair: false });
  deepEqual([kept.outcome, kept.messages, kept.repairs], ["nothing", broken, []]);
});

Deno.test("POST /v1/compact keeps calls in flight and long-running ones as they are, wherever they move", async () => {
  const tail = [
    call("a"),
    user("Wait."),
    call("b"),
    result("b", "started"),
    user("And?"),
    result("b", "finished"),
  ];
  const messages = [...rounds(30), ...tail];
  const at = messages.indexOf(tail[0]);
  for (
    const names of [
      { inFlight: ["a"], longRunning: ["b"] },
      { inFlight: [{ at, call: 0 }], longRunning: [{ at: at + 2, call: 0 }] },
    ]
  ) {
    for (const more of [{}, { tokens: messages.map(() => 100) }]) {
      const done = await post("compact", { messages, budget: 2_000, ...names, ...more });
      equal(done.outcome, "applied", done.reason);
      deepEqual(done.messages.slice(-tail.length), tail);
      deepEqual(done.repairs, []);
    }
  }
});

Deno.test("POST /v1/compact defers behind a call in flight, and refuses what no later cut can help", async () => {
  const long = "word ".repeat(3_000);
  const open = [user("Go."), call("a"), ...Array.from({ length: 5 }, () => user(long))];
  const deferred = await post("compact", { messages: open, budget: 2_000, inFlight: ["a"] });
  deepEqual([deferred.outcome, deferred.reason], ["deferred", "open_call"]);
  equal(deferred.cut, null);
  deepEqual(deferred.messages, open);
  const refused = await post("compact", { messages: open, budget: 2_000, pinned: [2] });
  deepEqual([refused.outcome, refused.reason], ["refused", "pinned_too_big"]);
});

Deno.test("POST /v1/compact shortens results where one round is too wide, and says by how much", async () => {
  const long = "a line of output\n".repeat(2_000);
  const messages = [user("Go."), said("Yes."), call("a"), result("a", long), said("Read.")];
  const done = await post("compact", { messages, budget: 2_000 });
  equal(done.outcome, "applied");
  equal(done.cut.method, "trim");
  deepEqual(done.trims.map((trim: Json) => [trim.at, trim.callId]), [[3, "a"]]);
  ok(done.trims[0].tokensAfter < done.trims[0].tokensBefore);
});

Deno.test("POST /v1/compact reports repairs by the message of the input", async () => {
  const messages = [...rounds(30), call("z"), user("Stop."), said("Stopped.")];
  const done = await post("compact", { messages, budget: 2_000 });
  equal(done.outcome, "applied");
  deepEqual(
    done.repairs.map(({ code, at, callId }: Json) => ({ code, at, callId })),
    [{ code: "missing_result", at: 61, callId: "z" }],
  );
});

Deno.test("POST /v1/compact repairs first: a second run answers nothing, the cut is one that /v1/check lists", async () => {
  // Abandoned calls, an answer that came late, a second answer, an answer to nothing, a blank text.
  const messages = [
    user("Go."),
    ...rounds(6).slice(1),
    call("gone"),
    user(" "),
    call("late"),
    user("Meanwhile."),
    result("late", "late ".repeat(100)),
    result("c0", "once more ".repeat(50)),
    result("nobody", "whose? ".repeat(50)),
    ...Array.from({ length: 12 }, (_, n) => [call(`open${n}`), user(`On with ${n}.`)]).flat(),
  ];
  const { legalCuts } = await post("check", { messages });
  const cuts = new Set<number>();
  for (let budget = 100; budget < 1_500; budget += 50) {
    const done = await post("compact", { messages, budget, summaryReserve: 50 });
    ok(!/^rejected/.test(done.reason ?? ""), `${done.reason} at ${budget}`);
    deepEqual((await post("check", { messages: done.messages })).violations, []);
    if (done.outcome !== "applied") continue;
    cuts.add(done.cut.at);
    ok(legalCuts.includes(done.cut.at), `${done.cut.at} is not among ${legalCuts}`);
    ok(done.ledger.every(({ at, callId }: Json) => messages[at].tool_calls[0].id === callId));
    const again = await post("compact", { messages: done.messages, budget, summaryReserve: 50 });
    deepEqual([again.outcome, again.repairs], ["nothing", []], `a second run at ${budget}`);
  }
  ok(cuts.size > 5);
});

Deno.test("POST /v1/compact says what it had to do, and what it leaves behind", async () => {
  const step = (n: number): readonly Json[] => [
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: `Step ${n}.`, signature: `s${n}` },
        { type: "tool_use", id: `t${n}`, name: "run", input: {} },
      ],
    },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: `t${n}`, content: `${n} word `.repeat(60) }],
    },
  ];
  const messages = [user("Go."), ...Array.from({ length: 12 }, (_, n) => step(n)).flat()];
  const { legalCuts } = await post("check", { messages });
  const done = await post("compact", { messages, budget: 1_500 });
  deepEqual([done.outcome, done.reason, done.violations], ["applied", "inside_signed_reasoning", []]);
  ok(!legalCuts.includes(done.cut.at) && done.signed.length > 0 && done.signed[0] >= done.cut.at);
  const asked = await post("compact", { messages, budget: 1_500, thinking: "ignore" });
  deepEqual([asked.outcome, asked.reason, asked.signed.length > 0], ["applied", null, true]);
  const broken = await post("compact", {
    messages: [...messages, user("On.")].toSpliced(-2, 1),
    budget: 90_000,
    repair: false,
  });
  deepEqual(broken.violations.map(({ code }: Json) => code), ["missing_result"]);
  const small = await post("compact", { messages: [...messages, user("On.")], budget: 20 });
  deepEqual([small.outcome, small.reason, small.tokens.after], [
    "refused",
    "budget_too_small",
    small.tokens.before,
  ]);
});

Deno.test("POST /v1/compact takes a huge budget, and a tiny one, as they are", async () => {
  for (const budget of [1e308, Number.MAX_SAFE_INTEGER, 1e6]) {
    equal((await post("compact", { messages: rounds(5), budget })).outcome, "nothing");
  }
  for (const budget of [1, 0.5, 5e-324]) {
    equal((await post("compact", { messages: rounds(5), budget })).outcome, "refused");
  }
});

Deno.test("an empty list is a valid transcript with nothing to do", async () => {
  const found = await post("check", { messages: [] });
  deepEqual([found.valid, found.atoms, found.legalCuts], [true, [], [0]]);
  deepEqual(await post("repair", { messages: [] }), { messages: [], repairs: [], violations: [] });
  equal((await post("compact", { messages: [], budget: 10 })).outcome, "nothing");
  equal((await refused("compact", { messages: [], budget: 10, pinned: [0] })).code, "bad_pin");
});
