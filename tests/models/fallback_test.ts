import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { fallback } from "../../src/models/fallback.ts";
import type { Model, ModelEvent, ModelRequest } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";

const REQUEST: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: "Hi" }],
  tools: [],
  maxOutput: 100,
};
const text = (said: string): ModelEvent => ({ type: "text.delta", text: said });
const end: ModelEvent = { type: "finish", reason: "stop", message: { role: "assistant", content: "x" } };

/** A model that sends events, then throws, and notes that it was asked and let go. */
function model(id: string, events: readonly ModelEvent[], error?: unknown) {
  const seen = { asked: 0, left: 0 };
  const made: Model = {
    id,
    window: id === "small" ? 8_000 : 128_000,
    maxOutput: id === "small" ? 1_000 : 4_000,
    dialect: "scripted",
    async *stream() {
      seen.asked++;
      try {
        yield* events;
        if (error !== undefined) throw error;
      } finally {
        seen.left++;
      }
    },
  };
  return { made, seen };
}

const run = (models: readonly Model[], signal = new AbortController().signal): Promise<ModelEvent[]> =>
  Array.fromAsync(fallback(models).stream(REQUEST, signal));

for (
  const code of [
    "model_auth",
    "model_rate_limited",
    "model_unavailable",
    "model_unreachable",
    "model_bad_response",
  ]
) {
  Deno.test(`fallback() asks the next model where one fails with ${code}`, async () => {
    const [a, b, c] = [
      model("a", [], new SelvageError(code, "no")),
      model("b", [text("B"), end]),
      model("c", []),
    ];
    deepEqual(await run([a.made, b.made, c.made]), [text("B"), { model: "b", ...end }]);
    deepEqual([a.seen, b.seen, c.seen], [{ asked: 1, left: 1 }, { asked: 1, left: 1 }, {
      asked: 0,
      left: 0,
    }]);
  });
}

Deno.test("fallback() does not move on once something has come, nor for a request that is too long, nor when all fail", async () => {
  const failure = new SelvageError("model_stream_cut", "cut");
  const b = model("b", [text("B"), end]);
  await rejects(run([model("a", [text("A")], failure).made, b.made]), { code: "model_stream_cut" });
  const long = new SelvageError("context_length_exceeded", "long");
  await rejects(run([model("a", [], long).made, b.made]), { code: "context_length_exceeded" });
  await rejects(
    run([model("a", [], failure).made, model("b", [], new SelvageError("model_auth", "no")).made]),
    {
      code: "model_auth",
    },
  );
  await rejects(run([model("a", [], new Error("bug")).made, b.made]), { message: "bug" });
  equal(b.seen.asked, 0);
});

Deno.test("fallback() does not ask another model for a turn that was cancelled", async () => {
  const stop = new AbortController();
  const b = model("b", [end]);
  const a: Model = {
    ...b.made,
    // deno-lint-ignore require-yield -- it fails before anything comes
    async *stream() {
      stop.abort(new Error("enough"));
      throw await Promise.resolve(new SelvageError("model_unreachable", "gone"));
    },
  };
  await rejects(run([a, b.made], stop.signal), { code: "model_unreachable" });
  equal(b.seen.asked, 0);
});

Deno.test("fallback() lets go of the model whose reader leaves", async () => {
  const { made, seen } = model("a", [text("1"), text("2"), end]);
  for await (const _ of fallback([made]).stream(REQUEST, new AbortController().signal)) break;
  equal(seen.left, 1);
});

Deno.test("fallback() has the smallest limits of all, and refuses an empty list", () => {
  const both = fallback([model("large", []).made, model("small", []).made]);
  deepEqual([both.id, both.window, both.maxOutput], ["large", 8_000, 1_000]);
  throws(() => fallback([]), TypeError);
});

Deno.test("fallback() has the log say which model has answered, of models within models too", async () => {
  const store = memoryStore();
  const down = model("a", [], new SelvageError("model_unavailable", "no"));
  const inner = fallback([down.made, model("b", [end]).made]);
  const agent = { model: fallback([model("first", [], new SelvageError("model_auth", "no")).made, inner]) };
  const events = await Array.fromAsync(runTurn({ agent, session: "s", input: "Hi" }, { store }));
  equal(events[0]?.type === "turn.started" && events[0].model, "first");
  const { entries = [] } = await store.read({ tenant: "local", session: "s" }) ?? {};
  deepEqual(entries.map((entry) => entry.kind === "assistant" ? entry.model : entry.kind), ["user", "b"]);
});
