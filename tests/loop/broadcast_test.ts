import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { Broadcast } from "../../src/loop/broadcast.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { handOver } from "../../src/loop/hand_over.ts";

async function* count(to: number, taken: number[] = []): AsyncGenerator<TurnEvent, void> {
  for (let step = 0; step < to; step++) {
    taken.push(step);
    await Promise.resolve();
    yield { id: `t:${step}`, type: "step.started", step };
  }
}

const steps = (events: readonly TurnEvent[]) =>
  events.map((event) => event.type === "step.started" ? event.step : -1);

Deno.test("Broadcast gives every reader every event once and in order, and takes each only once", async () => {
  const taken: number[] = [];
  const broadcast = new Broadcast(count(50, taken));
  const readers = await Promise.all(
    [0, 0, 0, 20].map(async (from) => steps(await Array.fromAsync(broadcast.follow(from).events))),
  );
  const all = Array.from({ length: 50 }, (_, step) => step);
  deepEqual(readers, [all, all, all, all.slice(20)]);
  deepEqual(taken, all);
  equal(broadcast.isDone, true);
});

Deno.test("Broadcast takes events on for a reader that wants none of the first", async () => {
  const broadcast = new Broadcast(handOver(async (give) => {
    for await (const event of count(30)) await give(event);
  }, () => {}));
  const readers = [20, 5, 99].map((from) => Array.fromAsync(broadcast.follow(from).events));
  deepEqual((await Promise.all(readers)).map((events) => [events.length, ...steps(events).slice(0, 1)]), [
    [10, 20],
    [25, 5],
    [0],
  ]);
});

Deno.test("Broadcast holds what a reader has yet to take, and of the rest the last few", async () => {
  const broadcast = new Broadcast(count(1_000));
  const slow = broadcast.follow().events;
  deepEqual(steps([(await slow.next()).value as TurnEvent]), [0]);
  for await (const _ of broadcast.follow().events);
  equal(broadcast.held, 0);
  deepEqual(steps(await Array.fromAsync(slow)), Array.from({ length: 999 }, (_, at) => at + 1));

  const quick = new Broadcast(count(1_000));
  let most = 0;
  for await (const event of quick.follow().events) {
    most = Math.max(most, Number(event.id.slice(2)) - quick.held);
  }
  ok(most < 64, `found ${most} events held behind a reader`);
  equal(quick.first, 0);
  ok(quick.held > 900, `found event ${quick.held} held after the end`);
  deepEqual(steps(await Array.fromAsync(quick.follow(quick.held).events)).at(-1), 999);
  // From here on: what is in front of it is to be had elsewhere.
  equal(steps(await Array.fromAsync(quick.follow().events))[0], quick.held);
});

Deno.test("Broadcast replays from memory after the end", async () => {
  const broadcast = new Broadcast(count(5));
  await broadcast.run();
  deepEqual(steps(await Array.fromAsync(broadcast.follow(3).events)), [3, 4]);
  deepEqual(await Array.fromAsync(broadcast.follow(5).events), []);
  deepEqual(await Array.fromAsync(broadcast.follow(99).events), []);
});

Deno.test("Broadcast stands still without a reader, and knows how many there are", async () => {
  const taken: number[] = [];
  const broadcast = new Broadcast(count(50, taken));
  const reader = broadcast.follow().events;
  await reader.next();
  await reader.next();
  equal(broadcast.readers, 1);
  await reader.return();
  equal(broadcast.readers, 0);
  deepEqual(taken, [0, 1]);
  deepEqual(steps(await Array.fromAsync(broadcast.follow().events)).length, 50);
});

Deno.test("Broadcast lets a reader that leaves disturb no other", async () => {
  const broadcast = new Broadcast(count(20));
  const [early, whole] = [broadcast.follow().events, broadcast.follow().events];
  const rest = Array.fromAsync(whole);
  await early.next();
  await early.return();
  deepEqual(steps(await rest).length, 20);
});

Deno.test("Broadcast throws to its readers what the turn throws, and ends its own run quietly", async () => {
  async function* broken(): AsyncGenerator<TurnEvent, void> {
    yield { id: "t:0", type: "step.started", step: 0 };
    throw new Error("broken");
  }
  const broadcast = new Broadcast(broken());
  const reader = broadcast.follow().events;
  await reader.next();
  await rejects(reader.next(), /broken/);
  await broadcast.run();
  await rejects(Array.fromAsync(new Broadcast(broken()).follow().events), /broken/);
});

Deno.test("Broadcast counts a reader as gone that leaves while it waits", async () => {
  let finish = (): void => {};
  const wait = new Promise<void>((resolve) => finish = resolve);
  async function* slow(): AsyncGenerator<TurnEvent, void> {
    await wait;
    yield { id: "t:0", type: "step.started", step: 0 };
  }
  const broadcast = new Broadcast(slow());
  const { events, leave } = broadcast.follow();
  const next = events.next();
  equal(broadcast.readers, 1);
  leave();
  leave();
  equal(broadcast.readers, 0);
  finish();
  equal((await next).done, true);
  deepEqual(steps(await Array.fromAsync(broadcast.follow().events)), [0]);
});

Deno.test("Broadcast tells its readers, and not the turn, what its own question throws", async () => {
  const thrown: unknown[] = [];
  async function* turn(): AsyncGenerator<TurnEvent, void> {
    try {
      yield* count(3);
    } catch (error) {
      thrown.push(error);
    }
  }
  const isOurs = ({ id }: TurnEvent): boolean => {
    if (id === "t:1") throw new Error("nobody knows");
    return true;
  };
  const { events } = new Broadcast(turn(), { isOurs }).follow();
  equal((await events.next()).done, false);
  await rejects(events.next(), /nobody knows/);
  deepEqual(thrown, []);
});
