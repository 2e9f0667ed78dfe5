/** What keeps a turn from starting: an input, or an agent, that no compaction could make room for. */
import assert from "node:assert/strict";
import { Bench, endOf, finish, KEY, modelOf, prose } from "../support/turns.ts";

Deno.test.each(
  [
    ["", "input_empty"],
    [" \n\t", "input_empty"],
    [[], "input_empty"],
    [[{ type: "text", text: " " }], "input_empty"],
    [prose(400_000), "input_too_large"],
  ] as const,
)("runTurn() refuses an input and stores nothing: case %#", async (input, code) => {
  const bench = new Bench({ window: 16_000 });
  await assert.rejects(bench.run(input), { code });
  assert.equal(await bench.store.read(KEY), null);
});

Deno.test("runTurn() refuses an input that cannot be kept, and stores nothing", async () => {
  const bench = new Bench({});
  const part = { type: "text" as const, text: "Go", providerOptions: { own: { later: () => 1 } } };
  await assert.rejects(bench.run([part]), { name: "DataCloneError" });
  assert.equal(await bench.store.read(KEY), null);
});

Deno.test("runTurn() names both numbers where it refuses an input", async () => {
  const bench = new Bench({ window: 8_000 });
  await assert.rejects(bench.run(prose(40_000)), (error: Error & { fields?: unknown }) => {
    const { tokens, limit } = error.fields as { tokens: number; limit: number };
    assert.ok(tokens > limit && limit > 0);
    assert.match(error.message, new RegExp(`${tokens} tokens.*${limit}`));
    return true;
  });
});

Deno.test("runTurn() counts an input with the model's own factor", async () => {
  const text = prose(14_000);
  const model = {
    ...modelOf(async function* () {
      yield await Promise.resolve(finish("ok"));
    }),
    window: 16_000,
  };
  assert.equal(endOf(await new Bench({ model }).run(text)), "stop");
  await assert.rejects(new Bench({ model: { ...model, tokenFactor: 2.5 } }).run(text), {
    code: "input_too_large",
  });
});

Deno.test("runTurn() refuses an input for which pinned ones leave no room, and stores nothing of it", async () => {
  const bench = new Bench({ window: 8_000 });
  const text = prose(7_000);
  assert.equal(endOf(await bench.run(text, { pin: true })), "stop");
  const before = await bench.state();
  await assert.rejects(bench.run(text), { code: "input_too_large" });
  const { entries, head } = await bench.assertSound();
  assert.deepEqual(entries, before.entries);
  assert.equal(head.lease, undefined);
  assert.equal(endOf(await bench.run("A small one.")), "stop");
});

Deno.test("runTurn() refuses shares that are out of order", async () => {
  const bench = new Bench({ agent: { compaction: { compactAt: 0.3 } } });
  await assert.rejects(bench.run("Go"), { code: "bad_budget" });
  assert.equal(await bench.store.read(KEY), null);
});

Deno.test("system text and tools that fill the window stop the agent before anything is stored", async () => {
  const bench = new Bench({ window: 8_000, agent: { system: prose(30_000) } });
  await assert.rejects(bench.run("Hello"), { code: "bad_budget" });
  assert.equal(await bench.store.read(KEY), null);
});
