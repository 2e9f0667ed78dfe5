/**
 * What is done to a session between its turns: compaction that somebody asks for, its preview, and pins.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { StoredView } from "../../src/compaction/context.ts";
import type { Agent } from "../../src/loop/agent.ts";
import { type CompactedSession, compactNow } from "../../src/loop/compact_now.ts";
import type { Pins } from "../../src/loop/pins.ts";
import { createApp } from "../../src/http/mod.ts";
import type { ModelRequest, SessionKey } from "../../src/ports.ts";
import { scripted, type ScriptedReply } from "../../src/models/scripted.ts";
import { assertAccounted } from "../support/requests.ts";
import { assertLog, Bench, calls, prose, tool } from "../support/turns.ts";

/** What the routes answer, all of them in one shape: each test looks at what its route has. */
interface Answer extends Required<CompactedSession>, Pins {
  readonly status: number;
  readonly replayed: string | null;
  readonly session: string;
  readonly code: string;
  readonly detail: string;
  readonly field: string;
  readonly turn: string;
}

const KEY: SessionKey = { tenant: "a", session: "s" };

const tools = [tool("read", ({ n }) => `file ${n}: ${prose(1_500, Number(n))}`)];

/** A session with a turn of so many reads behind it, and the app that it is in. */
async function served(
  reads: number,
  { window = 16_000, ...agent }: Partial<Agent> & { readonly window?: number } = {},
) {
  const script = (): (request: ModelRequest) => ScriptedReply => {
    let turn = -1;
    return ({ messages }) => {
      const task = messages.findLast(({ role, content }) =>
        role === "user" && !String(content).startsWith("[")
      );
      if (task?.content !== "Read all of it.") return { text: "Well." };
      turn++;
      return turn < reads ? calls("read", { n: turn }) : { text: "Read." };
    };
  };
  const bench = new Bench({ tools, window, script: script(), agent });
  const who = { tenant: "a" };
  const app = createApp({
    agents: { default: bench.agent },
    store: bench.store,
    clock: bench.clock,
    auth: () => ({ ...who }),
  });
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const response = await app.request(`/v1/sessions/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      replayed: response.headers.get("idempotency-replayed"),
      ...await response.json(),
    };
  };
  const say = async (input: string): Promise<{ readonly reason: string }> => {
    const body = JSON.stringify({ session: "s", input, stream: false });
    return await (await app.request("/v1/turns", { method: "POST", body })).json();
  };
  await say("Read all of it.");
  return { bench, who, send, say, state: async () => (await bench.store.read(KEY))! };
}

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
      /^Cannot set up compaction: found compactTo 0\.5, compactAt 0\.4/,
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

Deno.test("pins bring a summarised pair back to the letter, and later compactions keep it until it is let go", async () => {
  const { bench, send, say, state } = await served(40);
  const { cut, version } = (await state()).view as StoredView;
  ok(cut > 20 && version >= 1);
  const shown = (): string => JSON.stringify(bench.requests.at(-1)?.messages);
  ok(!shown().includes(prose(1_500, 3)));
  const pinned = await send("POST", "s/pins", { ref: "e7.0", pinned: true });
  deepEqual([pinned.status, pinned.pins], [200, [{ ref: "e7.0", kind: "result", entries: ["e7", "e8"] }]]);
  ok(pinned.tokens > 300 && pinned.tokens < pinned.limit);
  equal((await state()).head.view, version + 1);
  const { entries } = await state();
  const check = async (): Promise<void> => {
    await say("And now?");
    const last = bench.requests.at(-1) as ModelRequest;
    const at = last.messages.findIndex((message) => JSON.stringify(message).includes("file 3: "));
    equal(last.messages[at]?.role, "tool");
    ok(JSON.stringify(last.messages[at]).includes(prose(1_500, 3)), "the whole result");
    equal(last.messages[at - 1]?.role, "assistant");
    ok(at <= 3, "behind the summary, with its call");
    assertAccounted(last, (await state()).entries);
  };
  await check();
  equal((await send("POST", "s/compact", { compactTo: 0.15 })).outcome, "applied");
  await check();
  const free = await send("POST", "s/pins", { ref: "e8", pinned: false });
  deepEqual([free.pins, free.tokens], [[], 0]);
  await check();
  for (let n = 0; n < 3; n++) await say(prose(9_000, n + 60));
  equal((await send("POST", "s/compact", { compactTo: 0.1 })).outcome, "applied");
  await say("And now?");
  ok(!shown().includes(prose(1_500, 3)), "let go by a compaction that records it");
  assertAccounted(bench.requests.at(-1) as ModelRequest, (await state()).entries);
  deepEqual((await state()).entries.slice(0, entries.length), entries, "the log was never touched");
});

Deno.test("a user's message can be pinned later, and one that came with a pin be let go", async () => {
  const { bench, send, say, state } = await served(40);
  await say("Never touch production.");
  const { entries: { length } } = await state();
  const ref = `e${length - 2}`;
  const { pins, tokens } = await send("POST", "s/pins", { ref, pinned: true });
  deepEqual(pins, [{ ref, kind: "user", entries: [ref] }]);
  deepEqual((await send("GET", "s/pins")).pins, pins);
  ok(tokens > 0);
  for (let n = 0; n < 3; n++) await say(prose(9_000, n));
  equal((await send("POST", "s/compact", { compactTo: 0.1 })).outcome, "applied");
  await say("And now?");
  ok(bench.requests.at(-1)?.messages.some(({ content }) => content === "Never touch production."));
});

Deno.test("pins that would leave no room are refused with both numbers", async () => {
  const { send } = await served(30, { window: 9_000 });
  let refused: Answer | null = null;
  let kept = 0;
  for (let n = 0; n < 12 && refused === null; n++) {
    const answer = await send("POST", "s/pins", { ref: `e${2 * n + 1}.0`, pinned: true });
    if (answer.status === 200) kept++;
    else refused = answer;
  }
  deepEqual([refused?.status, refused?.code], [413, "pinned_too_big"]);
  ok(refused !== null && refused.tokens > refused.limit && refused.limit > 0);
  match(refused.detail, /found pins of \d+ tokens with it, wanted at most \d+/);
  const { pins, tokens, limit } = await send("GET", "s/pins");
  equal(pins.length, kept);
  ok(kept > 0 && tokens <= limit);
});

Deno.test("the head names only pins that the log does not, and 500 at the most", async () => {
  const { bench, send, state } = await served(3);
  const pin = async (ref: string, pinned: boolean) => await send("POST", "s/pins", { ref, pinned });
  for (const ref of ["e0", "e1.0", "e3.0"]) equal((await pin(ref, false)).status, 200);
  deepEqual((await state()).head.pins ?? {}, {});
  await pin("e1.0", true);
  deepEqual((await state()).head.pins, { "e1.0": true });
  await pin("e2", false);
  deepEqual((await state()).head.pins, {});
  await Array.fromAsync(bench.start("Keep to it.", { ...KEY, pin: true }));
  const own = `e${(await state()).entries.length - 2}`;
  deepEqual((await pin(own, true)).pins.map(({ ref }) => ref), [own]);
  deepEqual((await pin(own, false)).pins, []);
  deepEqual((await state()).head.pins, { [own]: false });
  deepEqual((await pin(own, true)).pins.map(({ ref }) => ref), [own]);
  deepEqual((await state()).head.pins, {});
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`e${n + 100}.0`, true]));
  const { lease } = await bench.store.acquire(KEY, {
    agent: "default",
    owner: "o",
    turn: "t9",
    ttlMs: 10_000,
  });
  await bench.store.commit(KEY, lease, { pins: many, release: true });
  const refused = await pin("e1.0", true);
  deepEqual([refused.status, refused.code, refused.limit], [413, "pinned_too_big", 500]);
  match(
    refused.detail,
    /^Cannot pin e1\.0: found 500 entries pinned or let go in this session, wanted fewer$/,
  );
  equal((await pin("e100.0", false)).status, 404);
  equal((await pin("e1.0", false)).status, 200);
});

Deno.test("pins refuse what cannot be pinned, and what is somebody else's", async () => {
  const { send, who } = await served(2);
  for (
    const [ref, status, code] of [
      ["e1", 400, "bad_pin"],
      ["e0..e2", 400, "bad_pin"],
      ["x", 400, "bad_pin"],
      ["e99", 404, "entry_not_found"],
      ["e1.7", 404, "entry_not_found"],
    ] as const
  ) {
    const answer = await send("POST", "s/pins", { ref, pinned: true });
    deepEqual([answer.status, answer.code], [status, code], ref);
  }
  equal((await send("POST", "s/pins", { ref: "e0" })).status, 400);
  equal((await send("POST", "s/compact", { model: "m" })).status, 400);
  who.tenant = "b";
  for (
    const [method, path, body] of [
      ["POST", "s/pins", { ref: "e0", pinned: true }],
      ["GET", "s/pins", undefined],
      ["POST", "s/compact", {}],
      ["POST", "s/compact", { dryRun: true }],
    ] as const
  ) {
    const answer = await send(method, path, body);
    deepEqual([answer.status, answer.code], [404, "session_not_found"], path);
  }
});
