/** When every dialect asks again, after how long, and when it does not. */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { fallback } from "../../src/models/fallback.ts";
import type { ModelEvent } from "../../src/ports.ts";
import { ManualClock } from "../support/clock.ts";
import type { StreamFault } from "../support/double_server.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { rawHead, startRaw } from "../support/raw_upstream.ts";
import { codeOf, request, textOf } from "./_answers.ts";
import { conform, run, STALL_MS } from "./_conformance.ts";

/** Whether a sleep is the pause before another attempt, and none that waits for bytes, or for what is not needed. */
function isPause(ms: number): boolean {
  return ms < STALL_MS && ms !== 3_000;
}

/** Waits for the pause before the next attempt, and lets it pass. */
async function passPause(clock: ManualClock): Promise<number> {
  await clock.untilSleeping(isPause);
  const wait = clock.sleeping.find(isPause) ?? 0;
  await clock.advance(wait);
  return wait;
}

conform((dialect, test) => {
  const { frames, wire } = dialect;

  test("tries again after 429, 5xx and lost connections, with pauses that grow, and then answers", async () => {
    const clock = new ManualClock();
    // Where a package looks at the beginning itself, a cut comes before it.
    const faults: (StreamFault | undefined)[] = [{ status: 429 }, { status: 529 }, {
      cutAfter: frames.silent,
    }];
    await using double = dialect.start({
      script: () => ({ text: "fine" }),
      faults: (number) => faults[number - 1],
    });
    const outcome = run(dialect, { baseURL: double.url, clock, maxRetries: 3 });
    for (const longest of [500, 1_000, 2_000]) {
      const wait = await passPause(clock);
      assert.ok(wait >= longest / 2 && wait <= longest, `found a wait of ${wait} ms`);
    }
    const { error, events } = await outcome;
    assert.equal(error, undefined);
    assert.equal(textOf(events), "fine");
    assert.equal(double.requests.length, 4);
  });

  test("is not made with retries that would never be used up, or are fewer than none", async () => {
    for (const maxRetries of [Number.NaN, -1]) {
      await assert.rejects(async () => await dialect.model({ maxRetries }), {
        name: "RangeError",
        message: /maxRetries/,
      });
    }
  });

  test("gives up after maxRetries, and ends a pause when the signal aborts", async () => {
    const clock = new ManualClock();
    const fake = fakeFetch({ status: 503, reads: ["busy"] });
    const outcome = run(dialect, { fetch: fake.fetch, clock, maxRetries: 2 });
    for (let attempt = 0; attempt < 2; attempt++) await passPause(clock);
    assert.equal(codeOf((await outcome).error), "model_unavailable");
    assert.equal(fake.requests.length, 3);
    const controller = new AbortController();
    const next = run(dialect, { fetch: fake.fetch, clock, maxRetries: 2 }, { controller });
    await clock.untilSleeping(isPause);
    controller.abort("enough");
    assert.equal((await next).error, "enough");
    assert.deepEqual(clock.sleeping, []);
  });

  const WAITS = [
    ["2", 2_000, 2_250],
    ["0.5", 500, 750],
    ["3600", 30_000, 30_000],
    ["Tue, 14 Nov 2023 22:13:25 GMT", 5_000, 5_250],
    ["Tue, 14 Nov 2023 22:13:00 GMT", 0, 250],
    ["soon", 250, 500],
  ] as const;
  for (const [value, least, most] of WAITS) {
    test(`waits as retry-after ${value} asks`, async () => {
      const clock = new ManualClock(1_700_000_000_000);
      const refused = { status: 429, headers: { "retry-after": value }, reads: ["slow down"] };
      const fake = fakeFetch(refused, { reads: [wire.text("x") + wire.end] });
      const outcome = run(dialect, { fetch: fake.fetch, clock, maxRetries: 1 });
      const wait = await passPause(clock);
      assert.ok(wait >= least && wait <= most, `found a wait of ${wait} ms`);
      assert.equal((await outcome).error, undefined);
    });
  }

  test("does not try again what was refused, nor a key, nor a redirect", async () => {
    for (const status of [400, 401, 403, 404]) {
      const fake = fakeFetch({ status, reads: ["no"] });
      assert.ok((await run(dialect, { fetch: fake.fetch, maxRetries: 2 })).error instanceof SelvageError);
      assert.equal(fake.requests.length, 1, `${status}`);
    }
    await using elsewhere = startRaw(({ write }) => write(rawHead()));
    await using upstream = startRaw(async ({ number, write }) => {
      const place = number === 1 ? elsewhere.url : upstream.url;
      await write(rawHead("307 Temporary Redirect", "text/plain", `location: ${place}\r\n`));
    });
    for (let asked = 1; asked <= 2; asked++) {
      const { error } = await run(dialect, { baseURL: upstream.url, maxRetries: 2 });
      assert.equal(codeOf(error), "model_bad_response");
      assert.equal(upstream.count, asked);
    }
    assert.equal(elsewhere.count, 0, "what was said went elsewhere");
  });

  test("does not try again once a delta was passed on, nor asks another model then", async () => {
    // Cut once the delta has been seen: what still waits in a package's queues is lost with the connection.
    await using upstream = startRaw(async ({ write }) => {
      await write(rawHead("200 OK", "text/event-stream", "content-length: 9999\r\n") + wire.text("x"));
      await seen.promise;
    });
    const seen = Promise.withResolvers<void>();
    const model = await dialect.model({ baseURL: upstream.url, maxRetries: 2 });
    const events: ModelEvent[] = [];
    const read = async (): Promise<void> => {
      for await (const event of model.stream(request, new AbortController().signal)) {
        events.push(event);
        seen.resolve();
      }
    };
    await assert.rejects(
      read,
      (error) =>
        error instanceof SelvageError && error.code === "model_stream_cut" &&
        error.cause instanceof TypeError,
    );
    assert.equal(textOf(events), "x");
    assert.equal(upstream.count, 1);
    const fake = fakeFetch({ reads: [wire.text("x")] });
    const first = await dialect.model({ fetch: fake.fetch });
    const second = await dialect.model({ fetch: fakeFetch({ reads: [wire.text("y") + wire.end] }).fetch });
    const { signal } = new AbortController();
    await assert.rejects(Array.fromAsync(fallback([first, second]).stream(request, signal)));
    const down = await dialect.model({ fetch: fakeFetch({ status: 503, reads: [] }).fetch });
    assert.equal(textOf(await Array.fromAsync(fallback([down, second]).stream(request, signal))), "y");
  });

  test("tries again after an error in the stream that came before the first delta, and only then", async () => {
    const clock = new ManualClock();
    const answer = { reads: [wire.text("x") + wire.end] };
    const early = fakeFetch({ reads: [wire.error] }, { reads: [wire.failure] }, answer);
    const outcome = run(dialect, { fetch: early.fetch, clock, maxRetries: 2 });
    for (let attempt = 0; attempt < 2; attempt++) await passPause(clock);
    assert.equal(textOf((await outcome).events), "x");
    assert.equal(early.requests.length, 3);
    const late = fakeFetch({ reads: [wire.text("x"), wire.error] }, answer);
    const broken = await run(dialect, { fetch: late.fetch, clock, maxRetries: 2 });
    assert.equal(codeOf(broken.error), "model_stream_error");
    assert.equal(late.requests.length, 1);
  });
});
