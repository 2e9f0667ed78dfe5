/** Messages to a turn that runs: taken at the next step, or refused, and never lost. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { Mailbox, type Received, sendMessage } from "../../src/loop/mailbox.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Entry } from "../../src/ports.ts";
import { runs } from "../support/runs.ts";
import { assertLog, Bench, calls, endOf, eventsOf, KEY, replies, tool } from "../support/turns.ts";

let ids = 0;

function send(bench: Bench, input: string, turn = "t0"): Promise<number | null> {
  return sendMessage({ store: bench.store, owner: KEY, turn }, { id: `id ${ids++}`, input });
}

const textOf = (entry: Entry): unknown => entry.kind === "user" ? entry.message.content : entry.kind;

Deno.test("a message enters at the next step boundary, behind the results, and is told", async () => {
  const bench: Bench = new Bench({
    script: replies(calls("read", {}, {}), calls("read", {})),
    tools: [tool("read", async () => {
      if (bench.requests.length === 1) await send(bench, `Mind the gap ${ids}`);
      return "read";
    })],
  });
  const events = await bench.run("Go");
  assert.equal(endOf(events), "stop");
  const { entries } = await bench.assertSound();
  assert.deepEqual(entries.map(({ kind }) => kind), [
    "user",
    "assistant",
    "result",
    "result",
    "user",
    "user",
    "assistant",
    "result",
    "assistant",
  ]);
  assert.deepEqual(eventsOf(events, "user.message").map(({ ref }) => ref), ["e4", "e5"]);
  assert.ok(entries.every(({ turn }) => turn === "t0"));
});

Deno.test("a message that comes in while the model gives its answer is answered before the turn ends", async () => {
  const bench: Bench = new Bench({
    script: () => bench.requests.length === 1 ? { text: "Done already." } : { text: "And that, too." },
  });
  const events: string[] = [];
  for await (const event of bench.start("Go")) {
    if (event.type === "text.delta" && !events.includes("text.delta")) {
      assert.equal(await send(bench, "Wait"), 0);
    }
    events.push(event.type);
  }
  assert.equal(bench.requests.length, 2);
  assert.ok(events.indexOf("user.message") < events.lastIndexOf("step.started"));
  assert.equal(await send(bench, "Too late"), null);
  const { entries } = await bench.assertSound();
  assert.deepEqual(entries.map(textOf), ["Go", "assistant", "Wait", "assistant"]);
});

for (const how of ["max-steps", "aborted"] as const) {
  Deno.test(`a message to a turn that ends with ${how} stays in the log, for the next turn`, async () => {
    const stop = new AbortController();
    const bench: Bench = new Bench({
      script: () => ({ calls: [{ name: "read", input: {} }] }),
      tools: [tool("read", async () => {
        await send(bench, "Mind the gap");
        if (how === "aborted") stop.abort(new Error("enough"));
        return "read";
      })],
      agent: { maxSteps: how === "aborted" ? 5 : 1 },
    });
    const events = await bench.run("Go", { signal: stop.signal });
    assert.equal(endOf(events), how);
    const { entries } = await bench.state();
    assertLog(entries);
    assert.equal(textOf(entries.at(-1) as Entry), "Mind the gap");
    assert.equal(eventsOf(events, "user.message").length, 1);
    assert.equal(await send(bench, "Too late"), null);
  });
}

Deno.test("a message to a turn whose process died is taken by whoever closes it", async () => {
  const bench = new Bench();
  const { lease } = await bench.store.acquire(KEY, {
    agent: "default",
    owner: "dead",
    turn: "t0",
    ttlMs: 10_000,
  });
  const message = { role: "user", content: "Go" } as const;
  await bench.store.commit(KEY, lease, { entries: [{ kind: "user", seq: 0, turn: "t0", at: 0, message }] });
  assert.equal(await send(bench, "Hello?"), 0);
  await bench.clock.advance(10_001);
  const { agent, clock, store } = bench;
  const next = runTurn({ agent, session: KEY.session, input: "Next" }, { store, clock });
  assert.equal(endOf(await Array.fromAsync(next)), "stop");
  assert.equal(await send(bench, "Too late"), null);
  assert.deepEqual((await bench.assertSound()).entries.map(textOf), ["Go", "Hello?", "Next", "assistant"]);
});

Deno.test("a mailbox gives each message once and in order, whatever is sent while it is read and closed", async () => {
  const step = fc.constantFrom("send", "take", "close", "reopen");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const store = memoryStore();
      const place = { store, owner: KEY, turn: "t" };
      const log: Entry[] = [{
        kind: "user",
        seq: 0,
        turn: "t",
        at: 0,
        message: { role: "user", content: "Go" },
      }];
      let mailbox = new Mailbox(place, log);
      const accepted: string[] = [];
      const read = (received: readonly Received[]): void => {
        for (const { mail, input: content } of received) {
          log.push({
            kind: "user",
            seq: log.length,
            turn: "t",
            at: 0,
            message: { role: "user", content },
            mail,
          });
        }
      };
      const pending: Promise<void>[] = [];
      for (const [n, what] of steps.entries()) {
        if (what === "send") {
          pending.push(
            sendMessage(place, { id: `${n}`, input: `${n}` }).then((sent) => {
              if (sent !== null) accepted[sent] = `${n}`;
            }),
          );
        } else if (what === "take") read(await mailbox.take());
        else if (what === "close") read(await mailbox.close());
        else mailbox = new Mailbox(place, log);
      }
      await Promise.all(pending);
      read(await mailbox.drain());
      assert.deepEqual(log.slice(1).map(textOf), accepted);
      assert.equal(await sendMessage(place, { id: "late", input: "late" }), null);
    }),
    runs(),
  );
});

Deno.test("sendMessage() takes the same message once, and no more than there is room for", async () => {
  const place = { store: memoryStore(), owner: KEY, turn: "t" };
  for (let n = 0; n < 100; n++) {
    for (let twice = 0; twice < 2; twice++) {
      assert.equal(await sendMessage(place, { id: `${n}`, input: "x" }), n);
    }
  }
  await assert.rejects(sendMessage(place, { id: "more", input: "x" }), { code: "too_many_messages" });
});
