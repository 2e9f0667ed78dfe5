import assert from "node:assert/strict";
import type { StoredView } from "../../src/compaction/context.ts";
import { inspectContext, type InspectedContext } from "../../src/loop/inspect.ts";
import { Bench, calls, prose, replies, tool } from "../support/turns.ts";

async function inspect(bench: Bench): Promise<InspectedContext> {
  const { head, entries, view } = await bench.state();
  return await inspectContext({ agent: bench.agent, head, entries, view: view as StoredView | null });
}

const tools = [tool("read", ({ n }) => prose(2_500, Number(n)))];

Deno.test("inspectContext() shows a fresh session as it is", async () => {
  const bench = new Bench({ tools, script: replies(calls("read", { n: 1 }, { n: 2 })) });
  await bench.run("Go");
  const seen = await inspect(bench);
  assert.deepEqual(
    seen.atoms.map(({ from, to, kind, open, state }) => [from, to, kind, open, state]),
    [[0, 1, "user", false, "raw"], [1, 4, "assistant", false, "raw"], [4, 5, "assistant", false, "raw"]],
  );
  assert.deepEqual(seen.legalCuts, [0, 1, 4, 5]);
  assert.deepEqual([seen.view, seen.cut, seen.summary, seen.flag], [0, 0, null, null]);
  assert.ok(seen.meter.tokens > 0 && seen.meter.tokens < seen.meter.compactAt);
});

Deno.test("inspectContext() shows what a compaction has done", async () => {
  const bench = new Bench({
    tools,
    window: 8_000,
    script: replies(...Array.from({ length: 14 }, (_, n) => calls("read", { n }))),
  });
  await bench.run("Go");
  const seen = await inspect(bench);
  const { view } = await bench.state();
  assert.ok(seen.view > 1);
  assert.equal(seen.cut, (view as StoredView).cut);
  assert.ok(seen.legalCuts.includes(seen.cut));
  assert.match(seen.summary?.text ?? "", /^\[selvage ledger:/);
  assert.ok((seen.summary?.tokens ?? 0) > 20);
  for (const { from, to, state } of seen.atoms) {
    if (from >= seen.cut) assert.ok(state === "raw" || state === "shortened");
    else assert.equal(state, from === 0 && to === 1 ? "pinned" : "summarised");
  }
  assert.deepEqual(seen.atoms.map(({ pinnedBy }) => pinnedBy).filter((by) => by !== undefined), ["turn"]);
  for (const { state, tokens, shown } of seen.atoms) {
    if (state === "summarised") assert.equal(shown, 0);
    else if (state === "shortened") assert.ok(shown > 0 && shown < tokens);
    else assert.equal(shown, tokens);
  }
  // The tokens are those of the originals, whatever is shown.
  assert.ok(seen.atoms.reduce((sum, { tokens }) => sum + tokens, 0) > 8_000);
});

Deno.test("inspectContext() does not use a bill of another model", async () => {
  const bench = new Bench({ tools, script: replies(calls("read", { n: 1 })) });
  await bench.run("Go");
  const { head, entries } = await bench.state();
  const agent = { ...bench.agent, model: { ...bench.agent.model, id: "other", tokenFactor: 3 } };
  const same = await inspectContext({ agent: bench.agent, head, entries, view: null });
  const other = await inspectContext({ agent, head, entries, view: null });
  assert.ok(other.meter.tokens > 2 * same.meter.tokens);
});
