/**
 * What holds for a model of every dialect, native or by a package of the AI SDK. Longer than most files: one suite, so
 * that no dialect can be left out of a part of it.
 */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import type { Message, ToolCallPart } from "../../src/core/message.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { clerk } from "../../src/models/clerk.ts";
import { fallback } from "../../src/models/fallback.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import type { ModelEvent, ModelRequest, ToolSchema } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import type { StreamFault } from "../support/double_server.ts";
import { type FakeAnswer, fakeFetch } from "../support/fake_fetch.ts";
import { rawHead, startRaw } from "../support/raw_upstream.ts";
import { endOf, eventsOf, tool } from "../support/turns.ts";
import {
  codeOf,
  failureOf,
  type Finish,
  finishOf as lastOf,
  isEnd,
  type Outcome,
  outcomeOf,
  request,
  textOf,
} from "./_answers.ts";
import { assertAudited, audit, SMALL } from "./_audit.ts";
import { type Dialect, DIALECTS, type ModelSettings } from "./_dialects.ts";
import { type Part, PNG } from "./_messages.ts";

const KEY = "sk-very-secret";
const STALL_MS = 60_000;
const schemas: readonly ToolSchema[] = Array.from({ length: 16 }, (_, index) => ({
  name: `tool_${index}`,
  description: `Does ${index}`,
  inputSchema: { type: "object", properties: {} },
}));

async function run(
  dialect: Dialect,
  settings: ModelSettings,
  options: Parameters<typeof outcomeOf>[1] = {},
): Promise<Outcome> {
  return outcomeOf(await dialect.model({ apiKey: KEY, ...settings }), options);
}

async function failure(dialect: Dialect, answer: FakeAnswer): Promise<SelvageError> {
  return failureOf(await run(dialect, { fetch: fakeFetch(answer).fetch }));
}

/** The end of an answer that nothing was wrong with. */
function finishOf({ error, events }: Outcome): Finish {
  assert.equal(error, undefined);
  return lastOf(events);
}

/** The parts of an answer without what only the provider reads. */
function partsOf({ message: { content } }: Finish): readonly Part[] {
  assert.ok(typeof content !== "string");
  return content.map(({ providerOptions: _, ...part }) => part);
}

function callsOf({ message: { content } }: Finish): readonly ToolCallPart[] {
  return typeof content === "string" ? [] : content.filter((part) => part.type === "tool-call");
}

function resultsOf(calls: readonly ToolCallPart[], value = "done"): Message {
  return {
    role: "tool",
    content: calls.map(({ toolCallId, toolName }) => ({
      type: "tool-result",
      toolCallId,
      toolName,
      output: { type: "text", value },
    })),
  };
}

/** Tells of the characters that are encoded, until what it gives is called. */
function countEncoded(count: (length: number) => void): () => void {
  const { encode } = TextEncoder.prototype;
  TextEncoder.prototype.encode = function (value) {
    count(value?.length ?? 0);
    return encode.call(this, value);
  };
  return () => void (TextEncoder.prototype.encode = encode);
}

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

for (const dialect of DIALECTS) {
  const { frames, name, wire } = dialect;
  const test = (does: string, check: () => Promise<void>): void => Deno.test(`${name} ${does}`, check);

  test("streams text, and what it cost", async () => {
    await using double = dialect.start({ script: () => ({ text: "It is fine — 好的." }) });
    const outcome = await run(dialect, { baseURL: double.url });
    const finish = finishOf(outcome);
    assert.equal(finish.reason, "stop");
    assert.equal(textOf(outcome.events), "It is fine — 好的.");
    assert.deepEqual(partsOf(finish), [{ type: "text", text: "It is fine — 好的." }]);
    assert.ok((finish.usage?.inputTokens ?? 0) > 0 && (finish.usage?.outputTokens ?? 0) > 0);
    assert.deepEqual(double.violations, []);
  });

  test("streams reasoning, and sends it back so that the service takes it", async () => {
    await using double = dialect.start({
      script: ({ messages }) =>
        messages.length > 2
          ? { text: "done" }
          : { reasoning: "think about it", text: "So.", calls: [{ name: "tool_0", input: { q: 1 } }] },
    });
    const settings = { baseURL: double.url, thinks: true };
    const outcome = await run(dialect, settings, { asked: { ...request, tools: schemas } });
    const finish = finishOf(outcome);
    assert.equal(textOf(outcome.events, "reasoning.delta"), "think about it");
    assert.deepEqual(partsOf(finish).slice(0, 2), [
      { type: "reasoning", text: "think about it" },
      { type: "text", text: "So." },
    ]);
    const messages = [...request.messages, finish.message, resultsOf(callsOf(finish))];
    const next = await run(dialect, settings, { asked: { ...request, tools: schemas, messages } });
    assert.equal(finishOf(next).reason, "stop");
    assert.deepEqual(double.violations, []);
  });

  for (const count of [1, 16]) {
    test(`puts ${count} parallel calls together, and takes results in any order`, async () => {
      const calls = schemas.slice(0, count).map(({ name }, index) => ({
        name,
        input: index === 3
          ? {}
          : { path: `/tmp/${index}`, text: "é😀\n".repeat(index), deep: { list: [index, null] } },
      }));
      await using double = dialect.start({
        script: ({ messages }) => messages.length > 2 ? { text: "done" } : { text: "I look.", calls },
      });
      const settings = { baseURL: double.url };
      const outcome = await run(dialect, settings, { asked: { ...request, tools: schemas } });
      const finish = finishOf(outcome);
      assert.equal(finish.reason, "tool-calls");
      const made = callsOf(finish);
      assert.deepEqual(made.map(({ input, toolName: name }) => ({ name, input })), calls);
      assert.equal(new Set(made.map(({ toolCallId }) => toolCallId)).size, count);
      for (const [index, { input, name }] of calls.entries()) {
        const deltas = outcome.events.filter((event) =>
          event.type === "tool.input.delta" && event.call === index && event.name === name
        );
        const streamed = deltas.map((event) => event.type === "tool.input.delta" ? event.delta : "").join("");
        assert.deepEqual(JSON.parse(streamed || "{}"), input);
      }
      for (const answered of [made, made.toReversed()]) {
        const messages: Message[] = [
          ...request.messages,
          finish.message,
          resultsOf(answered),
          { role: "user", content: "And now?" },
        ];
        finishOf(await run(dialect, settings, { asked: { ...request, tools: schemas, messages } }));
      }
      assert.deepEqual(double.violations, []);
    });
  }

  test("sends images and files that the service takes, and tells of those in results", async () => {
    await using double = dialect.start({
      script: ({ messages }) =>
        messages.length > 2 ? { text: "done" } : { calls: [{ name: "tool_0", input: {} }] },
    });
    const settings = { baseURL: double.url };
    const asked: ModelRequest = {
      ...request,
      tools: schemas,
      messages: [{
        role: "user",
        content: [
          { type: "text", text: "See." },
          // Of another type than it says.
          { type: "file", mediaType: "image/jpeg", data: PNG },
          { type: "file", mediaType: "image/png", data: "https://example.com/a.png" },
          { type: "file", mediaType: "application/pdf", data: "JVBERi0xLjQ=", filename: "a.pdf" },
          { type: "file", mediaType: "text/plain", data: btoa("a text"), filename: "a.txt" },
        ],
      }],
    };
    const finish = finishOf(await run(dialect, settings, { asked }));
    assert.ok(JSON.stringify(double.requests[0]).includes(PNG));
    const [call] = callsOf(finish);
    assert.ok(call !== undefined);
    const content = [
      { type: "text", text: "Here." },
      { type: "file", mediaType: "image/png", data: PNG },
    ] as const;
    const { toolCallId, toolName } = call;
    const result = {
      type: "tool-result",
      toolCallId,
      toolName,
      output: { type: "content", value: content },
    } as const;
    const messages: Message[] = [...asked.messages, finish.message, { role: "tool", content: [result] }];
    finishOf(await run(dialect, settings, { asked: { ...asked, messages } }));
    assert.deepEqual(double.violations, []);
  });

  test("renders every kind of message so that the service takes it", async () => {
    await using double = dialect.start({ script: () => ({ text: "done" }) });
    const outputs = [
      { type: "text", value: "" },
      { type: "json", value: { a: [1] } },
      { type: "json", value: undefined },
      { type: "error-text", value: "no such file" },
      { type: "error-json", value: { code: 1 } },
      { type: "execution-denied", reason: "not today" },
      { type: "content", value: [] },
      {
        type: "content",
        value: [{ type: "text", text: "a" }, { type: "file", mediaType: "text/csv", data: "YQ==" }],
      },
    ] as const;
    const ids = outputs.map((_, index) => ({ toolCallId: `e1_${index}`, toolName: "tool_0" }));
    const messages: Message[] = [
      { role: "assistant", content: "" },
      { role: "user", content: [] },
      { role: "system", content: "Later." },
      { role: "assistant", content: [{ type: "reasoning", text: "unsigned" }] },
      { role: "user", content: " " },
      { role: "user", content: "Go on." },
      { role: "assistant", content: ids.map((id) => ({ type: "tool-call", ...id, input: {} })) },
      {
        role: "tool",
        content: outputs.map((output, index) => ({ type: "tool-result", ...ids[index] ?? ids[0]!, output })),
      },
      {
        role: "assistant",
        content: [
          {
            type: "tool-call",
            toolCallId: "srv_1",
            toolName: "web_search",
            input: { q: 1 },
            providerExecuted: true,
          },
          {
            type: "tool-result",
            toolCallId: "srv_1",
            toolName: "web_search",
            output: { type: "json", value: 1 },
          },
          { type: "text", text: "It says so." },
          { type: "file", mediaType: "image/png", data: PNG },
        ],
      },
      { role: "user", content: "And?" },
    ];
    finishOf(
      await run(dialect, { baseURL: double.url }, { asked: { ...request, system: "You help.", messages } }),
    );
    assert.deepEqual(double.violations, []);
    const sent = JSON.stringify(double.requests);
    for (const text of ["You help.", "Later.", "Go on.", "no such file", "web_search"]) {
      assert.ok(sent.includes(text), text);
    }
  });

  // Cancel, in each phase.

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

  test("leaves no upstream open of 500 clients that leave at once, after garbage collections", async () => {
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

  // Faults.

  const STATUSES = [
    [307, "model_bad_response", false],
    [401, "model_auth", false],
    [403, "model_auth", false],
    [404, "model_not_found", false],
    [400, "model_refused", false],
    [402, "model_refused", false],
    [413, "model_refused", false],
    [422, "model_refused", false],
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
        new RegExp(`^Cannot get an answer from .*: found HTTP status ${status}, wanted 200$`),
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
    const { error } = await run(dialect, { baseURL: `http://127.0.0.1:${port}` });
    assert.ok(error instanceof SelvageError);
    assert.deepEqual([error.code, error.fields.retryable], ["model_unreachable", true]);
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
    const seen: string[] = [];
    await using elsewhere = startRaw(async ({ head, write }) => {
      seen.push(head);
      await write(rawHead());
    });
    await using upstream = startRaw(async ({ write }) => {
      await write(rawHead("307 Temporary Redirect", "text/plain", `location: ${elsewhere.url}\r\n`));
    });
    const { error } = await run(dialect, { baseURL: upstream.url, maxRetries: 2 });
    assert.ok(error instanceof SelvageError);
    assert.equal(upstream.count, 1);
    assert.ok(seen.every((head) => !head.includes(KEY)), "the key went elsewhere");
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

  test("answers without a bill, and passes over events that are yet to come", async () => {
    const finish = finishOf(
      await run(dialect, { fetch: fakeFetch({ reads: [wire.text("x") + wire.end] }).fetch }),
    );
    assert.deepEqual(partsOf(finish), [{ type: "text", text: "x" }]);
    const { error, events } = await run(dialect, {
      fetch: fakeFetch({ reads: [wire.text("x") + wire.unknown + wire.end] }).fetch,
    });
    // The packages check every event against a schema; one of them refuses what it does not know.
    if (error === undefined) assert.equal(finishOf({ error, events }).reason, "stop");
    else {
      assert.ok(dialect.isSdk);
      assert.equal(codeOf(error), "model_bad_response");
    }
  });

  test("tells calls apart that are numbered carelessly, or refuses the answer", async () => {
    const outcome = await run(dialect, { fetch: fakeFetch({ reads: [wire.oddIndexes] }).fetch });
    if (dialect.isSdk && outcome.error !== undefined) {
      assert.match(codeOf(outcome.error) ?? "", /^model_(bad_response|stream_cut)$/);
      return;
    }
    const calls = callsOf(finishOf(outcome));
    assert.deepEqual(calls.map(({ input }) => input), [{ n: 1 }, { n: 2 }]);
    assert.equal(new Set(calls.map(({ toolCallId }) => toolCallId)).size, 2);
  });

  test("never has arguments executed that the output limit has cut off", async () => {
    const executed: unknown[] = [];
    const fake = fakeFetch({ reads: [wire.cutArguments] }, { reads: [wire.text("I see.") + wire.end] });
    const model = await dialect.model({ fetch: fake.fetch });
    const agent = { model, tools: [tool("get", (input) => executed.push(input))] };
    const events = await Array.fromAsync(
      runTurn({ agent, session: "s", input: "Go." }, { store: memoryStore() }),
    );
    assert.deepEqual(executed, []);
    assert.equal(endOf(events), "stop");
    const results = eventsOf(events, "tool.result");
    assert.deepEqual(results.map(({ status }) => status), ["error"]);
    assert.match(JSON.stringify(results), /cut off at the output limit/);
    assert.match(fake.requests[1]?.body ?? "", /cut off at the output limit/);
  });

  if (!dialect.isSdk) {
    test("holds no line without end", async () => {
      const reads = ["data: ", ...Array(17).fill("x".repeat(1_048_576))];
      assert.equal((await failure(dialect, { reads, end: "hang" })).code, "model_bad_response");
    });
  }

  if (!dialect.isSdk) {
    test("encodes no more than what is new, and the same bytes as from the start", async () => {
      const bodies: string[] = [];
      const fetch: typeof globalThis.fetch = (_, init) => {
        bodies.push(new TextDecoder().decode(init?.body as Uint8Array));
        return Promise.reject(new TypeError("no network"));
      };
      const model = await dialect.model({ fetch });
      const said: Message[] = [{ role: "user", content: "hi" }];
      const costs: number[] = [];
      const restore = countEncoded((length) => costs[costs.length - 1]! += length);
      try {
        for (let step = 100; step < 200; step++) {
          const call = { toolCallId: `e${step}_0`, toolName: "get" };
          const result: Message = resultsOf([{ type: "tool-call", ...call, input: {} }], `result ${step}`);
          said.push(
            { role: "assistant", content: [{ type: "tool-call", ...call, input: { step } }] },
            result,
          );
          costs.push(0);
          const { error } = await outcomeOf(model, { asked: { ...request, messages: said } });
          assert.equal(codeOf(error), "model_unreachable");
        }
      } finally {
        restore();
      }
      assert.ok((costs[2] ?? 0) > 0);
      assert.equal(costs[98], costs[2]);
      // A compaction: another beginning, and a result that is shown shorter from now on.
      const [first, ...rest] = said.slice(100);
      assert.ok(first !== undefined);
      const compacted: Message[] = [{ role: "user", content: "what was before" }, first, ...rest];
      const shortened = [...compacted];
      shortened[40] = structuredClone(shortened[40]!);
      for (const messages of [compacted, shortened, shortened.slice(0, 60), shortened]) {
        await outcomeOf(model, { asked: { ...request, messages } });
        const anew = await dialect.model({ fetch });
        await outcomeOf(anew, { asked: { ...request, messages: structuredClone(messages) } });
        assert.equal(bodies.at(-1), bodies.at(-2));
      }
    });
  }

  test("takes a turn of more than 50 steps through its compactions", async () => {
    const { window } = SMALL;
    await using double = dialect.start({ window, script: (asked) => clerk(asked) });
    const done = await audit(await dialect.model({ baseURL: double.url, ...SMALL }));
    assertAudited(done, double);
  });
}
