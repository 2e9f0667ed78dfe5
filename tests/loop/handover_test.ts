/** Turns that are put down with calls that have not begun: whoever takes them up runs each of them, once. */
import assert from "node:assert/strict";
import type { TurnEvent } from "../../src/loop/events.ts";
import { LEASE_TTL_MS } from "../../src/loop/journal.ts";
import { answerTurn, resumeTurn } from "../../src/loop/turn.ts";
import type { AnswerRequest } from "../../src/loop/agent.ts";
import type { Commit, Store } from "../../src/ports.ts";
import type { Json } from "../support/wire_json.ts";
import { Bench, type BenchOptions, calls, endOf, eventsOf, KEY, tool, withCommit } from "../support/turns.ts";
import { guarded, pausedOf } from "./_pause.ts";
import { mortal, statuses } from "./_mortal.ts";

/** Runs something in a process of its own, which is told to go down when a commit or an event says so. */
interface Process {
  readonly suspend: AbortSignal;
  down(): void;
}

function process(): Process {
  const stop = new AbortController();
  return { suspend: stop.signal, down: () => stop.abort(new DOMException("Going down", "AbortError")) };
}

/** A store in which something happens behind each commit of some kind. */
function behind(isMeant: (commit: Commit) => boolean, happens: () => void): (store: Store) => Store {
  return (store) =>
    withCommit(store, async (key, lease, commit) => {
      await store.commit(key, lease, commit);
      if (isMeant(commit)) happens();
    });
}

const hasAnswer = ({ entries = [] }: Commit): boolean => entries.some(({ kind }) => kind === "assistant");

/** A bench whose first process goes down right behind the commit of the model's first answer. */
function benchDownBehindAnswer(options: BenchOptions): { readonly bench: Bench; readonly first: Process } {
  const first = process();
  return { bench: new Bench({ ...options, wrap: behind(hasAnswer, first.down) }), first };
}

async function resume(bench: Bench, suspend?: AbortSignal): Promise<readonly TurnEvent[]> {
  const request = { agent: bench.agent, session: KEY.session, turn: "t0" };
  return await Array.fromAsync(resumeTurn(suspend === undefined ? request : { ...request, suspend }, bench));
}

async function answer(bench: Bench, answers: Partial<AnswerRequest>): Promise<readonly TurnEvent[]> {
  const request = { agent: bench.agent, session: KEY.session, turn: "t0", ...answers };
  return await Array.fromAsync(answerTurn(request, bench));
}

/** A tool that counts, and a model that calls it so often at once, then says that all is done. */
function counting(times: number) {
  const runs: unknown[] = [];
  const write = tool("write", ({ n }: Json) => (runs.push(n), `wrote ${n}`));
  const inputs = Array.from({ length: times }, (_, n) => ({ n }));
  const script: BenchOptions["script"] = ({ messages }) =>
    messages.length > 1 ? { text: "Done." } : calls("write", ...inputs);
  return { runs, write, script, all: inputs.map(({ n }) => n) };
}

for (const toolConcurrency of [1, 2, 8]) {
  Deno.test(`a turn put down between its answer and its calls is taken up with all of them to run, ${toolConcurrency} at a time`, async () => {
    const { runs, write, script, all } = counting(3);
    const { bench, first } = benchDownBehindAnswer({ script, tools: [write], agent: { toolConcurrency } });
    const before = await bench.run("Go", { suspend: first.suspend });
    assert.deepEqual(eventsOf(before, "tool.result"), []);
    assert.deepEqual(runs, [], "the first process has begun none");
    const after = await resume(bench);
    assert.equal(endOf(after), "stop");
    assert.deepEqual(runs, all);
    assert.deepEqual(await statuses(bench), { "e1.0": "ok", "e1.1": "ok", "e1.2": "ok" });
    await bench.assertSound();
  });
}

for (const way of ["finishes", "hangs"] as const) {
  Deno.test(`of calls that run one after the other, those behind one that ${way} at the end are handed over`, async () => {
    const first = process();
    const runs: unknown[] = [];
    let let1Finish = (): void => {};
    const write = tool("write", ({ n }) => {
      runs.push(n);
      if (runs.length > 1) return `wrote ${n}`;
      first.down();
      return new Promise((resolve) => let1Finish = () => resolve(`wrote ${n}`));
    });
    const { script } = counting(3);
    const bench = new Bench({ script, tools: [write], agent: { toolConcurrency: 1 } });
    const running = bench.run("Go", { suspend: first.suspend });
    await bench.clock.advance(1);
    if (way === "finishes") let1Finish();
    await bench.clock.advance(3_000);
    const before = await running;
    assert.deepEqual(eventsOf(before, "tool.call").map(({ ref }) => ref), ["e1.0"]);
    assert.deepEqual(runs, [0]);
    const after = await resume(bench);
    assert.equal(endOf(after), "stop");
    assert.deepEqual(runs, [0, 1, 2]);
    const hung = way === "hangs" ? "aborted" : "ok";
    assert.deepEqual(await statuses(bench), { "e1.0": hung, "e1.1": "ok", "e1.2": "ok" });
    await bench.assertSound();
  });
}

Deno.test("a call that its reader was told of as the process went down does not begin any more", async () => {
  const first = process();
  const { runs, write, script } = counting(2);
  const bench = new Bench({ script, tools: [write] });
  const told: TurnEvent[] = [];
  for await (const event of bench.start("Go", { suspend: first.suspend })) {
    told.push(event);
    if (event.type === "tool.call") first.down();
  }
  assert.deepEqual(eventsOf(told, "tool.call").map(({ ref }) => ref), ["e1.0"]);
  assert.deepEqual(runs, []);
  assert.equal(endOf(await resume(bench)), "stop");
  assert.deepEqual(runs, [0, 1]);
  await bench.assertSound();
});

Deno.test("calls of the last step that a turn may make are handed over like any other", async () => {
  const { runs, write, script, all } = counting(2);
  const { bench, first } = benchDownBehindAnswer({ script, tools: [write], agent: { maxSteps: 1 } });
  assert.deepEqual(eventsOf(await bench.run("Go", { suspend: first.suspend }), "turn.finished"), []);
  assert.equal(endOf(await resume(bench)), "max-steps");
  assert.deepEqual(runs, all);
  await bench.assertSound();
});

Deno.test("a turn put down before its calls began asks for what a person has to allow when it is taken up", async () => {
  const sent: unknown[] = [];
  const { runs, write } = counting(0);
  const step = { calls: [{ name: "write", input: { n: 7 } }, { name: "send", input: { to: "Ada" } }] };
  const { bench, first } = benchDownBehindAnswer({
    script: ({ messages }) => messages.length > 1 ? { text: "Done." } : step,
    tools: [write, guarded("send", sent)],
  });
  await bench.run("Go", { suspend: first.suspend });
  assert.deepEqual(pausedOf(await resume(bench)).pending.map(({ ref }) => ref), ["e1.1"]);
  assert.deepEqual([runs, sent], [[7], []]);
  assert.equal(endOf(await bench.answer({ approvals: [{ ref: "e1.1", approved: true }] })), "stop");
  assert.deepEqual([runs, sent], [[7], [{ to: "Ada" }]]);
  await bench.assertSound();
});

Deno.test("what a person has allowed is run by the next process, where this one goes down before it could", async () => {
  const sent: unknown[] = [];
  const second = process();
  const bench = new Bench({
    script: ({ messages }) => messages.length > 1 ? { text: "Done." } : calls("send", { to: 1 }, { to: 2 }),
    tools: [guarded("send", sent)],
    wrap: behind(({ pause }) => pause?.pending.length === 0, second.down),
  });
  await bench.run("Go");
  const approvals = [{ ref: "e1.0", approved: true }, { ref: "e1.1", approved: true }];
  const told = await answer(bench, { approvals, suspend: second.suspend });
  assert.deepEqual([sent, eventsOf(told, "turn.finished")], [[], []]);
  assert.equal(endOf(await resume(bench)), "stop");
  assert.deepEqual(sent, [{ to: 1 }, { to: 2 }]);
  await bench.assertSound();
});

Deno.test("calls that have not begun are handed on by as many processes as go down before they could run them", async () => {
  const { runs, write, script, all } = counting(3);
  const { bench, first } = benchDownBehindAnswer({ script, tools: [write] });
  await bench.run("Go", { suspend: first.suspend });
  for (let n = 0; n < 5; n++) await resume(bench, AbortSignal.abort());
  assert.deepEqual(runs, []);
  assert.equal(endOf(await resume(bench)), "stop");
  assert.deepEqual(runs, all);
  await bench.assertSound();
});

Deno.test("calls that were handed over to a process that dies are not run by the one after it", async () => {
  const first = process();
  const { wrap, dieAt, live } = mortal();
  const { runs, write, script, all } = counting(2);
  const bench = new Bench({
    script,
    tools: [write],
    wrap: (store) => behind(hasAnswer, first.down)(wrap(store)),
  });
  await bench.run("Go", { suspend: first.suspend });
  dieAt(0);
  void resume(bench).catch(() => {});
  await bench.clock.advance(LEASE_TTL_MS + 1);
  live();
  assert.deepEqual(runs, all, "the second process has begun them, and stored nothing of it");
  assert.equal(endOf(await resume(bench)), "stop");
  assert.deepEqual(runs, all);
  assert.deepEqual(await statuses(bench), { "e1.0": "aborted", "e1.1": "aborted" });
  await bench.assertSound();
});

Deno.test("calls that a process left when it died are run neither by one that is put down nor by the one after it", async () => {
  const { wrap, dieAt, live } = mortal();
  const { runs, write, script, all } = counting(2);
  const bench = new Bench({ script, tools: [write], wrap });
  dieAt(1);
  void bench.run("Go").catch(() => {});
  await bench.clock.advance(LEASE_TTL_MS + 1);
  live();
  assert.deepEqual(runs, all);
  // Goes down while it asks whether the calls have to be allowed.
  const second = process();
  const asking = { ...write, needsApproval: () => (second.down(), Promise.reject(new Error("down"))) };
  const agent = { ...bench.agent, tools: [asking] };
  const request = { agent, session: KEY.session, turn: "t0", suspend: second.suspend };
  await Array.fromAsync(resumeTurn(request, bench));
  await resume(bench);
  assert.deepEqual(runs, all);
  assert.deepEqual(await statuses(bench), { "e1.0": "aborted", "e1.1": "aborted" });
});

Deno.test("a turn put down by way of a fault hands nothing over: a call that had begun may be among those without a result", async () => {
  const first = process();
  const runs: unknown[] = [];
  const write = tool("write", ({ n }) => {
    runs.push(n);
    return n === 0 ? "wrote 0" : new Promise(() => {});
  });
  const { script } = counting(3);
  const bench = new Bench({ script, tools: [write], agent: { toolConcurrency: 2 } });
  const { clock } = bench;
  const now = clock.now.bind(clock);
  let looks = Infinity;
  for await (const event of bench.start("Go", { suspend: first.suspend })) {
    // The third look at the clock from now on is that for the result of the first call, while the second runs.
    if (event.type === "tool.call" && event.ref === "e1.1") looks = 2;
    clock.now = () => {
      if (looks-- > 0) return now();
      clock.now = now;
      first.down();
      throw new Error("no clock");
    };
  }
  assert.deepEqual(runs, [0, 1]);
  assert.equal((await bench.state()).head.lease?.expires, 0, "put down");
  assert.equal(endOf(await resume(bench)), "stop");
  assert.deepEqual(runs, [0, 1]);
});
