/**
 * Public reports of what goes wrong around compaction elsewhere, each done again by the loop itself. Over 300 lines: a
 * list of cases, which share the way to play one.
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { parseLedger } from "../../src/compaction/parse_ledger.ts";
import { wireId } from "../../src/compaction/context.ts";
import { pairsIn } from "../../src/compaction/ledger.ts";
import { compactNow } from "../../src/loop/compact_now.ts";
import type { Model, ModelEvent } from "../../src/ports.ts";
import { playOf } from "../bench/_engine.ts";
import type { CorpusTranscript } from "../bench/_corpus.ts";
import { type Case, readCase } from "../support/case_records.ts";
import type { Json } from "../support/wire_json.ts";
import { Bench, endOf, eventsOf, finish, KEY, modelOf, prose, replies, tool } from "../support/turns.ts";

interface Played {
  readonly window: number;
  /** How often the session is played through. */
  readonly times?: number;
  /** Characters that each result is longer by, for what is tiny in the case. */
  readonly longer?: number;
  readonly summarizer?: Model;
  readonly compaction?: { readonly compactAt: number; readonly stopAt: number; readonly compactTo: number };
}

/** The messages of a case as Chat Completions has them: of Anthropic's blocks what these cases have. */
function chatMessages({ format, messages }: Case): CorpusTranscript["messages"] {
  if (format !== "anthropic") return messages as CorpusTranscript["messages"];
  return messages.flatMap((message): Json[] => {
    const { role, content } = message as unknown as AnthropicMessage;
    if (typeof content === "string") return [{ role, content }];
    const text = content.flatMap((block) => block.type === "text" ? [block.text] : []).join("");
    const calls = content.flatMap((block) =>
      block.type === "tool_use"
        ? [{ id: block.id, function: { name: block.name, arguments: JSON.stringify(block.input) } }]
        : []
    );
    const results = content.flatMap((block) =>
      block.type === "tool_result"
        ? [{ role: "tool", tool_call_id: block.tool_use_id, content: block.content }]
        : []
    );
    if (results.length > 0) return results;
    return [{ role, content: text, ...(calls.length > 0 ? { tool_calls: calls } : {}) }];
  });
}

interface AnthropicMessage {
  readonly role: string;
  readonly content:
    | string
    | readonly (
      | { readonly type: "text"; readonly text: string }
      | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly input: unknown }
      | { readonly type: "tool_result"; readonly tool_use_id: string; readonly content: string }
    )[];
}

/** The session of a case: its tools give what they gave, its model says what it said, then comes one more turn. */
function play(name: string, { window, times = 1, longer = 0, ...agent }: Played) {
  const found = readCase(Deno.readTextFileSync(new URL(`../fixtures/cases/${name}.json`, import.meta.url)));
  const { toolDefinitionTokens = 0 } = found.options;
  const { system, turns: once } = playOf({ name, messages: chatMessages(found) });
  const turns = Array.from({ length: times }, () => once).flat();
  const results = turns.flatMap(({ steps }) => steps.flatMap(({ calls }) => calls)).map((call, at) => ({
    ...call,
    result: longer === 0 ? call.result : `${call.result}\n${prose(longer, at)}`,
  }));
  const given = [...results];
  const tools = [...new Set(results.map(({ name }) => name))].map((name) => ({
    ...tool(name, (input) => {
      const key = JSON.stringify(input);
      return given.splice(given.findIndex((call) => JSON.stringify(call.input) === key), 1)[0]?.result ?? "?";
    }),
    description: `Does ${name}. ${"word ".repeat(toolDefinitionTokens)}`,
  }));
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

const TIGHT = { compactAt: 0.3, stopAt: 0.5, compactTo: 0.2 };

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

Deno.test.each(
  [["34-floor-above-threshold", 8_000], ["35-tool-definitions-above-threshold", 2_500]] as const,
)("case %s is one error before anything is stored, and no attempt", async (name, window) => {
  const { bench, inputs } = play(name, { window });
  await rejects(bench.run(inputs[0] ?? ""), { code: "bad_budget" });
  equal(await bench.store.read(KEY), null);
  equal(bench.requests.length, 0);
});

Deno.test("case tool-definitions-above-threshold: where there is room beside them, they are no reason to compact", async () => {
  const { compactions, events } = await runAll("35-tool-definitions-above-threshold", { window: 4_000 });
  deepEqual(compactions, []);
  // Over the threshold of the case from the first request on, and nothing is tried.
  for (const { tokens } of eventsOf(events, "context")) ok(tokens > 500);
});

Deno.test("case stale-usage-after-compaction: a bill from before it triggers nothing in the next turn", async () => {
  const { bench, results } = play("35-tool-definitions-above-threshold", { window: 16_000 });
  equal(results.length, 1);
  for (let n = 0; n < 6; n++) await bench.run(prose(5_000, n));
  const { agent, store, clock } = bench;
  const done = await compactNow({ key: KEY, agent, store, clock }, { compactTo: 0.1 });
  equal(done.outcome, "applied");
  const events = await bench.run("hello");
  deepEqual(eventsOf(events, "compaction"), []);
  const [first] = eventsOf(events, "context");
  ok(first !== undefined && first.tokens < done.tokensBefore && first.tier !== "anchor");
  await bench.assertSound();
});

Deno.test("case one-result-larger-than-window: it is shown in part, its pair is kept, and the client is told", async () => {
  const { bench, events, applied } = await runAll("39-one-result-larger-than-window", { window: 32_000 });
  deepEqual(eventsOf(events, "tool.result").map(({ status, shortened }) => [status, shortened]), [[
    "ok",
    true,
  ]]);
  deepEqual(applied, []);
  for (const { messages } of bench.requests.slice(1)) {
    const text = JSON.stringify(messages);
    ok(text.length / 4 < 32_000 && text.includes("ERR 17 disk full") && text.includes("e1.0"));
  }
});

Deno.test("case double-compaction-straddle: through many passes each pair is raw or a line, never both", async () => {
  const { applied, bench } = await runAll("21-double-compaction-straddle", {
    window: 6_000,
    times: 12,
    longer: 1_500,
    compaction: TIGHT,
  });
  ok(applied.length > 3, `${applied.length}`);
  for (const { messages } of bench.requests) {
    const lines = parseLedger(String(messages[0]?.content))?.lines ?? [];
    const recorded = new Set(lines.flatMap((line) => line.kind === "pair" ? [wireId(line.ref)] : []));
    const raw = messages.flatMap(({ content }) =>
      Array.isArray(content)
        ? content.flatMap((part) => part.type === "tool-call" ? [part.toolCallId] : [])
        : []
    );
    ok(raw.every((id) => !recorded.has(id)), `${raw} and ${[...recorded]}`);
  }
});

Deno.test("case tool-heavy-turn-has-no-plain-user: it is compacted in the middle, behind its task", async () => {
  const { bench, events } = await runAll("42-tool-heavy-turn-has-no-plain-user", {
    window: 6_000,
    longer: 3_000,
    compaction: TIGHT,
  });
  const applied = events.findIndex((event) => event.type === "compaction" && event.phase === "applied");
  ok(applied >= 0 && applied < events.findIndex(({ type }) => type === "turn.finished"));
  for (const { messages } of bench.requests.slice(0, -1)) {
    equal(messages[0]?.role, "user");
    ok(messages.some(({ role, content }) => role === "user" && content === "Review the change."));
  }
});

Deno.test("case paraphrase-loses-arguments: tool, arguments and outcome are a line of the ledger", async () => {
  const { text, applied } = await runAll("64-paraphrase-loses-arguments", {
    window: 6_000,
    times: 4,
    longer: 3_000,
    compaction: TIGHT,
  });
  ok(applied.length > 0);
  for (const told of ["get_order", "ORD-7731", "88.40"]) ok(text.includes(told), told);
});

Deno.test("case one-user-message-larger-than-window is refused with its size, and nothing is stored", async () => {
  const { bench, inputs } = play("40-one-user-message-larger-than-window", { window: 32_000 });
  await rejects(bench.run(inputs[0] ?? ""), { code: "input_too_large", message: /\d{5,} tokens/ });
  equal(await bench.store.read(KEY), null);
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
