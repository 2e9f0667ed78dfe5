/** Public reports of what goes wrong around compaction elsewhere, each done again by the loop itself. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { parseLedger } from "../../src/compaction/parse_ledger.ts";
import { pairsIn } from "../../src/compaction/ledger.ts";
import type { Model, ModelEvent } from "../../src/ports.ts";
import { playOf } from "../bench/_engine.ts";
import { readCase } from "../support/case_records.ts";
import { Bench, endOf, eventsOf, finish, modelOf, replies, tool } from "../support/turns.ts";

interface Played {
  readonly window: number;
  /** How often the session is played through. */
  readonly times?: number;
  readonly summarizer?: Model;
  readonly compaction?: { readonly compactAt: number; readonly stopAt: number; readonly compactTo: number };
}

/** The session of a case: its tools give what they gave, its model says what it said, then comes one more turn. */
function play(name: string, { window, times = 1, ...agent }: Played) {
  const found = readCase(Deno.readTextFileSync(new URL(`../fixtures/cases/${name}.json`, import.meta.url)));
  const { system, turns: once } = playOf(
    { ...found, name, raw: true } as unknown as Parameters<typeof playOf>[0],
  );
  const turns = Array.from({ length: times }, () => once).flat();
  const results = turns.flatMap(({ steps }) => steps.flatMap(({ calls }) => calls));
  const tools = [...new Set(results.map(({ name }) => name))].map((name) =>
    tool(
      name,
      (input) => results.find((call) => JSON.stringify(call.input) === JSON.stringify(input))?.result ?? "?",
    )
  );
  const steps = turns.flatMap(({ steps }) => {
    const last = steps.at(-1);
    return last === undefined || last.calls.length > 0 ? [...steps, { text: "Done.", calls: [] }] : steps;
  });
  const bench = new Bench({
    window,
    tools,
    script: replies(...steps.map(({ text, calls }) => ({ ...(text ? { text } : {}), calls }))),
    agent: { ...(system === "" ? {} : { system }), ...agent },
  });
  const inputs = [...turns.map(({ input }) => input), "And now?"];
  return { bench, inputs, results };
}

/** Runs all turns of a case; what every one of them promises is checked. */
async function runAll(name: string, played: Played) {
  const { bench, inputs, results } = play(name, played);
  const events = [];
  for (const input of inputs) {
    const turn = await bench.run(input);
    equal(endOf(turn), "stop", JSON.stringify(turn.at(-2)));
    events.push(...turn);
  }
  const { entries } = await bench.assertSound();
  // The log holds what the tools gave; what is not raw any more is a line of the ledger, or counted by it.
  const stored = entries.flatMap((entry) => entry.kind === "result" ? [entry.output] : []);
  deepEqual(
    stored.map((output) => output.type === "text" ? output.value : output),
    results.map((r) => r.result),
  );
  const { messages } = bench.requests.at(-1) ?? { messages: [] };
  const ledger = parseLedger(String(messages[0]?.content));
  const raw = messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.filter(({ type }) => type === "tool-call") : []
  );
  equal(pairsIn(ledger?.lines ?? []) + raw.length, results.length, "a pair is lost");
  const compactions = eventsOf(events, "compaction");
  const applied = compactions.filter((event) => event.phase === "applied");
  return { bench, events, messages, ledger, compactions, applied, text: JSON.stringify(messages) };
}

const TIGHT = { compactAt: 0.3, stopAt: 0.5, compactTo: 0.2 };

Deno.test("case floor-above-threshold is one error before anything is stored, and no attempt", async () => {
  const { bench, inputs } = play("34-floor-above-threshold", { window: 8_000 });
  await rejects(bench.run(inputs[0] ?? ""), { code: "bad_budget" });
  equal(await bench.store.read({ tenant: "local", session: "s1" }), null);
  equal(bench.requests.length, 0);
});

Deno.test("case one-user-message-larger-than-window is refused with its size, and nothing is stored", async () => {
  const { bench, inputs } = play("40-one-user-message-larger-than-window", { window: 32_000 });
  await rejects(bench.run(inputs[0] ?? ""), { code: "input_too_large", message: /\d{5,} tokens/ });
  equal(await bench.store.read({ tenant: "local", session: "s1" }), null);
});

Deno.test("case task-contract-summarised-away: what the turn is about is in every request to the letter", async () => {
  const { bench, applied } = await runAll("46-task-contract-summarised-away", {
    window: 5_000,
    compaction: TIGHT,
  });
  ok(applied.length > 0);
  for (const { messages } of bench.requests.slice(0, -1)) {
    ok(
      messages.some(({ role, content }) =>
        role === "user" &&
        JSON.stringify(content).includes("exactly one JSON object with keys verdict and risks")
      ),
    );
  }
});

/** A summarizer that says something, and how large the requests were that it was sent. */
function saying(window: number, say: (text: string) => ModelEvent) {
  const sent: string[] = [];
  const model = modelOf(async function* (request) {
    const text = JSON.stringify(request.messages);
    sent.push(text);
    yield await Promise.resolve(say(text));
  }, { id: "summarizer", window, maxOutput: 500 });
  return { model, sent };
}
const written = (): ModelEvent => finish(JSON.stringify({ narrative: "Parts were read.", outcomes: {} }));

Deno.test.each(
  [
    ["59-summariser-input-too-long", 8_000],
    ["62-summary-covers-less-than-it-removes", 4_000],
  ] as const,
)(
  "case %s: the summarizer is never sent more than its window, and no pair goes unrecorded",
  async (name, own) => {
    const { model, sent } = saying(own, written);
    const { applied } = await runAll(name, { window: 12_000, summarizer: model, compaction: TIGHT });
    ok(applied.length > 0 && sent.length > 0);
    for (const text of sent) ok(text.length / 4 < own, `${text.length / 4} tokens`);
    ok(applied.some((event) => event.phase === "applied" && event.summary === "ledger+prose"));
  },
);

Deno.test.each(
  [
    ["blank", (): ModelEvent => finish("   ")],
    ["a tool call", (): ModelEvent => ({
      type: "finish",
      reason: "tool-calls",
      message: {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "x", toolName: "read", input: {} }],
      },
    })],
  ] as const,
)(
  "case summariser-answers-with-a-tool-call: %s is no summary, the ledger alone stands and says so",
  async (_, say) => {
    const { model } = saying(32_000, say);
    const { applied, ledger } = await runAll("62-summary-covers-less-than-it-removes", {
      window: 12_000,
      summarizer: model,
      compaction: TIGHT,
    });
    ok(applied.length > 0);
    for (const event of applied) {
      ok(event.phase === "applied" && event.summary === "ledger");
    }
    ok(applied.some((event) => event.phase === "applied" && event.summaryFailure?.startsWith("summary_")));
    equal(ledger?.prose, "");
  },
);

Deno.test("case nothing-left-for-the-summariser: what is too large for it is shown in part, never left out in silence", async () => {
  const { model, sent } = saying(2_000, written);
  const { text, ledger } = await runAll("67-nothing-left-for-the-summariser", {
    window: 8_000,
    times: 3,
    summarizer: model,
    compaction: TIGHT,
  });
  ok(sent.length > 0);
  for (const request of sent) ok(/step1|step2/.test(request));
  ok(text.includes("step1"));
  ok((ledger?.lines.length ?? 0) > 0);
});

Deno.test("case messages-arrive-while-summarising: what is appended meanwhile stands behind the summary", async () => {
  const asked = Promise.withResolvers<void>();
  const appended = Promise.withResolvers<void>();
  let isAsked = false;
  const summarizer = modelOf(async function* () {
    isAsked = true;
    asked.resolve();
    await appended.promise;
    yield written();
  }, { id: "summarizer" });
  let isSaid = false;
  const read = tool("read", (input) => {
    if (!isAsked || isSaid) return "text ".repeat(300) + input["at"];
    isSaid = true;
    appended.resolve();
    return "STOP after this";
  });
  const steps = Array.from({ length: 12 }, (_, at) => ({ calls: [{ name: "read", input: { at } }] }));
  const bench = new Bench({
    window: 8_000,
    tools: [read],
    script: replies(...steps),
    agent: { summarizer, compaction: TIGHT },
  });
  const events = await bench.run("Read.");
  equal(endOf(events), "stop");
  await asked.promise;
  const compactions = eventsOf(events, "compaction");
  const first = compactions.findIndex(({ phase }) => phase === "applied");
  equal(compactions[first - 1]?.phase, "started");
  const at = events.findIndex((event) => event.type === "compaction" && event.phase === "applied");
  const said = events.findIndex((event) =>
    event.type === "tool.result" && JSON.stringify(event.output).includes("STOP")
  );
  ok(said >= 0 && said < at, "it was appended while the summary was written");
  const after = bench.requests.find(({ messages }) => parseLedger(String(messages[0]?.content)) !== null);
  ok(JSON.stringify(after?.messages.slice(1)).includes("STOP after this"));
  await bench.assertSound();
});
