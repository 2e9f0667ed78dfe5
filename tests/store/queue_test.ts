import assert from "node:assert/strict";
import { KeyedQueue } from "../../src/store/_queue.ts";

Deno.test("KeyedQueue.run() runs tasks of one key in turn, and of different keys at once", async () => {
  const queue = new KeyedQueue();
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue.run("a", async () => {
    log.push("a1 starts");
    await gate.promise;
    log.push("a1 ends");
    return 1;
  });
  const second = queue.run("a", () => {
    log.push("a2");
    return Promise.resolve(2);
  });
  await queue.run("b", () => {
    log.push("b");
    return Promise.resolve();
  });
  gate.resolve();
  assert.deepEqual(await Promise.all([first, second]), [1, 2]);
  assert.deepEqual(log, ["a1 starts", "b", "a1 ends", "a2"]);
});

Deno.test("KeyedQueue.run() goes on after a task that failed", async () => {
  const queue = new KeyedQueue();
  const failed = queue.run("a", () => Promise.reject(new Error("no")));
  const next = queue.run("a", () => Promise.resolve("yes"));
  await assert.rejects(failed, /no/);
  assert.equal(await next, "yes");
});
