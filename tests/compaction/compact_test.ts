import assert from "node:assert/strict";
import { type Budget, computeBudget } from "../../src/compaction/budget.ts";
import {
  applyCompaction,
  type Compaction,
  type CompactOptions,
  planCompaction,
} from "../../src/compaction/compact.ts";
import type { Context } from "../../src/compaction/context.ts";
import { pairsIn, renderLedger } from "../../src/compaction/ledger.ts";
import { checkTranscript } from "../../src/core/mod.ts";
import { loadMeasure } from "../../src/loop/measures.ts";
import type { Entry } from "../../src/ports.ts";
import { measureText } from "../../src/tokens/measure.ts";
import { ContextMeter } from "../../src/tokens/meter.ts";
import { assistant, callPart, contextOf, result, round, session, user } from "../support/entries.ts";
import { callRefs, requestProblems } from "../support/requests.ts";
import { prose } from "../support/turns.ts";

/** Plans, and applies at once. */
async function compact(context: Context, options: CompactOptions): Promise<Compaction> {
  const planned = await planCompaction(context, options);
  return planned.kind === "planned" ? await applyCompaction(context, planned, options) : planned;
}

const measure = await loadMeasure();

/** 8,000 tokens: 6,500 for messages, 2,275 to keep, 341 of these for the summary. */
const small: Budget = computeBudget({ window: 8_000, maxOutput: 1_500 }, { fixed: 0 });

function optionsOf(rest: Partial<CompactOptions> = {}): CompactOptions {
  const meter = new ContextMeter({ factor: 1, fixed: 0 });
  return { meter, budget: small, policy: "full", pinned: [0], tools: [], force: false, ...rest };
}

/** Holds a context to what is true after any compaction. */
async function assertSound(context: Context, pinned: readonly number[]): Promise<void> {
  assert.deepEqual(
    requestProblems({ system: "", messages: context.messages(), tools: [], maxOutput: 9 }),
    [],
  );
  assert.deepEqual(checkTranscript(await context.transcript()), []);
  const { cut, ledger } = context.view;
  assert.equal(pairsIn(ledger), context.entries.slice(0, cut).flatMap(callRefs).length);
  const shown = context.messages().map(({ content }) => content);
  for (const seq of pinned) {
    const entry = context.entries[seq];
    assert.ok(
      entry?.kind === "user" && shown.includes(entry.message.content),
      `entry ${seq} is not verbatim`,
    );
  }
}

const rounds = (count: number, length = 1_200) => session(Array.from({ length: count }, () => ({ length })));

Deno.test("compact() finds nothing to do under its target", async () => {
  const context = await contextOf(rounds(3));
  assert.deepEqual(await compact(context, optionsOf()), { kind: "nothing", reason: "within_budget" });
  assert.equal(context.view.version, 0);
});

Deno.test("compact() counts what was before and what is after in the same way, whatever was billed", async () => {
  for (const inputTokens of [600, 7_000]) {
    const context = await contextOf(rounds(16));
    const options = optionsOf();
    options.meter.anchor({ inputTokens, outputTokens: 0 }, context.length);
    const outcome = await compact(context, options);
    assert.ok(outcome.kind === "applied");
    assert.ok(outcome.tokensAfter < outcome.tokensBefore * 0.9, JSON.stringify(outcome));
    const log = await contextOf(context.entries);
    assert.equal(outcome.tokensBefore, Math.ceil(options.meter.factor * await log.exact(0, log.length)));
  }
});

Deno.test("compact() cuts near its target, and a second plan is nothing", async () => {
  const context = await contextOf(rounds(16));
  const log = JSON.stringify(context.entries);
  const outcome = await compact(context, optionsOf());
  assert.ok(outcome.kind === "applied" && outcome.method === "near", JSON.stringify(outcome));
  assert.equal(outcome.cut, context.view.cut);
  assert.equal(outcome.pairs, context.entries.slice(0, outcome.cut).flatMap(callRefs).length);
  assert.ok(Math.abs(outcome.distance) <= 0.15 * small.compactTo);
  assert.ok(outcome.tokensAfter < outcome.tokensBefore * 0.9);
  assert.equal(JSON.stringify(context.entries), log, "the log is never edited");
  await assertSound(context, [0]);
  assert.deepEqual(await compact(context, optionsOf()), { kind: "nothing", reason: "within_lookback" });
  assert.equal(context.view.version, 1);
});

Deno.test("compact() shortens kept results where no cut comes near", async () => {
  const context = await contextOf(session([{ length: 900 }, { count: 4, length: 5_000 }]));
  const outcome = await compact(context, optionsOf());
  assert.ok(outcome.kind === "applied" && outcome.method === "trim", JSON.stringify(outcome));
  assert.ok(context.view.trims.length > 0);
  for (const [seq, tokens] of context.view.trims) {
    assert.ok(seq >= outcome.cut && tokens >= 200);
    assert.equal(context.entries[seq]?.kind, "result");
  }
  await assertSound(context, [0]);
  assert.deepEqual(await compact(context, optionsOf()), { kind: "nothing", reason: "within_budget" });
});

Deno.test("compact() shows a result shortened for as long as it is kept", async () => {
  // Seven results at the floor are still over the target, so that the next round is shortened as well.
  const context = await contextOf(
    session([{ length: 900 }, { count: 7, length: 2_000 }, { length: 3_000 }]),
  );
  const first = await compact(context, optionsOf());
  assert.ok(first.kind === "applied" && first.method === "trim", JSON.stringify(first));
  const last = context.entries.length - 1;
  const trims = new Map(context.view.trims);
  assert.ok((trims.get(last) ?? Infinity) < 500 && trims.size === 8);
  const shown = JSON.stringify(context.messages().at(-1));
  for (let n = 0; n < 3; n++) {
    for (const entry of round(context.entries.length, { length: 1_200 })) await context.append(entry);
  }
  const second = await compact(context, optionsOf());
  assert.ok(second.kind === "applied" && second.cut === last - 1, JSON.stringify(second));
  assert.deepEqual(context.view.trims, [[last, trims.get(last)]]);
  assert.ok(context.messages().some((message) => JSON.stringify(message) === shown));
  await assertSound(context, [0]);
});

Deno.test("compact() goes forward where the atom at its target is wide and holds nothing to shorten", async () => {
  const wide = assistant(1, prose(11_000));
  const context = await contextOf([user(0, "Go"), wide, user(2, "And?"), assistant(3, "Well.")]);
  const outcome = await compact(context, optionsOf({ pinned: [2] }));
  assert.ok(outcome.kind === "applied" && outcome.method === "forward", JSON.stringify(outcome));
  assert.ok(outcome.cut > 1);
  await assertSound(context, [2]);
});

/** A log whose last round has calls without results. */
function openLog(): Entry[] {
  const entries = rounds(1);
  entries.push(assistant(entries.length, [1, 2, 3].map((n) => callPart("read", { n }))));
  entries.push(result(entries.length, `e${entries.length - 1}.1`, prose(24_000)));
  return entries;
}

Deno.test("compact() defers while calls are open, and changes nothing", async () => {
  const context = await contextOf(openLog());
  const before = JSON.stringify(context.messages());
  const outcome = await compact(context, optionsOf());
  assert.deepEqual(outcome, { kind: "deferred", reason: "open_call", nearest: { before: 3, after: null } });
  assert.equal(JSON.stringify(context.messages()), before);
  assert.equal(context.view.version, 0);
});

Deno.test("compact() never cuts away or shortens what an open round has brought, with force neither", async () => {
  const context = await contextOf(
    [...rounds(9), ...openLog().slice(3).map((entry) => ({ ...entry, seq: entry.seq + 16 }))].map(
      (entry) => entry.kind === "result" && entry.seq === 20 ? { ...entry, call: "e19.1" } : entry,
    ),
  );
  for (const force of [false, true]) {
    const outcome = await compact(context, optionsOf({ force }));
    if (outcome.kind === "applied") assert.ok(outcome.cut <= 19);
    assert.ok(context.view.trims.every(([seq]) => seq < 19));
    assert.equal((await context.transcript()).firstOpen === null, false);
  }
});

Deno.test("compact() defers where one atom is too wide for the policy", async () => {
  const context = await contextOf(session([{ length: 900 }, { count: 4, length: 5_000 }]));
  const outcome = await compact(context, optionsOf({ policy: "backward" }));
  assert.ok(outcome.kind === "deferred");
  assert.equal(outcome.reason, "atom_too_wide");
  assert.deepEqual(outcome.nearest.before, 3);
});

Deno.test("compact() with policy backward keeps more, never less", async () => {
  const context = await contextOf(rounds(16));
  const outcome = await compact(context, optionsOf({ policy: "backward" }));
  assert.ok(outcome.kind === "applied" && outcome.method === "near" && outcome.distance >= 0);
  await assertSound(context, [0]);
});

Deno.test("compact() defers where pins leave no room, unless it is forced", async () => {
  const entries = [
    user(0, prose(9_500)),
    ...round(1, { length: 9_000 }),
    ...round(3, { length: 4_000 }),
    ...round(5, { length: 600 }),
  ];
  const context = await contextOf(entries);
  const pins = measure(prose(9_500));
  assert.ok(pins > small.maxInput);
  assert.deepEqual(await compact(context, optionsOf()), {
    kind: "deferred",
    reason: "pinned_too_big",
    nearest: { before: null, after: null },
  });
  const forced = await compact(context, optionsOf({ force: true }));
  assert.equal(forced.kind, "applied");
  await assertSound(context, [0]);
});

Deno.test("compact() with force takes the best legal cut there is", async () => {
  // Twenty results at the floor are over the target, and the model has not read them: only the rounds before go.
  const context = await contextOf(
    session([{ length: 2_000 }, { length: 2_000 }, { count: 20, length: 1_500 }]),
  );
  const outcome = await compact(context, optionsOf({ force: true }));
  assert.ok(outcome.kind === "applied", JSON.stringify(outcome));
  assert.equal(context.view.cut, 5);
  assert.ok(outcome.distance > 0);
  await assertSound(context, [0]);
  // Nothing more can be had: a second try does not pretend.
  assert.notEqual((await compact(context, optionsOf({ force: true }))).kind, "applied");
});

Deno.test("compact() merges many ledgers into one that fits, and counts every pair that has left", async () => {
  const entries = rounds(4);
  const context = await contextOf(entries);
  const options = optionsOf();
  let applied = 0;
  for (let step = 0; step < 60; step++) {
    for (const entry of round(context.entries.length, { count: 1 + step % 3, length: 900 })) {
      await context.append(entry);
    }
    const outcome = await compact(context, options);
    if (outcome.kind !== "applied") continue;
    applied++;
    await assertSound(context, [0]);
    const size = measureText(renderLedger(context.view.ledger), measure);
    assert.ok(size <= small.reserve, `the ledger takes ${size}, wanted ${small.reserve}`);
  }
  assert.ok(applied > 10);
  assert.equal(context.view.version, applied);
});

Deno.test("compact() writes a released pin into the ledger, in its place", async () => {
  const context = await contextOf(rounds(16));
  await compact(context, optionsOf());
  const task = context.entries.length;
  await context.append(user(task, "The next task."));
  for (let n = 0; n < 14; n++) {
    for (const entry of round(context.entries.length, { length: 1_200 })) await context.append(entry);
  }
  const outcome = await compact(context, optionsOf({ pinned: [task] }));
  assert.equal(outcome.kind, "applied");
  await assertSound(context, [task]);
  const text = renderLedger(context.view.ledger);
  assert.match(text, /\ne0 user: "The task: read all of it\."\n/);
  assert.doesNotMatch(text, /next task/);
});

Deno.test("compact() counts in the provider's tokens", async () => {
  const meter = new ContextMeter({ factor: 2, fixed: 0 });
  const context = await contextOf(rounds(16));
  const outcome = await compact(context, optionsOf({ meter }));
  assert.ok(outcome.kind === "applied");
  const tokens = await context.exact(0, context.length);
  assert.ok(tokens <= 1.2 * small.compactTo / 2, `${tokens} tokens are left`);
  assert.equal(outcome.tokensAfter, 2 * tokens);
});

Deno.test("compact() learns from the bill, and forgets it once it has changed what was billed", async () => {
  const context = await contextOf(rounds(16));
  const counted = await context.exact(0, context.length);
  const meter = new ContextMeter({ factor: 1, fixed: 0 });
  meter.anchor({ inputTokens: Math.ceil(counted * 1.5), outputTokens: 0 }, context.length);
  await compact(context, optionsOf({ meter }));
  assert.ok(Math.abs(meter.factor - 1.5) < 0.01);
  assert.equal(meter.state.anchor, null);
});

Deno.test("compact() throws a view away that is not worth it, and leaves everything as it was", async () => {
  // A little over the bound, the only cut within it right behind a short message: the ledger takes what that gives.
  const words = (tokens: number): string => " word".repeat(tokens);
  const entries = [user(0, words(80)), assistant(1, words(790)), user(2, words(1_420))];
  const context = await contextOf(entries);
  const before = JSON.stringify([context.messages(), context.view]);
  const outcome = await compact(context, optionsOf({ pinned: [] }));
  assert.ok(outcome.kind === "rejected", JSON.stringify(outcome));
  assert.deepEqual(outcome.violations.map(({ code }) => code), ["not_smaller"]);
  assert.equal(JSON.stringify([context.messages(), context.view]), before);
});
