/** Pins that are set and let go between the turns of a session. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { StoredView } from "../../src/compaction/context.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { assertAccounted } from "../support/requests.ts";
import { prose } from "../support/turns.ts";
import { type Answer, KEY, served } from "../support/at_rest_app.ts";

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
  const by = async () => {
    const { atoms } = await send("GET", "s/context");
    return Object.fromEntries(atoms.map(({ from, state, pinnedBy }) => [`e${from}`, `${state} ${pinnedBy}`]));
  };
  equal((await by())[ref], "raw caller");
  for (let n = 0; n < 3; n++) await say(prose(9_000, n));
  equal((await send("POST", "s/compact", { compactTo: 0.1 })).outcome, "applied");
  await say("And now?");
  ok(bench.requests.at(-1)?.messages.some(({ content }) => content === "Never touch production."));
  equal((await by())[ref], "pinned caller");
  await send("POST", "s/pins", { ref: "e7.0", pinned: true });
  equal((await by())["e7"], "pinned caller");
  await send("POST", "s/pins", { ref: "e7.0", pinned: false });
  equal((await by())["e7"], "pinned released");
});

Deno.test("a pin that is too big says how many calls go along with it", async () => {
  for (
    const [window, batch, others] of [[9_000, 12, "11 other calls"], [4_000, 2, "1 other call"]] as const
  ) {
    const { bench, send } = await served(1, { window, batch });
    ok(bench.requests.length > 0);
    const refused = await send("POST", "s/pins", { ref: "e1.0", pinned: true });
    deepEqual([refused.status, refused.code, refused.calls], [413, "pinned_too_big", batch]);
    match(refused.detail, new RegExp(`tokens with it and the ${others} of its round, wanted at most \\d+$`));
  }
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
