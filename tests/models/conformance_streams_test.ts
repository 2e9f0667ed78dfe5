/** What every dialect makes of streams that are cut, broken, odd or without an end. */
import assert from "node:assert/strict";
import { ManualClock } from "../support/clock.ts";
import type { StreamFault } from "../support/double_server.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { codeOf, type Outcome, outcomeOf, request, textOf } from "./_answers.ts";
import { conform, failure, finishOf, partsOf, run, schemas, STALL_MS } from "./_conformance.ts";

conform((dialect, test) => {
  const { frames, name, wire } = dialect;

  test("takes no half stream for an answer, whatever calls are in it", async () => {
    const calls = [{ name: "tool_0", input: { text: "x".repeat(99) } }, { name: "tool_1", input: {} }];
    await using double = dialect.start({
      script: () => ({ calls }),
      faults: () => ({ cutAfter: frames.call }),
    });
    const asked = { ...request, tools: schemas };
    const { error, events } = await run(dialect, { baseURL: double.url }, { asked });
    assert.equal(codeOf(error), "model_stream_cut");
    assert.ok(events.every(({ type }) => type !== "finish"));
    for (
      const reads of [[], [": ping\n\n"], [wire.text("x")], [wire.wholeCall], [
        wire.text("x"),
        wire.end.slice(0, 30),
      ]]
    ) {
      const { code, fields } = await failure(dialect, { reads });
      assert.deepEqual([code, fields.retryable], ["model_stream_cut", true]);
    }
  });

  test("meets what its double does with a stream", async () => {
    const asks = async (fault: StreamFault): Promise<Outcome> => {
      await using double = dialect.start({ script: () => ({ text: "one two three" }), faults: () => fault });
      return await run(dialect, { baseURL: double.url });
    };
    const cut = await asks({ cutAfter: frames.words });
    assert.deepEqual([codeOf(cut.error), textOf(cut.events)], ["model_stream_cut", "one two"]);
    const garbage = await asks({ garbageAfter: frames.words });
    assert.deepEqual([codeOf(garbage.error), textOf(garbage.events)], ["model_bad_response", "one two"]);
    const broken = await asks({ errorFrameAfter: frames.words });
    assert.deepEqual([codeOf(broken.error), textOf(broken.events)], ["model_stream_error", "one two"]);
    const early = await asks({ errorFrameAfter: frames.silent });
    assert.equal(codeOf(early.error), "model_unavailable");
    const unended = await asks({ noDone: true });
    if (dialect.hasEndMark || name.includes("google")) {
      assert.equal(codeOf(unended.error), "model_stream_cut");
    } else assert.equal(finishOf(unended).reason, "stop");
  });

  test("throws for frames that are no JSON, and for errors in the stream", async () => {
    const garbage = await failure(dialect, { reads: [`${wire.text("x")}data: {oops\n\n${wire.end}`] });
    assert.deepEqual([garbage.code, garbage.fields.retryable], ["model_bad_response", false]);
    for (const wrong of [wire.error, wire.failure]) {
      const late = await failure(dialect, { reads: [wire.text("x") + wrong + wire.end] });
      assert.deepEqual([late.code, late.fields.retryable], ["model_stream_error", true]);
      const early = await failure(dialect, { reads: [wrong + wire.end] });
      assert.deepEqual([early.code, early.fields.retryable], ["model_unavailable", true]);
    }
  });

  if (!dialect.isSdk) {
    test("keeps a byte order mark where it is text, wherever a read begins, and none in front of the stream", async () => {
      for (const mark of ["", "\ufeff"]) {
        const bytes = new TextEncoder().encode(`${mark}${wire.text("a\ufeffb")}${wire.end}`);
        for (let at = 1; at < bytes.length; at++) {
          const reads = [bytes.subarray(0, at), bytes.subarray(at)];
          const outcome = await run(dialect, { fetch: fakeFetch({ reads }).fetch });
          assert.deepEqual(
            partsOf(finishOf(outcome)),
            [{ type: "text", text: "a\ufeffb" }],
            `cut at byte ${at}`,
          );
        }
        const said = JSON.stringify({ error: { message: "No, a\ufeffb.", type: "invalid_request_error" } });
        const reads = (mark + said).split(/(?<=^\ufeff)|(?=\ufeffb)/);
        const { fields } = await failure(dialect, { status: 400, reads });
        assert.equal(fields.upstream, "No, a\ufeffb.");
      }
    });
  }

  test("takes a whole answer, though its stream does not end, after a moment", async () => {
    const whole = [wire.text("x") + wire.end, ...(wire.unmarked === undefined ? [] : [wire.unmarked])];
    for (const wire of whole) {
      const clock = new ManualClock();
      const fake = fakeFetch({ reads: [wire], end: "hang" });
      const outcome = run(dialect, { fetch: fake.fetch, clock });
      // Packages without an end mark tell of the end of an answer at that of the stream.
      const isTold = !dialect.isSdk || dialect.hasEndMark;
      await clock.untilSleeping((ms) => isTold ? ms < STALL_MS : ms === STALL_MS);
      await clock.advance(isTold ? 3_000 : STALL_MS);
      const { error, events } = await outcome;
      if (isTold) assert.equal(finishOf({ error, events }).reason, "stop");
      else assert.equal(codeOf(error), "model_stalled");
      assert.equal(textOf(events), "x");
      assert.equal(fake.cancelled, 1);
      assert.deepEqual(clock.sleeping, []);
    }
  });

  test("sends request after request over one connection", async () => {
    const ports = new Set<number>();
    const encoder = new TextEncoder();
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (request, { remoteAddr }) => {
        await request.arrayBuffer();
        ports.add((remoteAddr as Deno.NetAddr).port);
        const rest = [wire.text("x"), wire.end];
        const body = new ReadableStream<Uint8Array>({
          async pull(controller) {
            // Apart, so that the end of the body comes behind that of the answer.
            await new Promise((resolve) => setTimeout(resolve, 0));
            const next = rest.shift();
            if (next === undefined) controller.close();
            else controller.enqueue(encoder.encode(next));
          },
        }, { highWaterMark: 0 });
        return new Response(body, { headers: { "content-type": "text/event-stream" } });
      },
    );
    const clock = new ManualClock();
    const model = await dialect.model({ baseURL: `http://127.0.0.1:${server.addr.port}`, clock });
    for (let n = 0; n < 5; n++) assert.equal(finishOf(await outcomeOf(model)).reason, "stop");
    assert.equal(ports.size, 1);
  });

  test("ends an answer that goes on without end", async () => {
    const reads = Array(17).fill(wire.text("x".repeat(1_048_576)));
    const error = await failure(dialect, { reads, end: "hang" });
    assert.deepEqual([error.code, error.fields.retryable], ["model_bad_response", false]);
    assert.match(error.message, /found an answer of more than 16777216 characters, wanted a/);
  });

  if (!dialect.isSdk) {
    test("reads no stream without end that has no part of an answer in it", async () => {
      const reads = Array(65).fill(`:${"x".repeat(1_048_576)}\n\n`);
      assert.equal((await failure(dialect, { reads, end: "hang" })).code, "model_bad_response");
    });

    test("holds no line without end", async () => {
      const reads = ["data: ", ...Array(17).fill("x".repeat(1_048_576))];
      assert.equal((await failure(dialect, { reads, end: "hang" })).code, "model_bad_response");
    });
  }
});
