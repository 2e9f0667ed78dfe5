import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { fallback } from "../../src/models/fallback.ts";
import type { Message } from "../../src/core/message.ts";
import type { Clock, Model, ModelEvent, ModelRequest } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";

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
    deepEqual(await run([a.made, b.made, c.made]), [
      { type: "fallback", fallback: { from: "a", to: "b", error: new SelvageError(code, "no") } },
      text("B"),
      { model: "b", tokenFactor: 1, dialect: "scripted", ...end },
    ]);
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

Deno.test("fallback() asks a model that could not answer last for a while, then in its turn again", async () => {
  const down = new SelvageError("model_stalled", "hangs");
  const [a, b, c] = [model("a", [], down), model("b", [end]), model("c", [end])];
  const clock = new ManualClock();
  const setBack: Clock = { now: () => clock.now() - back, sleep: (ms, signal) => clock.sleep(ms, signal) };
  let back = 0;
  const both = fallback([a.made, b.made, c.made], { clock: setBack, restMs: 30_000 });
  const ask = async (): Promise<readonly string[]> => {
    const events = await Array.fromAsync(both.stream(REQUEST, new AbortController().signal));
    return events.flatMap((event) => {
      if (event.type === "fallback") return event.fallback.from;
      return event.type === "finish" ? event.model ?? [] : [];
    });
  };
  deepEqual(await ask(), ["a", "b"]);
  await clock.advance(29_999);
  deepEqual(await ask(), ["b"], "it rests");
  await clock.advance(1);
  deepEqual(await ask(), ["a", "b"]);
  back = 7_200_000;
  deepEqual(await ask(), ["a", "b"], "the clock was set back");
  deepEqual([a.seen.asked, c.seen.asked], [3, 0]);
});

Deno.test("fallback() asks those that rest where no other is left, in their order", async () => {
  const [a, b] = ["a", "b"].map((id) => model(id, [], new SelvageError("model_unavailable", id)));
  if (a === undefined || b === undefined) throw new Error("no models");
  const both = fallback([a.made, b.made], { clock: new ManualClock() });
  for (const asked of [1, 2]) {
    await rejects(Array.fromAsync(both.stream(REQUEST, new AbortController().signal)), { message: "b" });
    deepEqual([a.seen.asked, b.seen.asked], [asked, asked]);
  }
  for (const options of [{ restMs: -1 }, { restMs: NaN }, { rest: 1 }, null]) {
    throws(() => fallback([a.made], options as never), TypeError);
  }
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

Deno.test("fallback() tells who was passed over and why, of a model within a model of somebody's own too", async () => {
  const failed = (id: string, code: string) => model(id, [], new SelvageError(code, "no"));
  const inner = fallback([failed("a", "model_auth").made, failed("b", "model_unavailable").made]);
  // Wrapped it is no list of models any more: it fails once all of it has.
  const wrapped: Model = { ...inner, stream: (...of) => inner.stream(...of) };
  const agent = { model: fallback([wrapped, model("c", [end]).made]) };
  const [told, errors]: string[][] = [[], []];
  const events = await Array.fromAsync(runTurn({ agent, session: "s", input: "Hi" }, {
    store: memoryStore(),
    onError: (error) => void errors?.push(String(error)),
    onFallback: ({ from, to, error }) => void told?.push(`${from} ${to} ${error.code}`),
  }));
  deepEqual([told, errors], [["a b model_auth", "a c model_unavailable"], []]);
  const last = events.at(-1);
  deepEqual(last?.type === "turn.finished" && [last.reason, last.model], ["stop", "c"]);
});

Deno.test("a turn names the model of its last answer at its end, and none where there is no answer", async () => {
  let asked = 0;
  const a: Model = {
    ...model("a", []).made,
    async *stream() {
      await Promise.resolve();
      if (++asked > 1) throw new SelvageError("model_auth", "no");
      const part = { type: "tool-call", toolCallId: "x", toolName: "none", input: {} } as const;
      yield { type: "finish", reason: "tool-calls", message: { role: "assistant", content: [part] } };
    },
  };
  const namedBy = async (...models: readonly Model[]) => {
    const place = { agent: { model: fallback(models) }, session: "s", input: "Hi" };
    const last = (await Array.fromAsync(runTurn(place, { store: memoryStore() }))).at(-1);
    return last?.type === "turn.finished" ? [last.reason, last.steps, last.model] : last;
  };
  deepEqual(await namedBy(a, model("b", [end]).made), ["stop", 2, "b"]);
  deepEqual(await namedBy(a), ["error", 0, undefined]);
});

/** A model that answers with signed reasoning, is down where `isDown` says so, and notes what it was sent. */
function signing(id: string, isDown: () => boolean = () => false) {
  const sent: (readonly Message[])[] = [];
  const made: Model = {
    id,
    window: 128_000,
    maxOutput: 4_000,
    dialect: "anthropic",
    async *stream({ messages }) {
      await Promise.resolve();
      if (isDown()) throw new SelvageError("model_unavailable", "no");
      sent.push(messages);
      const reasoning = {
        type: "reasoning",
        text: `by ${id}`,
        providerOptions: { x: { signature: id } },
      } as const;
      const plain = { type: "reasoning", text: "not signed" } as const;
      const said = { type: "text", text: "Yes." } as const;
      yield {
        type: "finish",
        reason: "stop",
        message: { role: "assistant", content: [reasoning, plain, said] },
      };
    },
  };
  const reasons = (at: number): string[] =>
    (sent[at] ?? []).flatMap(({ content, role }) =>
      role !== "assistant" || typeof content === "string"
        ? []
        : content.flatMap((part) => part.type === "reasoning" ? [part.text] : [])
    );
  return { made, sent, reasons };
}

Deno.test("fallback() sends signed reasoning to the model that has written it, and to no other", async () => {
  let isDown = false;
  const a = signing("a", () => isDown);
  const b = signing("b");
  const model = fallback([fallback([a.made]), b.made], { restMs: 0 });
  const messages: Message[] = [{ role: "user", content: "Hi" }];
  for (const down of [false, true, false, false]) {
    isDown = down;
    const event = (await Array.fromAsync(
      model.stream({ ...REQUEST, messages: [...messages] }, new AbortController().signal),
    )).at(-1);
    if (event?.type === "finish") messages.push(event.message, { role: "user", content: "Go on" });
  }
  deepEqual(a.reasons(1), ["by a", "not signed", "not signed"]);
  deepEqual(b.reasons(0), ["not signed"]);
  const shown = a.sent[2] ?? [];
  deepEqual(a.reasons(2), ["by a", "not signed", "not signed", "by a", "not signed"]);
  // The same objects again: what was encoded for one request is not encoded anew for the next.
  equal(shown[3], a.sent[1]?.[3]);
  equal(shown[1], messages[1]);
});

Deno.test("fallback() measures as the dearest of its models, whoever answers", async () => {
  const store = memoryStore();
  const down = model("a", [], new SelvageError("model_unavailable", "no"));
  const usage = { inputTokens: 100, outputTokens: 20 };
  const b = model("b", [{ ...end, usage }]);
  const both = fallback([
    { ...down.made, tokenFactor: 1.5, media: "openai-tiles" },
    { ...b.made, tokenFactor: 1.2, media: "anthropic" },
  ]);
  deepEqual([both.tokenFactor, both.media], [1.5, "anthropic"]);
  const events = await Array.fromAsync(
    runTurn({ agent: { model: both }, session: "s", input: "Hi" }, { store }),
  );
  const last = events.at(-1);
  deepEqual(last?.type === "turn.finished" && last.usage, usage);
  const { head } = await store.read({ tenant: "local", session: "s" }) ?? {};
  const { state } = head?.meter as { readonly state: { readonly anchor: { readonly tokens: number } } };
  equal(state.anchor.tokens, 150);
});
