/** What every dialect says of a request that is refused, and of a provider that cannot be reached or falls silent. */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { ManualClock } from "../support/clock.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { startRaw } from "../support/raw_upstream.ts";
import { codeOf, request } from "./_answers.ts";
import { conform, failure, KEY, run, STALL_MS } from "./_conformance.ts";

conform((dialect, test) => {
  const { frames, name } = dialect;

  const STATUSES = [
    [307, "model_bad_response", false],
    [401, "model_auth", false],
    [403, "model_auth", false],
    [404, "model_not_found", false],
    [400, "model_refused", false],
    [402, "model_refused", false],
    [408, "model_unavailable", true],
    [409, "model_unavailable", true],
    [413, "model_refused", false],
    [422, "model_refused", false],
    [425, "model_unavailable", true],
    [429, "model_rate_limited", true],
    [500, "model_unavailable", true],
    [503, "model_unavailable", true],
    [529, "model_unavailable", true],
  ] as const;
  for (const [status, code, retryable] of STATUSES) {
    test(`throws ${code} for status ${status}, retryable ${retryable}`, async () => {
      const body = JSON.stringify(dialect.refusal("the provider's words"));
      const error = await failure(dialect, {
        status,
        reads: [body],
        headers: { "content-type": "application/json" },
      });
      assert.deepEqual([error.code, error.fields.retryable, error.fields.status], [code, retryable, status]);
      assert.match(
        error.message,
        new RegExp(`^Cannot get an answer from .*: found HTTP status ${status}, wanted 200(?:; |$)`),
      );
      assert.equal(error.fields.upstream, "the provider's words");
    });
  }

  test("throws context_length_exceeded with the window that the service names", async () => {
    const error = await failure(dialect, {
      status: 400,
      reads: [JSON.stringify(dialect.refusal(dialect.tooLong))],
    });
    assert.deepEqual([error.code, error.fields.window], ["context_length_exceeded", 8_192]);
    await using double = dialect.start({ script: () => ({}), window: 5 });
    assert.equal(codeOf((await run(dialect, { baseURL: double.url })).error), "context_length_exceeded");
  });

  test("reads error pages that are no JSON, and no more of them than it needs", async () => {
    const headers = { "content-type": "text/html" };
    const error = await failure(dialect, { status: 502, reads: ["<h1>Bad gateway</h1>"], headers });
    assert.deepEqual([error.code, error.fields.upstream], ["model_unavailable", "<h1>Bad gateway</h1>"]);
    const page = await failure(dialect, { status: 502, reads: ["x".repeat(301)] });
    assert.equal(page.fields.upstream, "x".repeat(300));
    const lost = await failure(dialect, { reads: ["<html>"], headers });
    assert.match(lost.code, dialect.isSdk ? /^model_(bad_response|stream_cut)$/ : /^model_bad_response$/);
    if (dialect.isSdk) return;
    const fake = fakeFetch({ status: 400, reads: Array(100).fill("x".repeat(8_192)), end: "hang" });
    assert.equal(codeOf((await run(dialect, { fetch: fake.fetch })).error), "model_refused");
    assert.equal(fake.cancelled, 1);
    assert.equal(
      (await failure(dialect, { status: 404, reads: ["half"], end: "error" })).code,
      "model_not_found",
    );
    const clock = new ManualClock();
    const { fetch } = fakeFetch({ status: 404, reads: ["half"], end: "hang" });
    const hanging = run(dialect, { fetch, clock });
    await clock.untilSleeping((ms) => ms < STALL_MS);
    await clock.advance(3_000);
    assert.equal(codeOf((await hanging).error), "model_not_found");
  });

  test("keeps the key out of every error", async () => {
    const refusal = JSON.stringify(dialect.refusal(`Incorrect key ${KEY}`));
    for (const status of [400, 401, 429, 500]) {
      const error = await failure(dialect, { status, reads: [refusal] });
      assert.ok(String(error.fields.upstream).includes("Incorrect key [key]"), error.code);
      const { cause: _, ...shown } = error;
      assert.ok(!Deno.inspect([error.message, shown]).includes(KEY), error.code);
    }
    await using double = dialect.start({ script: () => ({}), token: "other" });
    const { error } = await run(dialect, { baseURL: double.url });
    assert.match(codeOf(error) ?? "", name.includes("google") ? /^model_refused$/ : /^model_auth$/);
  });

  test("throws model_unreachable where there is no connection", async () => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr as Deno.NetAddr;
    listener.close();
    const origin = `http://127.0.0.1:${port}`;
    const { error } = await run(dialect, { baseURL: `${origin}/v1` });
    assert.ok(error instanceof SelvageError);
    assert.deepEqual([error.code, error.fields.retryable], ["model_unreachable", true]);
    // For the operator: where, and why; no more of the address.
    assert.equal(error.fields.origin, origin);
    assert.match(String(error.fields.reason), /connection refused/i);
    assert.doesNotMatch(String(error.fields.reason), /\/v1/);
    assert.ok(dialect.isSdk ? error.cause instanceof Error : error.cause instanceof TypeError);
    await using upstream = startRaw(() => {});
    assert.equal(codeOf((await run(dialect, { baseURL: upstream.url })).error), "model_unreachable");
    const denied = new Deno.errors.PermissionDenied("no net");
    const refused = await run(dialect, { maxRetries: 2, fetch: () => Promise.reject(denied) });
    assert.ok(refused.error instanceof SelvageError);
    const { cause, code, fields } = refused.error;
    assert.deepEqual([code, fields.retryable, cause], ["model_unreachable", false, denied]);
  });

  test("throws model_stalled where not even headers come", async () => {
    const clock = new ManualClock();
    await using upstream = startRaw(({ closed }) => closed);
    const outcome = run(dialect, { baseURL: upstream.url, clock });
    await clock.untilSleeping((ms) => ms === STALL_MS);
    while (upstream.count === 0) await clock.advance(0);
    await clock.advance(STALL_MS);
    assert.equal(codeOf((await outcome).error), "model_stalled");
    assert.deepEqual(clock.sleeping, []);
  });

  test("throws model_stalled after stallMs of silence, not of a slow reader, and lets go", async () => {
    const clock = new ManualClock();
    await using double = dialect.start({
      script: () => ({ text: "one two three" }),
      faults: () => ({ hangAfter: frames.words }),
    });
    const model = await dialect.model({ baseURL: double.url, clock, stallMs: 1_000 });
    const events = model.stream(request, new AbortController().signal)[Symbol.asyncIterator]();
    let said = "";
    while (said !== "one two") {
      const { value } = await events.next();
      if (value?.type === "text.delta") said += value.text;
      await clock.advance(5_000);
    }
    let isEnded = false;
    const stalled = assert.rejects(events.next(), (error) => {
      isEnded = true;
      return error instanceof SelvageError && error.code === "model_stalled" &&
        error.fields.retryable === true;
    });
    await clock.advance(999);
    assert.equal(isEnded, false);
    await clock.advance(1);
    await stalled;
    await double.untilLeft(1);
    assert.deepEqual(clock.sleeping, []);
  });

  test("reports a clock that fails", async () => {
    const clock = { now: () => 0, sleep: () => Promise.reject(new Error("no time")) };
    const { error } = await run(dialect, { clock, fetch: fakeFetch({ reads: [], end: "hang" }).fetch });
    assert.match(String(error), /no time/);
  });
});
