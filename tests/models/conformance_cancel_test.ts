/** Whatever a dialect is doing when its signal aborts or its reader leaves: it ends, and lets go of the provider. */
import assert from "node:assert/strict";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import { ManualClock } from "../support/clock.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { startRaw } from "../support/raw_upstream.ts";
import { codeOf, isEnd, request } from "./_answers.ts";
import { conform, finishOf, run, schemas, STALL_MS } from "./_conformance.ts";

conform((dialect, test) => {
  const { frames, name, wire } = dialect;

  test("ends when the signal aborts before there are headers", async () => {
    await using upstream = startRaw(({ closed }) => closed);
    const controller = new AbortController();
    const clock = new ManualClock();
    const outcome = run(dialect, { baseURL: upstream.url, clock }, { controller });
    while (upstream.count === 0) await clock.advance(0);
    controller.abort("enough");
    assert.equal((await outcome).error, "enough");
    assert.deepEqual(clock.sleeping, []);
  });

  test("waits no longer for a fetch that knows no signal, and leaves open no answer that comes too late", async () => {
    for (const isStall of [false, true]) {
      const clock = new ManualClock();
      const controller = new AbortController();
      const asked = Promise.withResolvers<void>();
      const late = Promise.withResolvers<Response>();
      const fetch = (): Promise<Response> => {
        asked.resolve();
        return late.promise;
      };
      const outcome = run(dialect, { fetch, clock }, { controller });
      await asked.promise;
      if (isStall) await clock.advance(STALL_MS);
      else controller.abort("enough");
      const { error } = await outcome;
      if (isStall) assert.equal(codeOf(error), "model_stalled");
      else assert.equal(error, "enough");
      assert.deepEqual(clock.sleeping, []);
      const cancelled = Promise.withResolvers<void>();
      const body = new ReadableStream({ cancel: () => cancelled.resolve() });
      late.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
      await cancelled.promise;
    }
  });

  const PHASES = [
    ["before the first delta", frames.silent, { text: "one two three" }, 0],
    ["in the text", frames.words, { text: "one two three" }, 1],
    ["in the arguments", frames.call, {
      calls: [{ name: "tool_0", input: { text: "x".repeat(99) } }, { name: "tool_1", input: {} }],
    }, 1],
  ] as const;
  for (const [phase, hangAfter, reply, deltas] of PHASES) {
    test(`ends and closes the upstream when the signal aborts ${phase}`, async () => {
      await using double = dialect.start({
        script: () => reply as ScriptedReply,
        faults: () => ({ hangAfter }),
      });
      const controller = new AbortController();
      const model = await dialect.model({ baseURL: double.url });
      const events = model.stream({ ...request, tools: schemas }, controller.signal)[Symbol.asyncIterator]();
      for (let n = 0; n < deltas; n++) assert.notEqual((await events.next()).value?.type, "finish");
      const rest = (async () => {
        while ((await events.next()).done !== true);
      })();
      const ended = assert.rejects(rest, (reason) => reason === "enough");
      while (double.open === 0) await new Promise((resolve) => setTimeout(resolve, 0));
      controller.abort("enough");
      await ended;
      await double.untilLeft(1);
      assert.equal(double.open, 0);
    });
  }

  test("leaves nothing open when the signal aborts after the end", async () => {
    await using double = dialect.start({ script: () => ({ text: "one two" }) });
    const controller = new AbortController();
    finishOf(await run(dialect, { baseURL: double.url }, { controller }));
    controller.abort("enough");
    assert.equal(double.open, 0);
  });

  test("closes the upstream when the consumer leaves, and when the signal aborts between two reads", async () => {
    await using double = dialect.start({
      script: () => ({ text: "one two" }),
      faults: () => ({ hangAfter: frames.words }),
    });
    const model = await dialect.model({ baseURL: double.url });
    for await (const event of model.stream(request, new AbortController().signal)) {
      assert.equal(event.type, "text.delta");
      break;
    }
    await double.untilLeft(1);
    const controller = new AbortController();
    const events = model.stream(request, controller.signal)[Symbol.asyncIterator]();
    await events.next();
    controller.abort("enough");
    await double.untilLeft(2);
    const rest = (async () => {
      while ((await events.next()).done !== true);
    })();
    await assert.rejects(rest, (reason) => reason === "enough");
  });

  test("sends nothing under a signal that has aborted, and finishes nothing", async () => {
    const fake = fakeFetch({ reads: [wire.text("x") + wire.end] });
    const controller = new AbortController();
    controller.abort("enough");
    assert.equal((await run(dialect, { fetch: fake.fetch }, { controller })).error, "enough");
    assert.equal(fake.requests.length, 0);
    const model = await dialect.model({ fetch: fake.fetch });
    const later = new AbortController();
    const seen: string[] = [];
    const consume = async (): Promise<void> => {
      for await (const event of model.stream(request, later.signal)) {
        if (isEnd(event)) continue;
        const { type } = event;
        seen.push(type);
        later.abort("enough");
      }
    };
    await assert.rejects(consume(), (reason) => reason === "enough");
    assert.deepEqual(seen, ["text.delta"]);
  });

  test("leaves no upstream open of 500 clients that leave at once, in every phase, after garbage collections", async () => {
    const script = new URL("../support/clients_abort_script.ts", import.meta.url).pathname;
    const flags = [
      "--no-lock",
      "--v8-flags=--expose-gc",
      "--allow-net=127.0.0.1",
      "--allow-env",
      "--allow-read",
    ];
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", ...flags, script, name],
      // The time of a hang, not of the test: a lost abort would wait for the stall timer.
      signal: AbortSignal.timeout(50_000),
    }).output();
    const said = new TextDecoder().decode(stdout);
    assert.equal(said, "500 of 500 closed, 0 open\n", new TextDecoder().decode(stderr));
    assert.equal(code, 0);
  });
});
