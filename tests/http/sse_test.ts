import { deepEqual, equal, rejects } from "node:assert/strict";
import { type SseOptions, sseStream } from "../../src/http/sse.ts";
import { Broadcast } from "../../src/loop/broadcast.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { ManualClock } from "../support/clock.ts";

/** A source that gives what it is told to, when it is told to. */
function source() {
  const queue: (string | Error | null)[] = [];
  let wake = (): void => {};
  async function* events(): AsyncGenerator<string, void> {
    for (;;) {
      while (queue.length === 0) await new Promise<void>((resolve) => wake = resolve);
      const next = queue.shift();
      if (next instanceof Error) throw next;
      if (next === null || next === undefined) return;
      yield next;
    }
  }
  const give = (...items: (string | Error | null)[]): void => {
    queue.push(...items);
    wake();
  };
  return { events: events(), give };
}

function start(events: AsyncGenerator<string, void>, options: Partial<SseOptions<string>> = {}) {
  const clock = new ManualClock();
  const seen: string[] = [];
  const stream = sseStream(events, {
    encode: (event) => `${event}\n`,
    clock,
    onLeave: () => Promise.resolve(void seen.push("left")),
    onEnd: () => void seen.push("ended"),
    ...options,
  });
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  return { clock, seen, read: async () => (await reader.read()).value };
}

Deno.test("sseStream() writes at once, and what is ready together in one write", async () => {
  const { events, give } = source();
  const { clock, read, seen } = start(events);
  equal(await read(), ": selvage\n\n");
  give("a", "b", "c");
  equal(await read(), "a\nb\nc\n");
  give("d");
  equal(await read(), "d\n");
  give("x".repeat(16_384), "e", null);
  equal(await read(), `${"x".repeat(16_384)}\n`);
  equal(await read(), "e\n");
  equal(await read(), undefined);
  deepEqual(seen, ["ended"]);
  deepEqual(clock.sleeping, []);
});

Deno.test("sseStream() sends a comment after 10 s of silence, whenever it begins", async () => {
  const { events, give } = source();
  const { clock, read } = start(events);
  await read();
  let waiting = read();
  await clock.advance(9_000);
  give("a");
  equal(await waiting, "a\n");
  waiting = read();
  await clock.advance(9_000);
  give("b");
  equal(await waiting, "b\n");
  waiting = read();
  await clock.advance(10_000);
  equal(await waiting, ": keep-alive\n\n");
  waiting = read();
  await clock.advance(10_000);
  equal(await waiting, ": keep-alive\n\n");
  give(null);
  equal(await read(), undefined);
  deepEqual(clock.sleeping, []);
});

Deno.test("sseStream() writes what came before a fault", async () => {
  const { events, give } = source();
  const { clock, read, seen } = start(events);
  await read();
  give("a", new Error("broken"));
  equal(await read(), "a\n");
  await rejects(read(), /broken/);
  deepEqual(seen, ["ended"]);
  deepEqual(clock.sleeping, []);
});

Deno.test("sseStream() sends what is said of a fault, and closes", async () => {
  const { events, give } = source();
  const { clock, read, seen } = start(events, { last: () => "whole", fault: (error) => `told: ${error}` });
  await read();
  give("a", new Error("broken"));
  equal(await read(), "a\n");
  equal(await read(), "told: Error: broken");
  equal(await read(), undefined);
  deepEqual(seen, ["ended"]);
  deepEqual(clock.sleeping, []);
});

Deno.test("sseStream() leaves the events where one of them cannot be encoded, and ends", async () => {
  for (const told of [undefined, "told"]) {
    const { events, give } = source();
    const { clock, read, seen } = start(events, {
      encode: (event) => {
        if (event === "b") throw new Error("no frame");
        return event;
      },
      ...(told === undefined ? {} : { fault: () => told }),
    });
    await read();
    give("a");
    equal(await read(), "a");
    give("b", "c");
    if (told === undefined) await rejects(read(), /no frame/);
    else equal(await read(), told);
    deepEqual(seen, ["left", "ended"]);
    deepEqual(await events.next(), { done: true, value: undefined });
    deepEqual(clock.sleeping, []);
  }
});

Deno.test("sseStream() ends where its last frame cannot be made", async () => {
  const { events, give } = source();
  const last = () => {
    throw new Error("no end");
  };
  const { clock, read, seen } = start(events, { last });
  await read();
  give(null);
  await rejects(read(), /no end/);
  deepEqual(seen, ["ended"]);
  deepEqual(clock.sleeping, []);
});

Deno.test("sseStream() writes nothing for an event that has nothing to say", async () => {
  const { events, give } = source();
  const { read } = start(events, { encode: (event) => event === "quiet" ? "" : `${event}\n` });
  await read();
  const waiting = read();
  give("quiet");
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
  give("a", null);
  equal(await waiting, "a\n");
  equal(await read(), undefined);
});

Deno.test("sseStream() ends with a client that leaves while it waits for an event that never comes", async () => {
  const clock = new ManualClock();
  const event: TurnEvent = { type: "step.started", step: 1, id: "t:0" };
  const never = Promise.withResolvers<void>();
  async function* turn(): AsyncGenerator<TurnEvent, void> {
    yield event;
    await never.promise;
  }
  const broadcast = new Broadcast(turn());
  const { events, leave } = broadcast.follow();
  const ended: string[] = [];
  const stream = sseStream(events, {
    encode: ({ id }) => id,
    clock,
    onLeave: () => Promise.resolve(leave()),
    onEnd: () => void ended.push("ended"),
  });
  const reader = stream.getReader();
  await reader.read();
  equal(new TextDecoder().decode((await reader.read()).value), "t:0");
  const waiting = reader.read();
  await new Promise((resolve) => setTimeout(resolve, 0));
  await reader.cancel();
  equal((await waiting).done, true);
  deepEqual(ended, ["ended"], "once");
  equal(broadcast.readers, 0);
  deepEqual(clock.sleeping, []);
  never.resolve();
  await broadcast.run();
});
