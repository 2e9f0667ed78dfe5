/**
 * What is done to a session between its turns: compaction that somebody asks for, and its preview.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { StoredView } from "../../src/compaction/context.ts";
import type { Agent } from "../../src/loop/agent.ts";
import { compactNow } from "../../src/loop/compact_now.ts";
import { createApp } from "../../src/http/mod.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { scripted } from "../../src/models/scripted.ts";
import { assertAccounted } from "../support/requests.ts";
import { assertLog, prose } from "../support/turns.ts";
import { KEY, served } from "../support/at_rest_app.ts";

Deno.test("POST /v1/sessions/:id/compact with dryRun says what would go, and stores nothing", async () => {
  const { bench, send, state } = await served(15);
  const before = await state();
  const commits = bench.commits.length;
  const plan = await send("POST", "s/compact", { dryRun: true, compactTo: 0.2 });
  deepEqual([plan.status, plan.session, plan.outcome, plan.dryRun], [200, "s", "applied", true]);
  ok(plan.tokensAfter < 0.7 * plan.tokensBefore);
  match(plan.ledger, /^\[selvage ledger: .*\n(?:.*\n)*e9\.0 read \{"n":4\} -> ok: /);
  deepEqual(plan.refs, [`e0..e${plan.cut - 1}`], "the task is pinned only while its turn runs");
  equal(plan.pairs, (plan.cut - 1) / 2);
  equal(plan.method, "near");
  deepEqual(await state(), before);
  equal(bench.commits.length, commits);
});

Deno.test("POST /v1/sessions/:id/compact does what its preview says, and the next turn goes on from there", async () => {
  const { bench, send, say, state } = await served(15);
  const plan = await send("POST", "s/compact", { dryRun: true, compactTo: 0.2 });
  const done = await send("POST", "s/compact", { compactTo: 0.2 });
  deepEqual({ ...plan, dryRun: false }, done);
  const { head, entries, view } = await state();
  deepEqual([head.view, head.lease, head.flag, (view as StoredView).cut], [
    done.view,
    undefined,
    undefined,
    done.cut,
  ]);
  equal((view as StoredView).made?.note.reason, "asked_for");
  const again = await send("POST", "s/compact", { compactTo: 0.2 });
  deepEqual([again.status, again.outcome, again.tokensAfter], [200, "nothing", again.tokensBefore]);
  deepEqual([plan.reason, done.reason], ["asked_for", "asked_for"]);
  ok(["within_budget", "within_lookback"].includes(again.reason), again.reason);
  equal((await say("What now?")).reason, "stop");
  const last = bench.requests.at(-1) as ModelRequest;
  equal(last.messages[0]?.content, done.ledger);
  assertAccounted(last, entries);
  deepEqual(bench.clock.sleeping, []);
});

Deno.test("POST /v1/sessions/:id/compact has nothing to do in a short session, which is an answer", async () => {
  const { send } = await served(1);
  for (const body of [undefined, {}, { dryRun: true }]) {
    const answer = await send("POST", "s/compact", body);
    deepEqual([answer.status, answer.outcome, answer.view], [200, "nothing", 0]);
    equal(answer.reason, "within_budget");
  }
});

Deno.test("POST /v1/sessions/:id/compact gives the focus to the summarizer, and says where there is none", async () => {
  const asked: ModelRequest[] = [];
  const summarizer = scripted({
    id: "writer",
    script: (request) => {
      asked.push(request);
      return { text: JSON.stringify({ narrative: "Everything was read.", outcomes: {} }) };
    },
  });
  const focus = 'the "secret" files';
  const { send, state } = await served(15, { summarizer });
  const done = await send("POST", "s/compact", { focus, compactTo: 0.2 });
  deepEqual([done.outcome, done.summary, done.summaryFailure], ["applied", "ledger+prose", undefined]);
  match(done.ledger, /\n\| Everything was read\.$/);
  equal(asked.length, 1);
  ok(String(asked[0]?.messages[0]?.content).includes(`Give most room to this: ${JSON.stringify(focus)}.`));
  equal((await state()).head.view, done.view);
  const plain = await (await served(15)).send("POST", "s/compact", { focus, compactTo: 0.2 });
  deepEqual([plain.outcome, plain.summary, plain.summaryFailure], ["applied", "ledger", "no_summarizer"]);
  const bad = await served(15, { summarizer: scripted({ script: () => ({ text: "no" }) }) });
  const failed = await bad.send("POST", "s/compact", { compactTo: 0.2 });
  deepEqual([failed.outcome, failed.summary, failed.summaryFailure], [
    "applied",
    "ledger",
    "summary_invalid",
  ]);
});

Deno.test("POST /v1/sessions/:id/compact is refused while a turn runs; its preview is not", async () => {
  const { bench, send } = await served(15);
  const request = { agent: "default", owner: "o", turn: "t9", ttlMs: 10_000 };
  const { lease } = await bench.store.acquire(KEY, request);
  const refused = await send("POST", "s/compact", { compactTo: 0.2 });
  deepEqual([refused.status, refused.code, refused.turn], [409, "turn_running", "t9"]);
  match(
    refused.detail,
    /^Cannot work on session "[^"]+": found turn "t9" running, wanted it between two turns$/,
  );
  equal((await send("POST", "s/pins", { ref: "e0", pinned: true })).code, "turn_running");
  equal((await send("POST", "s/compact", { dryRun: true, compactTo: 0.2 })).outcome, "applied");
  await bench.store.commit(KEY, lease, { release: true });
  equal((await send("POST", "s/compact", { compactTo: 0.2 })).outcome, "applied");
});

Deno.test("POST /v1/sessions/:id/compact closes what a dead process has left, calls and all", async () => {
  const { bench, send, state } = await served(15);
  const { lease } = await bench.store.acquire(KEY, { agent: "default", owner: "o", turn: "t9", ttlMs: 10 });
  const base = { turn: "t9", at: 1 };
  const { entries: { length: seq } } = await state();
  const call = { type: "tool-call", toolCallId: "x", toolName: "read", input: { n: 1 } } as const;
  await bench.store.commit(KEY, lease, {
    entries: [
      { ...base, kind: "user", seq, message: { role: "user", content: "More." } },
      {
        ...base,
        kind: "assistant",
        seq: seq + 1,
        step: 1,
        message: { role: "assistant", content: [call] },
        reason: "tool-calls",
        model: "m",
      },
    ],
  });
  await bench.clock.advance(11);
  equal((await send("POST", "s/compact", { compactTo: 0.2 })).outcome, "applied");
  assertLog((await state()).entries);
});

Deno.test("POST /v1/sessions/:id/compact with an Idempotency-Key is done once", async () => {
  const { bench, send } = await served(15);
  const key = { "idempotency-key": "k1" };
  const first = await send("POST", "s/compact", { compactTo: 0.2 }, key);
  const commits = bench.commits.length;
  const second = await send("POST", "s/compact", { compactTo: 0.2 }, key);
  deepEqual([first.replayed, second.replayed], [null, "true"]);
  deepEqual({ ...second, replayed: null }, first);
  equal(bench.commits.length, commits);
  const other = await send("POST", "s/compact", { compactTo: 0.3 }, key);
  deepEqual([other.status, other.code], [422, "idempotency_key_reused"]);
});

Deno.test("POST /v1/sessions/:id/compact is the turn boundary that policy backward waits for", async () => {
  const { send, say } = await served(0, { compaction: { policy: "backward" } });
  for (let n = 0; n < 3; n++) await say(prose(12_000, n));
  await say("And now?");
  const done = await send("POST", "s/compact", { compactTo: 0.1 });
  deepEqual([done.outcome, done.method], ["applied", "forward"]);
});

Deno.test.each(
  [
    [{}, 0.9, /^Cannot compact the session: found compactTo 0\.9, wanted 0\.1 to 0\.6$/],
    [{}, 1e308, /^Cannot compact the session: found compactTo 1e\+308, wanted 0\.1 to 0\.6$/],
    [{ compactionLimits: { compactTo: [0.2, 0.3] } }, 0.1, /found compactTo 0\.1, wanted 0\.2 to 0\.3$/],
    // Within the limits, and too near to where the agent's compactions are due.
    [
      { compaction: { compactAt: 0.4 } },
      0.5,
      /^Cannot compact the session: found compactTo 0\.5, wanted at most 0\.36, 0\.9 of compactAt 0\.4$/,
    ],
  ] as readonly [Partial<Agent>, number, RegExp][],
)(
  "POST /v1/sessions/:id/compact of an agent with %j refuses compactTo %d, and says what was asked",
  async (agent, compactTo, detail) => {
    const { send, state } = await served(1, agent);
    const before = await state();
    for (const dryRun of [true, false]) {
      const answer = await send("POST", "s/compact", { compactTo, dryRun });
      deepEqual([answer.status, answer.code, answer.field], [400, "bad_budget", "compactTo"]);
      match(answer.detail, detail);
    }
    deepEqual(await state(), before);
  },
);

Deno.test("POST /v1/sessions/:id/compact counts as a turn of its caller where it asks a model, and tells its bill", async () => {
  const summarizer = scripted({
    script: () => ({ text: JSON.stringify({ narrative: "Everything was read.", outcomes: {} }) }),
  });
  const { bench, send } = await served(15, { summarizer });
  const limited = createApp({
    agents: { default: bench.agent },
    store: bench.store,
    clock: bench.clock,
    auth: () => ({ tenant: "a" }),
    limits: { turnsPerMinute: 1, concurrentTurns: 1 },
  });
  const compact = async (body: unknown, key?: string) => {
    const headers = key === undefined ? {} : { "idempotency-key": key };
    const init = { method: "POST", body: JSON.stringify(body), headers };
    const response = await limited.request("/v1/sessions/s/compact", init);
    return { status: response.status, wait: response.headers.get("retry-after"), ...await response.json() };
  };
  // A preview asks nobody, and what has nothing to do neither.
  for (const body of [{ compactTo: 0.2, dryRun: true }, { compactTo: 0.6 }]) {
    equal((await compact(body)).usage, undefined);
  }
  const done = await compact({ compactTo: 0.3 });
  deepEqual([done.status, done.outcome, done.summary], [200, "applied", "ledger+prose"]);
  ok(done.usage.inputTokens > 500 && done.usage.outputTokens > 0);
  const refused = await compact({ compactTo: 0.1 }, "k");
  deepEqual([refused.status, refused.code, refused.wait], [429, "rate_limited", "60"]);
  equal((await send("GET", "s/pins")).status, 200);
  equal((await bench.store.read(KEY))?.head.lease, undefined, "who is turned away leaves no lease");
  await bench.clock.advance(60_000);
  equal((await compact({ compactTo: 0.1 }, "k")).outcome, "applied");
  deepEqual(bench.clock.sleeping, []);
});

Deno.test("POST /v1/sessions/:id/compact spends no more tokens than a turn of its caller may", async () => {
  let asked = 0;
  const summarizer = scripted({ script: () => ({ text: asked++ === 0 ? "no JSON" : "still none" }) });
  const { bench } = await served(15, { summarizer });
  const { agent, store, clock } = bench;
  const done = await compactNow({ key: KEY, agent: { ...agent, maxTokens: 10 }, store, clock }, {
    compactTo: 0.2,
  });
  deepEqual([done.outcome, done.summary, done.summaryFailure], [
    "applied",
    "ledger",
    "summary_out_of_tokens",
  ]);
  equal(asked, 1);
});
