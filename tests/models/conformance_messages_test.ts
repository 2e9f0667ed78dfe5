/** What every dialect makes of messages: what it sends of them, and what it reads in an answer. */
import assert from "node:assert/strict";
import type { Message } from "../../src/core/message.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { codeOf, outcomeOf, request, textOf } from "./_answers.ts";
import { callsOf, conform, finishOf, partsOf, resultsOf, run, schemas } from "./_conformance.ts";
import { PNG } from "./_messages.ts";

/** Tells of the characters that are encoded, until what it gives is called. */
function countEncoded(count: (length: number) => void): () => void {
  const { encode } = TextEncoder.prototype;
  TextEncoder.prototype.encode = function (value) {
    count(value?.length ?? 0);
    return encode.call(this, value);
  };
  return () => void (TextEncoder.prototype.encode = encode);
}

conform((dialect, test) => {
  const { wire } = dialect;

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
      assert.deepEqual(partsOf(finish)[0], { type: "text", text: "I look." });
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
      {
        role: "assistant",
        content: [
          { type: "text", text: "I search again." },
          // Cut off before its result.
          {
            type: "tool-call",
            toolCallId: "srv_2",
            toolName: "web_search",
            input: { q: 2 },
            providerExecuted: true,
          },
        ],
      },
      { role: "user", content: "Well?" },
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
});
