import assert from "node:assert/strict";
import type { TurnEventBody } from "../../src/loop/events.ts";
import { createPaint } from "../../src/_cli_text.ts";
import { grouped } from "../../src/files/words.ts";
import { contextBar, wrap } from "../../tools/_demo_text.ts";
import { summaryTable, TurnView } from "../../tools/_demo_view.ts";

function viewed(events: readonly TurnEventBody[]): { lines: string[]; view: TurnView } {
  const lines: string[] = [];
  const view = new TurnView((line) => lines.push(line), createPaint(false));
  for (const event of events) view.show(event);
  return { lines, view };
}

function context(tokens: number, tier: "anchor" | "bound" | "exact" = "exact"): TurnEventBody {
  return { type: "context", tokens, tier, window: 1000, compactAt: 600, stopAt: 900 };
}

function pair(call: number, input: unknown, output: unknown): readonly [TurnEventBody, TurnEventBody] {
  const place = { step: 3, call, ref: `e4.${call}`, name: "read_file" };
  return [
    { type: "tool.call", ...place, input },
    { type: "tool.result", ...place, status: "ok", output, shortened: false, ms: 12 },
  ];
}

Deno.test("TurnView shows what the model says, its call, and the result in one line", () => {
  const { lines, view } = viewed([
    { type: "turn.started", turn: "t1", session: "s1", agent: "default", model: "scripted" },
    { type: "step.started", step: 3 },
    { type: "text.delta", step: 3, text: "I look " },
    { type: "text.delta", step: 3, text: "first." },
    ...pair(
      0,
      { path: "units/00/README.md", content: "x".repeat(2000) },
      `# Unit ${"long ".repeat(30)}\nb\n`,
    ),
  ]);
  assert.deepEqual(lines, [
    "turn t1, session s1, agent default, model scripted",
    "   3  I look first.",
    "   3  read_file units/00/README.md, 2,000 chars   ok    12 ms  # Unit long long long long… (2 lines)",
  ]);
  assert.equal(view.counts.calls, 1);
});

Deno.test("TurnView marks calls that run at the same time, and errors", () => {
  const [callA, resultA] = pair(0, { path: "a" }, "1");
  const [callB, resultB] = pair(1, { path: "b" }, { found: 2 });
  assert.ok(resultA.type === "tool.result");
  const { lines } = viewed([
    { type: "step.started", step: 3 },
    ...[callA, callB, resultB, { ...resultA, status: "error" as const, shortened: true }],
  ]);
  assert.deepEqual(lines.map((line) => line.replaceAll(/ {3,}/g, "  ")), [
    "  3  2 calls at once",
    '  read_file b  ok  12 ms  {"found":2}',
    "  read_file a  error 12 ms  shortened: 1",
  ]);
});

Deno.test("TurnView shows the context when it has moved by 3 percent, and never an upper bound after a result", () => {
  const { lines, view } = viewed([
    ...[context(100), context(129), context(130)],
    { type: "step.started", step: 3 },
    ...pair(0, {}, ""),
    ...[context(900, "bound"), context(400, "exact")],
  ]);
  assert.deepEqual(lines.filter((line) => line.includes("[")).map((line) => line.split("] ")[1]), [
    "100 of 1,000 (10 %)",
    "130 of 1,000 (13 %)",
    "400 of 1,000 (40 %)",
  ]);
  assert.equal(view.counts.largest, 400);
});

Deno.test("TurnView tells of compactions and deferrals and counts them", () => {
  const { lines, view } = viewed([
    context(700),
    { type: "compaction", phase: "started", reason: "over_compact_at" },
    { type: "compaction", phase: "deferred", reason: "open_call", nearest: { before: 1, after: null } },
    { type: "compaction", phase: "deferred", reason: "atom_too_wide" },
    {
      ...{ type: "compaction", phase: "applied", reason: "flag", method: "forward", cut: 10, distance: -20 },
      ...{ pairs: 8, tokensBefore: 700, tokensAfter: 690, resolved: "turn", summary: "ledger" },
    },
    context(690),
    {
      ...{
        type: "compaction",
        phase: "applied",
        reason: "over_compact_at",
        method: "near",
        cut: 12,
        distance: 0,
      },
      ...{ pairs: 1, tokensBefore: 690, tokensAfter: 500, resolved: "step" },
    },
    context(580, "bound"),
    {
      ...{ type: "compaction", phase: "rejected", reason: "orphan_result" },
      violations: [{ code: "orphan_result", condition: "C2", message: "a result without its call" }],
    },
    { type: "compaction", phase: "exhausted", reason: "over_stop_at" },
  ]);
  assert.deepEqual(lines, [
    "      [████████████████████████C███········S···] 700 of 1,000 (70 %)",
    "   >> deferred: open_call; nearest legal cuts: e1",
    "   >> deferred: atom_too_wide; nearest legal cuts: none",
    "   >> compacted: forward cut at e10, 20 under target, 8 pairs into the ledger, 700 -> 690 tokens;",
    "   >> this resolves the deferral at the turn boundary, before turn.finished",
    "      [████████████████████████C███········S···] 690 of 1,000 (69 %)",
    "   >> compacted: near cut at e12, on target, 1 pair into the ledger, 690 -> 500 tokens; this",
    "   >> resolves the deferral within the turn",
    "      [████████████████████····C···········S···] 500 of 1,000 (50 %)",
    "   >> rejected: orphan_result",
    "   >> C2: a result without its call",
    "   >> exhausted: over_stop_at",
  ]);
  const { compactions, deferrals, honoured } = view.counts;
  assert.deepEqual({ compactions, deferrals, honoured }, { compactions: 2, deferrals: 2, honoured: 1 });
});

Deno.test("TurnView ends with the answer, and keeps errors", () => {
  const { lines, view } = viewed([
    { type: "step.started", step: 1 },
    { type: "text.delta", step: 1, text: "All done." },
    { type: "error", code: "internal", message: "The turn failed", retryable: true },
    { type: "turn.finished", reason: "stop", usage: { inputTokens: 1200, outputTokens: 5 }, steps: 1 },
  ]);
  assert.deepEqual(lines, [
    "      error internal: The turn failed",
    "      All done.",
    "      finished (stop) after 1 step; 1,200 tokens read, 5 written by the model in all",
  ]);
  const { answer, errors, isFinished } = view.counts;
  assert.deepEqual({ answer, errors, isFinished }, { answer: "All done.", errors: 1, isFinished: true });
});

Deno.test("contextBar() never runs past its end", () => {
  const bar = contextBar({ tokens: 5000, window: 1000, compactAt: 600, stopAt: 1000 });
  assert.equal(bar, "[████████████████████████C██████████████S] 5,000 of 1,000 (500 %)");
});

Deno.test("summaryTable() sums what can be summed and names the widest context", () => {
  const counts = { ...viewed([context(400)]).view.counts, calls: 1200, compactions: 3 };
  const empty = viewed([]).view.counts;
  assert.deepEqual(
    summaryTable([{ title: "one", counts, violations: 0 }, { title: "two", counts: empty, violations: 2 }]),
    [
      "                 all                  one                  two",
      "tool calls       1,200                1,200                0",
      "compactions      3                    3                    0",
      "deferrals        0                    0                    0",
      "largest context  400 (40 % of 1,000)  400 (40 % of 1,000)  -",
      "violations       2                    0                    2",
    ],
  );
});

Deno.test("wrap(), grouped() and createPaint() do what the view needs of them", () => {
  assert.deepEqual(wrap("one two three\n\nfour", 7), ["one two", "three", "", "four"]);
  assert.deepEqual([0, 999, 1000, 1234567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
  assert.equal(createPaint(true).red("x"), "\x1b[31mx\x1b[0m");
});
