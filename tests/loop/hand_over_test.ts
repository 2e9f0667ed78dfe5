import assert from "node:assert/strict";
import { type Give, handOver, LEFT } from "../../src/loop/hand_over.ts";
import { ask, type Asked } from "../../src/loop/iteration.ts";

/** Gives 1, 2, 3 and notes what it does. */
function counting(notes: string[]) {
  return async (give: Give<number>): Promise<void> => {
    try {
      for (const n of [1, 2, 3]) {
        notes.push(`give ${n}`);
        await give(n);
      }
      notes.push("done");
    } catch (error) {
      notes.push(error === LEFT ? "left" : String(error));
      throw error;
    } finally {
      notes.push("closed");
    }
  };
}

const nobody = (): void => {};

Deno.test("handOver() begins with the first event that is asked for, and stands still between two", async () => {
  const notes: string[] = [];
  const events = handOver(counting(notes), nobody);
  await Promise.resolve();
  assert.deepEqual(notes, []);
  assert.deepEqual(await events.next(), { done: false, value: 1 });
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.deepEqual(notes, ["give 1"]);
  assert.deepEqual(await events.next(), { done: false, value: 2 });
  assert.deepEqual(notes, ["give 1", "give 2"]);
  assert.deepEqual(await Array.fromAsync(events), [3]);
  assert.deepEqual(notes.slice(-2), ["done", "closed"]);
  assert.deepEqual(await events.next(), { done: true, value: undefined });
});

Deno.test("handOver() throws once what the work throws, and is over", async () => {
  const events = handOver<number>(async (give) => {
    await give(1);
    throw new Error("broken");
  }, nobody);
  assert.deepEqual(await events.next(), { done: false, value: 1 });
  await assert.rejects(events.next(), /broken/);
  assert.deepEqual(await events.next(), { done: true, value: undefined });
  await events.return();
});

Deno.test("handOver() answers in order who asks for several at once", async () => {
  const events = handOver(counting([]), nobody);
  const asked = Array.from({ length: 5 }, () => events.next());
  assert.deepEqual((await Promise.all(asked)).map(({ value }) => value), [1, 2, 3, undefined, undefined]);
});

Deno.test("handOver() goes on for one that asks for the next from within the answer", async () => {
  const notes: string[] = [];
  const events = handOver(counting(notes), nobody);
  const taken: (number | void)[] = [];
  await new Promise<void>((resolve, reject) => {
    const asked: Asked<number> = {
      resolve({ done, value }) {
        taken.push(value);
        if (done === true) resolve();
        else ask(events, asked);
      },
      reject,
    };
    ask(events, asked);
  });
  assert.deepEqual(taken, [1, 2, 3, undefined]);
  assert.deepEqual(notes.slice(-2), ["done", "closed"]);
});

Deno.test("handOver() answers in order who asks with a promise behind one that asks without", async () => {
  const events = handOver(counting([]), nobody);
  const taken: string[] = [];
  const asks = (name: string): void =>
    ask(events, { resolve: ({ value }) => taken.push(`${name} ${value}`), reject: assert.fail });
  asks("a");
  const second = events.next();
  asks("c");
  const fourth = events.next();
  assert.deepEqual([(await second).value, (await fourth).value], [2, undefined]);
  assert.deepEqual(taken, ["a 1", "c 3"]);
});

Deno.test("handOver() unwinds the work of one that leaves, told before, and waits for that", async () => {
  const notes: string[] = [];
  for await (const n of handOver(counting(notes), () => notes.push("told"))) if (n === 2) break;
  assert.deepEqual(notes, ["give 1", "give 2", "told", "left", "closed"]);
});

Deno.test("handOver() that is left while the work has nothing yet ends for who waits, too", async () => {
  const stop = Promise.withResolvers<void>();
  const notes: string[] = [];
  const events = handOver<number>(async (give) => {
    await stop.promise;
    try {
      await give(1);
    } catch (error) {
      notes.push(error === LEFT ? "left" : "other");
      throw error;
    }
  }, () => stop.resolve());
  const waiting = events.next();
  assert.deepEqual(await events.return(), { done: true, value: undefined });
  assert.deepEqual(await waiting, { done: true, value: undefined });
  assert.deepEqual(notes, ["left"]);
  assert.deepEqual(await events.next(), { done: true, value: undefined });
});

Deno.test("handOver() begins no work for one that leaves before the first event", async () => {
  const notes: string[] = [];
  const events = handOver(counting(notes), () => notes.push("told"));
  await events.return();
  assert.deepEqual(await events.next(), { done: true, value: undefined });
  assert.deepEqual(notes, []);
});

Deno.test("handOver() tells one that has left what goes wrong while the work unwinds", async () => {
  const events = handOver<number>(async (give) => {
    try {
      await give(1);
    } finally {
      // deno-lint-ignore no-unsafe-finally
      throw new Error("cannot close");
    }
  }, nobody);
  await events.next();
  await assert.rejects(events.return(), /cannot close/);
});

Deno.test("handOver() throws into the iteration what is thrown at it, once the work has unwound", async () => {
  const notes: string[] = [];
  const events = handOver(counting(notes), nobody);
  await events.next();
  await assert.rejects(events.throw(new Error("thrown")), /thrown/);
  assert.deepEqual(notes.at(-1), "closed");
});
