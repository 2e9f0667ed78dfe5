/**
 * Properties of the core over random logs, judged by the naive oracle. fast-check prints seed and path of a
 * failure. Over 300 lines: all properties share the policies
 * and the judgement of what an application deserves.
 *
 * @module
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  checkTranscript,
  type CutPlan,
  type CutPolicy,
  cutView,
  parseTranscript,
  selectCut,
  Transcript,
  type TranscriptRecord,
  TRIM_FLOOR,
  verify,
  viewMessages,
  WHOLE_LOG,
} from "../../src/core/mod.ts";
import { foreignLog, messagesOf, ownLog, ownMessages, place } from "../support/logs.ts";
import {
  applyCut,
  NaiveCosts,
  naiveCuts,
  naivePairs,
  naivePlan,
  naiveViolations,
  severs,
  wholeAtoms,
} from "../support/reference_selector.ts";
import { runs } from "../support/runs.ts";

type Log = readonly TranscriptRecord[];

const anyLog = fc.oneof(ownLog, foreignLog);

/** A policy whose budget is of the size of the log, with every option now and then. */
function policyFor(records: Log): fc.Arbitrary<CutPolicy> {
  const total = records.reduce((sum, { tokens }) => sum + tokens, 0);
  const share = fc.constantFrom(0, 0.05, 0.15, 0.29, 0.5, 1, 3);
  return fc.record({
    kind: fc.constantFrom<"full" | "backward">("full", "full", "backward"),
    budget: fc.oneof(
      fc.integer({ min: 1, max: Math.max(2, Math.ceil(total * 1.1)) }),
      fc.integer({ min: 1, max: 700 }),
    ),
    lookback: share,
    lookahead: share,
    reserve: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 300 })),
    pinned: fc.subarray(messagesOf(records).map((_, at) => at)).map((found) => found.slice(0, 3)),
    trimOpen: fc.boolean(),
    force: fc.boolean(),
    from: fc.constantFrom(...naiveCuts(records).filter((cut) => cut < messagesOf(records).length)),
  }, { requiredKeys: ["kind", "budget"] });
}

function withPolicy(logs: fc.Arbitrary<Log>): fc.Arbitrary<readonly [Log, CutPolicy]> {
  return logs.chain((records) => fc.tuple(fc.constant(records), policyFor(records)));
}

type Cut = CutPlan & { kind: "cut" };

/** The plan when it is a cut; runs with another answer are left out. */
function cutOf(records: Log, policy: CutPolicy): Cut {
  const plan = selectCut(parseTranscript(records), policy);
  fc.pre(plan.kind === "cut");
  assert(plan.kind === "cut");
  return plan;
}

/** Messages that are shown after a cut. */
function shownAfter(records: Log, at: number, pinned: readonly number[] = []): readonly number[] {
  const view = cutView(WHOLE_LOG, parseTranscript(records), { at, from: 0, pinned });
  return viewMessages(view, messagesOf(records).length);
}

const byPlace = (a: { at: number; code: string; callId: string | null }, b: typeof a) =>
  a.at - b.at || a.code.localeCompare(b.code) || (a.callId ?? "~").localeCompare(b.callId ?? "~");

Deno.test("parseTranscript() pairs as the oracle does, on any log", () => {
  fc.assert(
    fc.property(anyLog, (records) => {
      assert.deepEqual(parseTranscript(records).pairs, naivePairs(records));
    }),
    runs(500),
  );
});

Deno.test("legalCuts are the oracle's, and isLegalCut() agrees at every position, on any log", () => {
  fc.assert(
    fc.property(anyLog, (records) => {
      const transcript = parseTranscript(records);
      const cuts = naiveCuts(records);
      assert.deepEqual(transcript.legalCuts, cuts);
      for (let at = -1; at <= transcript.messages + 1; at += 0.5) {
        assert.equal(transcript.isLegalCut(at), cuts.includes(at), `at ${at}`);
      }
    }),
    runs(500),
  );
});

Deno.test("no legal cut severs a pair or leaves a call in flight behind, on any log", () => {
  fc.assert(
    fc.property(anyLog, (records) => {
      for (const at of parseTranscript(records).legalCuts) {
        assert(!severs(records, shownAfter(records, at)), `cut ${at} severs`);
      }
    }),
    runs(500),
  );
});

Deno.test("checkTranscript() finds what the oracle finds, on any log", () => {
  fc.assert(
    fc.property(anyLog, (records) => {
      const found = checkTranscript(parseTranscript(records)).map(({ code, at, callId }) => ({
        code,
        at,
        callId,
      }));
      assert.deepEqual(found.sort(byPlace), [...naiveViolations(records)].sort(byPlace));
    }),
    runs(500),
  );
});

Deno.test("checkTranscript() finds nothing in a log of our own", () => {
  fc.assert(
    fc.property(ownLog, (records) => assert.deepEqual(checkTranscript(parseTranscript(records)), [])),
    runs(500),
  );
});

Deno.test("atoms and token sums are what a recount gives, on any log", () => {
  fc.assert(
    fc.property(anyLog, (records) => {
      const transcript = parseTranscript(records);
      const { costs } = new NaiveCosts(records, { budget: 1 });
      const sum = (from: number, to: number) => costs.slice(from, to).reduce((a, b) => a + b, 0);
      assert.equal(transcript.tokens, sum(0, costs.length));
      assert.deepEqual(
        transcript.atoms.map(({ tokens }) => tokens),
        transcript.atoms.map((a) => sum(a.from, a.to)),
      );
      // Atoms cover the log without a gap, and their starts are all cuts that a closed log would have.
      const edges = transcript.atoms.flatMap(({ from, to }) => [from, to]);
      assert.deepEqual(edges.slice(1, -1), edges.slice(1, -1).sort((a, b) => a - b));
      assert.deepEqual([edges[0], edges.at(-1)], [0, costs.length]);
      // Behind the start of the first open atom no cut is legal, so it is the last legal one.
      const cuts = naiveCuts(records);
      assert.equal(transcript.firstOpen, cuts.includes(costs.length) ? null : cuts.at(-1));
    }),
    runs(500),
  );
});

Deno.test("append() gives at every prefix what parseTranscript() gives, however often it is asked between", () => {
  fc.assert(
    fc.property(anyLog, (records) => {
      const growing = new Transcript();
      for (const message of messagesOf(records)) {
        growing.append(message);
        const fresh = parseTranscript(records.slice(0, growing.records.length));
        const seen = (
          t: Transcript,
        ) => [t.pairs, t.atoms, t.legalCuts, t.firstOpen, t.tokens, checkTranscript(t)];
        assert.deepEqual(seen(growing), seen(fresh));
      }
    }),
    runs(500),
  );
});

Deno.test("legal cuts stay legal when a log of our own grows", () => {
  fc.assert(
    fc.property(ownLog, (records) => {
      const growing = new Transcript();
      let cuts: readonly number[] = [];
      for (const message of messagesOf(records)) {
        growing.append(message);
        for (const at of cuts) assert(growing.isLegalCut(at), `cut ${at} was legal`);
        cuts = growing.legalCuts;
      }
    }),
    runs(500),
  );
});

Deno.test("cutView() refuses exactly the cuts that are not legal, and severs nothing whatever is pinned", () => {
  const cuts = anyLog.chain((records) => {
    const places = messagesOf(records).map((_, at) => at);
    return fc.tuple(fc.constant(records), fc.constantFrom(...places, places.length), fc.subarray(places));
  });
  fc.assert(
    fc.property(cuts, ([records, at, pinned]) => {
      const transcript = parseTranscript(records);
      const legal = naiveCuts(records);
      if (!legal.includes(at)) {
        const nearest = {
          before: legal.findLast((cut) => cut < at) ?? null,
          after: legal.find((cut) => cut > at) ?? null,
        };
        return assert.throws(() => cutView(WHOLE_LOG, transcript, { at, from: 0, pinned }), {
          fields: { at, nearest },
        });
      }
      const shown = shownAfter(records, at, pinned);
      assert(!severs(records, shown), `cut ${at} with pins ${pinned} severs`);
      const tail = messagesOf(records).map((_, message) => message).filter((message) => message >= at);
      const whole = wholeAtoms(records, pinned).filter((message) => message < at);
      assert.deepEqual(shown, [...whole, ...tail]);
    }),
    runs(500),
  );
});

Deno.test("selectCut() never severs a pair, and never chooses 0, the end or a cut before `from`", () => {
  fc.assert(
    fc.property(withPolicy(anyLog), ([records, policy]) => {
      const transcript = parseTranscript(records);
      const plan = cutOf(records, policy);
      assert(naiveCuts(records).includes(plan.at), `${plan.at} is no legal cut`);
      assert(!severs(records, shownAfter(records, plan.at, policy.pinned)), `${plan.at} severs`);
      assert(plan.at >= Math.max(1, policy.from ?? 0) && plan.at < transcript.messages);
      // The last atom always stays: the model may not have read its results.
      assert(plan.at <= (transcript.atoms.at(-1)?.from ?? -1));
    }),
    runs(500),
  );
});

Deno.test("selectCut() answers what the oracle answers, so that it defers only when no candidate will do", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(withPolicy(anyLog), ([records, policy]) => {
      const plan = selectCut(parseTranscript(records), policy);
      const wanted = naivePlan(records, policy);
      seen.add(wanted.kind === "cut" ? wanted.method : wanted.kind === "defer" ? wanted.reason : wanted.kind);
      const both = `wanted ${JSON.stringify(wanted)}, found ${JSON.stringify(plan)}`;
      if (plan.kind === "nothing") {
        return assert(wanted.kind === "nothing" && plan.keptTokens === wanted.kept, both);
      }
      if (plan.kind === "defer") {
        assert(wanted.kind === "defer" && plan.reason === wanted.reason, both);
        return assert.deepEqual(plan.nearest, wanted.nearest);
      }
      assert(wanted.kind === "cut" && wanted.ats.includes(plan.at), both);
      assert.deepEqual([plan.keptTokens, plan.trims], [wanted.kept, wanted.trims], both);
      if (plan.method !== wanted.method) assert(policy.force === true && wanted.kept > policy.budget, both);
    }),
    runs(500),
  );
  // The generators reach every answer there is.
  assert.deepEqual([...seen].sort(), [
    "atom_too_wide",
    "forward",
    "near",
    "nothing",
    "open_call",
    "pinned_too_big",
    "trim",
  ]);
});

Deno.test("selectCut() charges what it keeps, misses by no more than its method allows, trims no more than needed", () => {
  fc.assert(
    fc.property(withPolicy(anyLog), ([records, policy]) => {
      const plan = cutOf(records, policy);
      const { budget, lookback = 0.15, lookahead = 0.15 } = policy;
      const { records: after, from, pinned } = applyCut(records, {
        ...plan,
        pinned: policy.pinned ?? [],
        summary: 0,
      });
      const costs = new NaiveCosts(after, { ...policy, from, pinned });
      const reserve = new NaiveCosts(records, policy).reserve;
      assert.equal(plan.keptTokens, reserve + costs.costs.reduce((a, b) => a + b, 0));
      assert.equal(plan.distance, plan.keptTokens - budget);
      if (plan.method === "forward" && policy.force !== true) assert(plan.distance <= 0);
      if (plan.method === "near") {
        const raw = Math.max(0, budget - reserve);
        assert(plan.distance <= lookback * raw + 1e-6 && -plan.distance <= lookahead * raw + 1e-6);
      }
      if (plan.method !== "trim") assert.deepEqual(plan.trims, []);
      if (plan.method === "trim" && policy.force !== true) assert.equal(plan.distance, 0);
      for (const [index, { record, message, tokens }] of plan.trims.entries()) {
        const was = records[record];
        assert(was?.kind === "tool_result" && was.message === message && message >= plan.at);
        assert(tokens >= TRIM_FLOOR && tokens < was.tokens);
        // Only the last one may stop above the floor: before it everything was needed.
        if (index < plan.trims.length - 1) assert.equal(tokens, TRIM_FLOOR);
        if (index > 0) assert(record > (plan.trims[index - 1]?.record ?? Infinity), "oldest first");
        assert(!(policy.pinned ?? []).includes(message), "a pinned message stays verbatim");
      }
      assert(
        plan.trims.at(-1)?.tokens === TRIM_FLOOR || plan.distance === 0 || plan.method !== "trim" ||
          plan.trims.length === 0,
      );
    }),
    runs(500),
  );
});

Deno.test("selectCut() answers `nothing` after its cut was applied with any summary that fits the reserve (C5)", () => {
  fc.assert(
    fc.property(withPolicy(anyLog), fc.double({ min: 0, max: 1, noNaN: true }), ([records, policy], fill) => {
      fc.pre(policy.force !== true);
      const plan = cutOf(records, policy);
      const summary = Math.floor(fill * new NaiveCosts(records, policy).reserve);
      for (const size of [summary, new NaiveCosts(records, policy).reserve]) {
        const after = applyCut(records, { ...plan, pinned: policy.pinned ?? [], summary: size });
        const again = selectCut(parseTranscript(after.records), { ...policy, ...after });
        assert.equal(again.kind, "nothing", JSON.stringify(again));
        assert(severs(records, shownAfter(records, plan.at, policy.pinned)) === false);
      }
    }),
    runs(500),
  );
});

Deno.test("selectCut() with force leaves nothing that it would cut again without force", () => {
  fc.assert(
    fc.property(withPolicy(anyLog), ([records, policy]) => {
      const plan = cutOf(records, { ...policy, force: true });
      const after = applyCut(records, { ...plan, pinned: policy.pinned ?? [], summary: 0 });
      const again = selectCut(parseTranscript(after.records), { ...policy, ...after, force: false });
      assert.notEqual(again.kind, "cut", JSON.stringify(again));
    }),
    runs(500),
  );
});

/** Rejections that an application deserves, by the oracle. */
function deserved(records: Log, after: Log, stays: (message: number) => boolean): string[] {
  const tokens = (log: Log) => new NaiveCosts(log, { budget: 1 }).costs.reduce((a, b) => a + b, 0);
  // The summary stands before what is kept. Where a message that parted two others has left, pairs of a broken log may
  // be others.
  const kept = records.flatMap(({ message }, index) => stays(message) ? [index] : []);
  assert.equal(after.length, kept.length + 1);
  const was = naivePairs(records).filter(({ call }) => kept.includes(call))
    .map(({ call, result }) => [kept.indexOf(call), result === null ? -1 : kept.indexOf(result)]);
  const now = naivePairs(after).map(({ call, result }) => [call - 1, result === null ? -1 : result - 1]);
  return [
    ...naiveViolations(after).map(() => "invalid"),
    ...(JSON.stringify(was) === JSON.stringify(now) ? [] : ["pair_changed"]),
    ...(tokens(after) > tokens(records) * 0.9 ? ["not_smaller"] : []),
  ];
}

Deno.test("verify() accepts an honest application, but for faults and a saving under 10 % that the oracle sees too", () => {
  fc.assert(
    fc.property(withPolicy(anyLog), fc.double({ min: 0, max: 1, noNaN: true }), ([records, policy], fill) => {
      const plan = cutOf(records, policy);
      const summary = Math.floor(fill * new NaiveCosts(records, policy).reserve);
      const after = applyCut(records, { ...plan, pinned: policy.pinned ?? [], summary });
      const rejections = verify({
        before: parseTranscript(records),
        after: parseTranscript(after.records),
        at: plan.at,
        from: after.from,
        policy,
        pinned: after.pinned,
        records: () => true,
      });
      const pinned = wholeAtoms(records, policy.pinned ?? []);
      const stays = (message: number) => message >= plan.at || pinned.includes(message);
      assert.deepEqual(rejections.map(({ code }) => code), deserved(records, after.records, stays));
    }),
    runs(500),
  );
});

Deno.test("verify() rejects a dropped call, a dropped result, a doubled result and an unrecorded pair", () => {
  fc.assert(
    fc.property(withPolicy(anyLog), fc.nat(99), ([records, policy], pick) => {
      const plan = cutOf(records, policy);
      const honest = applyCut(records, { ...plan, pinned: policy.pinned ?? [], summary: 0 });
      const codes = (after: Log, pinned: readonly number[], unrecorded?: number) =>
        verify({
          before: parseTranscript(records),
          after: parseTranscript(after),
          at: plan.at,
          from: honest.from,
          policy,
          pinned,
          records: (call) => call !== unrecorded,
        }).map(({ code }) => code);
      const stays = wholeAtoms(records, policy.pinned ?? []);
      const removed = naivePairs(records).filter(({ call }) => {
        const message = records[call]?.message ?? 0;
        return message < plan.at && !stays.includes(message);
      });
      const lost = removed[pick % Math.max(1, removed.length)];
      if (lost !== undefined) {
        assert(codes(honest.records, honest.pinned, lost.call).includes("pair_unrecorded"));
      }

      // A log that is broken already is rejected as it is; to take one of two results away would mend it.
      // Of a call that runs long the last result counts, so that one more or less of them is no fault.
      const kept = naivePairs(honest.records).filter(({ call, result }) =>
        result !== null && honest.records[call]?.longRunning !== true
      );
      const pair = kept[pick % Math.max(1, kept.length)];
      fc.pre(pair !== undefined && naiveViolations(honest.records).length === 0);
      for (const how of ["drop the call", "drop the result", "double the result"]) {
        const target = how === "drop the call" ? pair?.call : pair?.result;
        const times = how === "double the result" ? 2 : 0;
        const mutated = honest.records.flatMap((record, at) =>
          Array<typeof record>(at === target ? times : 1).fill(record)
        );
        // A message that had nothing else is gone, a hole in the list, and all behind it move up.
        const left = messagesOf(mutated);
        const filled = (to?: number) => left.slice(0, to).filter((parts) => parts !== undefined);
        const found = codes(place(filled()), honest.pinned.map((at) => filled(at).length));
        assert(
          found.includes("invalid") || found.includes("pair_changed"),
          `accepted to ${how} of ${target}`,
        );
      }
    }),
    runs(500),
  );
});

Deno.test("verify() rejects every cut that is not legal", () => {
  fc.assert(
    fc.property(anyLog, fc.nat(40), (records, pick) => {
      const illegal = messagesOf(records).map((_, at) => at).filter((at) => !naiveCuts(records).includes(at));
      const at = illegal[pick % Math.max(1, illegal.length)];
      fc.pre(at !== undefined);
      const after = applyCut(records, { at: at ?? 0, trims: [], pinned: [], summary: 0 });
      const rejections = verify({
        before: parseTranscript(records),
        after: parseTranscript(after.records),
        at: at ?? 0,
        from: after.from,
        policy: { budget: 1_000_000 },
        pinned: [],
        records: () => true,
      });
      assert(rejections.some(({ code }) => code !== "not_smaller"), `accepted ${at}`);
    }),
    runs(500),
  );
});

Deno.test("a session that compacts as it grows keeps every pair whole and every view legal", () => {
  const sessions = fc.tuple(
    fc.array(ownMessages, { minLength: 1, maxLength: 4 }),
    fc.integer({ min: 500, max: 6_000 }),
    fc.constantFrom<"full" | "backward">("full", "backward"),
    fc.array(fc.nat(9), { maxLength: 2 }),
  );
  fc.assert(
    fc.property(sessions, ([turns, budget, kind, pinned]) => {
      // The ids of each turn are its own; calls that a turn leaves open are what a crash leaves.
      const whole = place(
        turns.flatMap((turn, index) =>
          turn.map((parts) => parts.map((part) => ({ ...part, callId: `t${index}.${part.callId ?? ""}` })))
        ),
      );
      const messages = messagesOf(whole);
      let view = WHOLE_LOG;
      let shown: Log = [];
      let from = 0;
      let pins: readonly number[] = [];
      for (const [index, message] of messages.entries()) {
        const at = messagesOf(shown).length;
        if (pinned.includes(index)) pins = [...pins, at];
        shown = [...shown, ...message.map((record) => ({ ...record, message: at }))];
        const transcript = parseTranscript(shown);
        const policy: CutPolicy = { kind, budget, reserve: 100, from, pinned: pins };
        const plan = selectCut(transcript, policy);
        if (plan.kind !== "cut") continue;
        view = cutView(view, transcript, { at: plan.at, from, pinned });
        const visible = viewMessages(view, index + 1);
        const log = whole.filter((record) => record.message <= index);
        assert(!severs(log, visible), `after message ${index} the view ${visible} severs`);
        const after = applyCut(shown, { ...plan, pinned: pins, summary: 100 });
        ({ records: shown, from, pinned: pins } = after);
        const seen = (parts: readonly TranscriptRecord[] = []) =>
          parts.map((part) => [part.kind, part.callId]);
        assert.deepEqual(
          messagesOf(shown).slice(1).map(seen),
          visible.map((number) => seen(messages[number])),
        );
        assert.equal(selectCut(parseTranscript(shown), { ...policy, from, pinned: pins }).kind, "nothing");
      }
    }),
    runs(500),
  );
});
