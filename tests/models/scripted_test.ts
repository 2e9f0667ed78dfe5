import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { scripted, type ScriptedReply, scriptedTokens } from "../../src/models/scripted.ts";
import type { Model, ModelEvent, ModelRequest } from "../../src/ports.ts";

const request: ModelRequest = {
  system: "be brief",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
  maxOutput: 100,
};

async function collect(
  model: Model,
  asked = request,
  signal = new AbortController().signal,
): Promise<ModelEvent[]> {
  return await Array.fromAsync(model.stream(asked, signal));
}

async function answer(reply: ScriptedReply): Promise<ModelEvent[]> {
  return await collect(scripted({ script: () => reply }));
}

function finishOf(events: readonly ModelEvent[]): Extract<ModelEvent, { type: "finish" }> {
  const last = events.at(-1);
  assert.ok(last?.type === "finish", `found ${JSON.stringify(last)} at the end, wanted finish`);
  return last;
}

Deno.test("scriptedTokens() counts four UTF-8 bytes as one", () => {
  assert.equal(scriptedTokens(""), 0);
  assert.equal(scriptedTokens("abcde"), 2);
  assert.equal(scriptedTokens("好好好"), 3);
  assert.equal(scriptedTokens({ a: 1 }), 2);
  assert.equal(scriptedTokens(undefined), 0);
});

Deno.test("scripted() gives its script the request as it is", async () => {
  const seen: ModelRequest[] = [];
  const script = (asked: ModelRequest): ScriptedReply => {
    seen.push(asked);
    return {};
  };
  await collect(scripted({ script }));
  assert.equal(seen.length, 1);
  assert.equal(seen[0], request);
});

Deno.test("scripted() streams reasoning and text in words that join to the whole", async () => {
  const text = "Two words,\n\nand an end. ";
  const events = await answer({ reasoning: "think a bit", text });
  const parts = (type: ModelEvent["type"]) =>
    events.flatMap((e) => "text" in e && e.type === type ? [e.text] : []);
  assert.deepEqual(parts("reasoning.delta"), ["think", " a", " bit"]);
  assert.deepEqual(parts("text.delta"), ["Two", " words,", "\n\nand", " an", " end.", " "]);
  const { message, reason } = finishOf(events);
  assert.equal(reason, "stop");
  assert.ok(Array.isArray(message.content));
  assert.deepEqual(message.content.filter((part) => part.type === "text"), [{ type: "text", text }]);
});

Deno.test("scripted() makes the calls of its script, each with an id of its own", async () => {
  const calls = [{ name: "get", input: { q: 1 } }, { name: "get", input: { q: 1 } }];
  const model = scripted({ script: () => ({ calls }) });
  const ids = new Set<string>();
  for (let round = 0; round < 2; round++) {
    const events = await collect(model);
    assert.deepEqual(
      events.slice(0, -1).map((event) =>
        event.type === "tool.input.delta" && [event.call, event.name, event.delta]
      ),
      [[0, "get", '{"q":1}'], [1, "get", '{"q":1}']],
    );
    const { message, reason } = finishOf(events);
    assert.equal(reason, "tool-calls");
    assert.ok(Array.isArray(message.content));
    for (const part of message.content) {
      assert.ok(part.type === "tool-call");
      assert.deepEqual(part.input, { q: 1 });
      ids.add(part.toolCallId);
    }
  }
  assert.equal(ids.size, 4);
});

Deno.test("scripted() bills the request and the answer", async () => {
  const { usage } = finishOf(await answer({ text: "a long enough answer" }));
  assert.equal(usage?.inputTokens, scriptedTokens([request.system, request.tools, request.messages]));
  assert.ok((usage?.outputTokens ?? 0) >= 5);
});

Deno.test("scripted() answers nothing with an empty message", async () => {
  const events = await answer({ text: "" });
  assert.equal(events.length, 1);
  assert.deepEqual(finishOf(events).message, { role: "assistant", content: [] });
});

Deno.test("scripted() refuses what its window cannot hold", async () => {
  const size = scriptedTokens([request.system, request.tools, request.messages]);
  const script = (): ScriptedReply => ({ text: "fine" });
  const window = size + request.maxOutput;
  finishOf(await collect(scripted({ script, window })));
  await assert.rejects(collect(scripted({ script, window: window - 1 })), (error) => {
    return error instanceof SelvageError && error.code === "context_length_exceeded" &&
      error.fields.window === window - 1;
  });
});

Deno.test("scripted() ends with the signal's reason, without a finish", async () => {
  const controller = new AbortController();
  const seen: string[] = [];
  const model = scripted({ script: () => ({ text: "one two three" }) });
  const consume = async (): Promise<void> => {
    for await (const event of model.stream(request, controller.signal)) {
      seen.push(event.type);
      if (seen.length === 2) controller.abort("enough");
    }
  };
  await assert.rejects(consume(), (reason) => reason === "enough");
  assert.deepEqual(seen, ["text.delta", "text.delta"]);
});

Deno.test("scripted() shows its limits", () => {
  const script = (): ScriptedReply => ({});
  const { stream: _, ...defaults } = scripted({ script });
  assert.deepEqual(defaults, { id: "scripted", window: 128_000, maxOutput: 4_096, dialect: "scripted" });
  const { id, window, maxOutput } = scripted({ script, id: "s", window: 9, maxOutput: 3 });
  assert.deepEqual([id, window, maxOutput], ["s", 9, 3]);
});
