/** Paused turns under any order of what can happen to them. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { LEASE_TTL_MS } from "../../src/loop/journal.ts";
import { runs } from "../support/runs.ts";
import { Bench, endOf, replies } from "../support/turns.ts";
import { answering, doomed, makeTools, mortal, resume, type Runs, statuses } from "./_mortal.ts";

Deno.test("any order of answers, approvals, refusals, deaths and cancels leaves each call with exactly one result", async () => {
  const call = fc.constantFrom("read", "locate", "some", "none");
  const plan = fc.record({
    calls: fc.array(call, { minLength: 1, maxLength: 6 }),
    answers: fc.array(
      fc.record({
        picks: fc.array(fc.nat(7), { maxLength: 4 }),
        kind: fc.constantFrom("result", "error", "allow", "deny"),
        // Whether the user says something behind it.
        says: fc.boolean(),
        // The process that takes it dies at this commit; most do not.
        diesAt: fc.option(fc.nat(2), { freq: 4, nil: null }),
      }),
      { maxLength: 8 },
    ),
    end: fc.constantFrom("answer", "abort"),
  });
  const property = fc.asyncProperty(plan, async ({ calls, answers, end }) => {
    const runs: Runs = { some: [], none: [] };
    const { wrap, dieAt, live } = mortal();
    const reply = { calls: calls.map((name, n) => ({ name, input: { n } })) };
    const bench = new Bench({ script: replies(reply), tools: makeTools(runs), wrap });
    await bench.run("Go");
    const allowed = new Set<string>();
    const pending = async () => (await bench.state()).head.lease?.pause?.pending ?? [];
    const said: string[] = [];
    for (const [n, { picks, kind, says, diesAt }] of answers.entries()) {
      const refs = picks.map((pick) => `e1.${pick}`);
      const input = says ? { input: `said ${n}` } : {};
      const given = kind === "result" || kind === "error"
        ? {
          results: refs.map((ref) => kind === "result" ? { ref, output: ref } : { ref, error: ref }),
          ...input,
        }
        : { approvals: refs.map((ref) => ({ ref, approved: kind === "allow" })), ...input };
      const waiting = await pending();
      const before = await statuses(bench);
      if (kind === "allow") { for (const ref of refs) allowed.add(ref); }
      if (diesAt !== null && waiting.length > 0) {
        dieAt(diesAt);
        await doomed(bench, answering(bench, given));
        live();
        // All of an answer is stored, or none of it.
        const { entries, head: { lease } } = await bench.state();
        const isStored = entries.filter(({ kind }) =>
              kind === "result"
            ).length > Object.keys(before).length ||
          (lease?.pause?.pending.length ?? 0) < waiting.length;
        if (isStored && says) said.push(`said ${n}`);
        await bench.clock.advance(LEASE_TTL_MS + 1);
        if ((await bench.state()).head.lease !== undefined && (await pending()).length === 0) {
          await resume(bench);
        }
        continue;
      }
      const wanted = kind === "result" || kind === "error" ? "tool" : "approval";
      const fits = refs.length > 0 && new Set(refs).size === refs.length &&
        refs.every((ref) => waiting.some((call) => call.ref === ref && call.reason === wanted)) &&
        (!says || refs.length === waiting.length);
      const took = await bench.answer(given).then(() => true, () => false);
      assert.equal(took, fits);
      if (!took) assert.deepEqual(await statuses(bench), before);
      else if (says) said.push(`said ${n}`);
    }
    const left = await pending();
    if (left.length > 0 && end === "answer") {
      const of = (reason: string) => left.filter((call) => call.reason === reason).map(({ ref }) => ref);
      const results = of("tool").map((ref) => ({ ref, output: "at last" }));
      const approvals = of("approval").map((ref) => ({ ref, approved: true }));
      for (const { ref } of approvals) allowed.add(ref);
      assert.equal(endOf(await bench.answer({ results, approvals })), "stop");
    }
    assert.equal(endOf(await bench.run("Next", { onPaused: "abort" })), "stop");
    const { entries } = await bench.assertSound();
    const heard = entries.flatMap((entry) => entry.kind === "user" ? [entry.message.content] : []);
    assert.deepEqual(heard, ["Go", ...said, "Next"]);
    const answered = entries.flatMap((entry) => entry.kind === "result" ? [entry.call] : []);
    assert.deepEqual(answered.toSorted(), calls.map((_, n) => `e1.${n}`).toSorted());
    for (const name of ["some", "none"] as const) {
      // Nothing is run that was not allowed, and what has a side effect never twice.
      const ran = runs[name].map((input) => (input as { n: number }).n);
      assert.deepEqual(ran.filter((n) => !allowed.has(`e1.${n}`)), []);
      if (name === "some") assert.equal(new Set(ran).size, ran.length);
    }
  });
  await fc.assert(property, runs());
});
