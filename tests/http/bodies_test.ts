/** Bodies while they are held: how long they may take to come, and how much memory they may take together. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { Bodies } from "../../src/http/bodies.ts";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";

function makeApp(clock: ManualClock, maxBodyBytes?: number) {
  return createApp({
    agents: { default: { model: scripted({ script: () => ({ text: "Hi." }) }) } },
    store: memoryStore({ clock }),
    clock,
    ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
  });
}

/** A body that sends what it is told to, when it is told to. */
function slowBody(): {
  request: Request;
  send: (text: string) => void;
  end: () => void;
  isCancelled: () => boolean;
} {
  let control!: ReadableStreamDefaultController<Uint8Array>;
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (control = controller),
    cancel: () => void (isCancelled = true),
  });
  return {
    request: new Request("http://localhost/v1/turns", { method: "POST", body }),
    send: (text) => control.enqueue(new TextEncoder().encode(text)),
    end: () => control.close(),
    isCancelled: () => isCancelled,
  };
}

Deno.test("a body that stalls, or drips for ever, gets 408 and is read no more", async () => {
  const clock = new ManualClock();
  const app = makeApp(clock);
  const stalled = slowBody();
  const response = app.request(stalled.request);
  stalled.send('{"input":');
  await clock.advance(9_999);
  stalled.send('"Hi"');
  await clock.advance(9_999);
  ok(!stalled.isCancelled());
  await clock.advance(10_000);
  equal((await response).status, 408);
  equal((await (await response).json()).code, "body_stalled");
  ok(stalled.isCancelled());
  const dripping = slowBody();
  const dripped = app.request(dripping.request);
  for (let n = 0; n < 24; n++) {
    dripping.send(" ");
    await clock.advance(5_000);
  }
  equal((await dripped).status, 408);
  const slow = slowBody();
  const answered = app.request(slow.request);
  for (const part of ['{"input"', ':"Hi","stream"', ":false}"]) {
    slow.send(part);
    await clock.advance(9_000);
  }
  slow.end();
  equal((await answered).status, 200);
  await (await answered).body?.cancel();
  deepEqual(clock.sleeping, [], "a timer is left");
});

Deno.test("a clock that fails while a body is read is no fault of the connection", async () => {
  const { request, isCancelled } = slowBody();
  const clock = { now: () => 0, sleep: () => Promise.reject(new Error("no time")) };
  const read = new Bodies(clock, 1_000).use(request, {
    maxSize: 100,
    work: (bytes) => Promise.resolve(bytes),
  });
  await rejects(read, { name: "Error", message: "no time" });
  ok(isCancelled());
});

Deno.test("bodies that are held together take a bounded amount of memory, and more get 503", async () => {
  const clock = new ManualClock();
  const app = makeApp(clock, 100_000);
  const big = JSON.stringify({ input: "x".repeat(60_000), stream: false });
  const send = (body: string) =>
    Promise.resolve(app.request("/v1/turns", {
      method: "POST",
      body,
      headers: { "content-length": String(body.length) },
    }));
  const statuses = async (...bodies: readonly string[]): Promise<readonly number[]> => {
    const responses = await Promise.all(bodies.map(send));
    for (const { body } of responses) await body?.cancel();
    return responses.map(({ status }) => status);
  };
  deepEqual(await statuses(big), [200]);
  deepEqual(await statuses(big, big, JSON.stringify({ input: "small", stream: false })), [200, 503, 200]);
  // What is announced counts before it has come, and is given back when the client has gone.
  const bodies = new Bodies(clock, 1_000);
  const work = () => Promise.resolve("done");
  const waiting = slowBody();
  const use = bodies.use(new Request(waiting.request, { headers: { "content-length": "900" } }), {
    maxSize: 5_000,
    work,
  });
  equal(bodies.held, 900);
  await rejects(
    bodies.use(
      new Request("http://x/", {
        method: "POST",
        body: "x".repeat(200),
        headers: { "content-length": "200" },
      }),
      { maxSize: 5_000, work },
    ),
    { code: "service_full" },
  );
  waiting.end();
  equal(await use, "done");
  equal(bodies.held, 0);
  // A body of unknown length counts as it grows.
  const growing = slowBody();
  const grown = bodies.use(growing.request, { maxSize: 5_000, work });
  growing.send("x".repeat(1_001));
  await rejects(grown, { code: "service_full" });
  equal(bodies.held, 0);
});

Deno.test("a length that is no number is as if none were told, and what is held stays counted", async () => {
  for (const told of ["x", "-5", "1e2", "5, 5", ""]) {
    const bodies = new Bodies(new ManualClock(), 1_000);
    const send = (text: string) =>
      bodies.use(
        new Request("http://x/", { method: "POST", body: text, headers: { "content-length": told } }),
        { maxSize: 900, work: (bytes) => Promise.resolve([bytes.length, bodies.held]) },
      );
    deepEqual(await send("small"), [5, 900], told);
    equal(bodies.held, 0, told);
    await rejects(Promise.all([send("small"), send("small")]), { code: "service_full" }, told);
  }
});
