/**
 * Compaction inside running turns: when it is tried, what a deferral leads to, what the next request shows.
 */
import assert from "node:assert/strict";
import type { StoredView } from "../../src/compaction/context.ts";
import type { Script } from "../../src/models/scripted.ts";
import { assistant, user } from "../support/entries.ts";
import { assertAccounted } from "../support/requests.ts";
import { Bench, calls, endOf, eventsOf, prose, replies, tool } from "../support/turns.ts";
import { compactions, reads, soundly, times, tools } from "./_reads.ts";

Deno.test("a long turn is compacted on its way, at cuts that only go forward", async () => {
  const { bench, events } = await soundly({
    window: 8_000,
    script: replies(...times(40, () => reads(1_500))),
  });
  assert.equal(endOf(events), "stop");
  const applied = eventsOf(events, "compaction").filter(({ phase }) => phase === "applied");
  assert.ok(applied.length >= 3, `only ${applied.length} compactions`);
  for (const [index, { cut = 0, tokensBefore = 0, tokensAfter = 0 }] of applied.entries()) {
    assert.ok(cut >= (applied[index - 1]?.cut ?? 0));
    assert.ok(tokensAfter < tokensBefore, `from ${tokensBefore} to ${tokensAfter}`);
  }
  assert.equal((await bench.state()).head.view, applied.length);
  assert.equal((await bench.state()).head.flag, undefined);
});

Deno.test("a target near the threshold leaves each compaction enough to save", async () => {
  const compaction = { compactTo: 0.58, compactAt: 0.65 };
  const { events } = await soundly({
    window: 8_000,
    script: replies(...times(48, () => reads(2_000))),
    agent: { compaction },
  });
  const phases = eventsOf(events, "compaction").map(({ phase }) => phase);
  assert.ok(phases.length > 3);
  assert.deepEqual([...new Set(phases)], ["applied"]);
});

Deno.test("a deferral behind open calls is resolved in its turn, when the last of them has landed", async () => {
  const { events } = await soundly({
    window: 8_000,
    script: replies(reads(4_000, 5), reads(200), { text: "Read." }),
  });
  const told = events.flatMap((event) =>
    event.type === "tool.result"
      ? [`result ${event.ref}`]
      : event.type === "compaction"
      ? [`${event.phase} ${event.reason} ${event.resolved ?? ""}`]
      : []
  );
  const deferred = told.indexOf("deferred open_call ");
  assert.ok(deferred > 0, told.join("\n"));
  const resolved = told.findIndex((line) => line.startsWith("applied") && line.endsWith("step"));
  assert.ok(resolved > told.indexOf("result e1.4"), told.join("\n"));
  assert.equal(endOf(events), "stop");
});

Deno.test("two compactions in one step are both stored", async () => {
  const { bench, events } = await soundly({
    window: 24_000,
    script: replies(...times(16, () => reads(2_800)), reads(9_000, 7), reads(100), { text: "Read." }),
  });
  const steps: number[] = [];
  for (const event of events) {
    if (event.type === "step.started") steps.push(0);
    if (event.type === "compaction" && event.phase === "applied") steps.push((steps.pop() ?? 0) + 1);
  }
  assert.ok(Math.max(...steps) >= 2, `compactions by step: ${steps}`);
  assert.equal(endOf(events), "stop");
  assert.deepEqual(eventsOf(events, "error"), []);
  const { view } = await bench.state();
  const last = eventsOf(events, "compaction").findLast(({ phase }) => phase === "applied");
  assert.equal((view as StoredView).cut, last?.cut);
});

Deno.test("a deferral is told once for each version of the log, and once while calls of its step are open", async () => {
  const { events } = await soundly({
    window: 8_000,
    script: replies(reads(3_000, 8), reads(3_000, 8), { text: "Read." }),
  });
  let appends = 0;
  let step = 0;
  const seen: string[] = [];
  const barred: number[] = [];
  for (const event of events) {
    if (event.type === "step.started") step = event.step;
    if (event.type === "tool.result" || event.type === "step.started") appends++;
    if (event.type !== "compaction" || event.phase !== "deferred") continue;
    seen.push(`${appends} ${event.reason}`);
    if (event.reason === "open_call") barred.push(step);
  }
  assert.ok(seen.length > 1);
  assert.equal(new Set(seen).size, seen.length, seen.join("\n"));
  assert.deepEqual(barred, [...new Set(barred)], "the same is not told again for each result");
});

Deno.test("policy backward honours a deferral before the turn has finished, with any method", async () => {
  const bench = new Bench({
    tools,
    window: 8_000,
    script: replies(reads(5_000, 4), { text: "Read." }),
    agent: { compaction: { policy: "backward" } },
  });
  const events = await bench.run("Go");
  const told = compactions(events);
  assert.match(told[0] ?? "", /^deferred/);
  assert.equal(told.filter((line) => line.startsWith("deferred")).length, 1, "once deferred, it waits");
  assert.equal(told.at(-1), "applied flag turn");
  assert.equal(events.at(-2)?.type, "context", "the compaction comes before the end");
  assert.equal((await bench.assertSound()).head.flag, undefined);
});

Deno.test("policy backward honours a deferral of the turn's very last check too", async () => {
  // The answer itself goes over the threshold: there is no later append at which to try again.
  const bench = new Bench({
    tools,
    window: 8_000,
    maxOutput: 1_600,
    script: replies(reads(4_500, 3), { text: prose(5_000, 7) }),
    agent: { compaction: { policy: "backward" } },
  });
  const events = await bench.run("Go");
  const told = compactions(events);
  assert.match(told[0] ?? "", /^deferred/, told.join("\n"));
  const at = events.findIndex(({ type }) => type === "compaction");
  assert.ok(at > events.findLastIndex(({ type }) => type === "text.delta"), "deferred before the answer");
  assert.equal(told.at(-1), "applied flag turn");
  await bench.assertSound();
});

Deno.test("a flag that a cancelled turn has left is honoured at the start of the next", async () => {
  const bench = new Bench({
    tools,
    window: 8_000,
    script: replies(reads(5_000, 4), { text: "Read." }),
    agent: { compaction: { policy: "backward" } },
  });
  const stop = new AbortController();
  for await (const event of bench.start("Go", { signal: stop.signal })) {
    if (event.type === "compaction" && event.phase === "deferred") stop.abort();
  }
  assert.equal(typeof (await bench.assertSound()).head.flag?.since, "number");
  const events = await bench.run("Go on");
  const first = events.findIndex(({ type }) => type === "compaction");
  assert.ok(first > 0 && first < events.findIndex(({ type }) => type === "step.started"));
  assert.equal(compactions(events)[0], "applied flag turn");
  assert.equal((await bench.assertSound()).head.flag, undefined);
});

Deno.test("a context that nothing makes smaller ends its turn, the log intact and the session usable", async () => {
  // 30 results at the least size that a trim leaves do not fit, and the model has not read any of them.
  const { bench, events } = await soundly({
    window: 6_000,
    script: (request) =>
      request.messages.at(-1)?.content === "Smaller, then." ? { text: "Well." } : reads(4_000, 40),
  });
  assert.equal(endOf(events), "error");
  assert.deepEqual(eventsOf(events, "error").map(({ code }) => code), ["context_exhausted"]);
  assert.deepEqual(compactions(events).at(-1), "exhausted over_stop_at");
  assert.equal(eventsOf(events, "tool.result").length, 40);
  const { entries } = await bench.state();
  assert.equal(entries.length, 42);
  // The next turn need not keep the last atom of this one.
  assert.equal(endOf(await bench.run("Smaller, then.")), "stop");
  const after = await bench.assertSound();
  assert.deepEqual(after.entries.slice(0, 42), entries);
});

Deno.test("a compaction is not tried again before something was appended", async () => {
  const { events } = await soundly({
    window: 6_000,
    script: replies(reads(4_000, 12), reads(100), reads(100), { text: "Read." }),
  });
  let tries: string[] = [];
  for (const event of events) {
    if (event.type === "tool.result" || event.type === "step.started" || event.type === "text.delta") {
      tries = [];
    }
    if (event.type !== "compaction" || event.phase === "applied" || event.phase === "exhausted") continue;
    tries.push(`${event.phase} ${event.reason}`);
    // One within the bounds, one without them.
    assert.ok(tries.length <= 2, tries.join());
  }
});

Deno.test("an earlier task becomes a line of the ledger once its turn is over, a pinned one never", async () => {
  const bench = new Bench({
    tools,
    window: 8_000,
    script: ({ messages }) => {
      const since = messages.slice(messages.findLastIndex(({ role }) => role === "user"));
      return since.length > 12 ? { text: "Read." } : reads(1_500);
    },
  });
  await bench.run("Always answer in French.", { pin: true });
  await bench.run("The first task.");
  await bench.run("The second task.");
  const { entries } = await bench.assertSound();
  for (const request of bench.requests) assertAccounted(request, entries);
  const users =
    bench.requests.at(-1)?.messages.filter(({ role }) => role === "user").map(({ content }) =>
      String(content)
    ) ?? [];
  assert.match(users[0] ?? "", /^\[selvage ledger:/);
  assert.match(users[0] ?? "", /user: "The first task\."/);
  assert.doesNotMatch(users[0] ?? "", /French|second task/);
  assert.deepEqual(users.slice(1), ["Always answer in French.", "The second task."]);
});

Deno.test("a session goes on for many turns, its ledger counting every pair that has left", async () => {
  const bench = new Bench({
    tools: [
      ...tools,
      tool("fail", () => {
        throw new Error("no");
      }),
    ],
    window: 8_000,
    script: alternating(),
  });
  for (let turn = 0; turn < 12; turn++) assert.equal(endOf(await bench.run(`Task ${turn}.`)), "stop");
  const { entries } = await bench.assertSound();
  for (const request of bench.requests) assertAccounted(request, entries);
  assert.match(
    JSON.stringify(bench.requests.at(-1)?.messages[0]),
    /e\d+\.\.e\d+ \d+ calls: .*fail \d+ error/,
  );
});

function alternating(): Script {
  let step = 0;
  return () => {
    step++;
    if (step % 7 === 0) return { text: `Answer ${step}. It has more to say.` };
    return step % 3 === 0 ? calls("fail", { n: step }) : reads(900, 1 + step % 2);
  };
}

Deno.test("a compaction that is not worth it is told as rejected, and the old view stays", async () => {
  const bench = new Bench({
    window: 8_000,
    script: replies({ text: "Well." }),
    agent: { recall: false },
  });
  const words = (tokens: number): string => " word".repeat(tokens);
  const key = { tenant: "local", session: "s1" };
  const { lease } = await bench.store.acquire(key, { agent: "a", owner: "o", turn: "old", ttlMs: 1_000 });
  await bench.store.commit(key, lease, {
    entries: [user(0, words(100)), assistant(1, words(1_000)), user(2, words(1_530))],
    flag: { reason: "open_call", since: 5 },
    release: true,
  });
  const events = await bench.run("Go on");
  const [told] = eventsOf(events, "compaction");
  assert.deepEqual([told?.phase, told?.reason], ["rejected", "not_smaller"]);
  assert.deepEqual(told?.violations?.map(({ condition }) => condition), ["progress"]);
  assert.equal(endOf(events), "stop");
  await bench.assertSound();
  // The model is shown what it would have been shown without it.
  assert.deepEqual(bench.requests[0]?.messages.map(({ content }) => String(content).length), [
    500,
    5_000,
    7_650,
    5,
  ]);
});
