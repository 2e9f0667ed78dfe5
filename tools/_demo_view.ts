/** Prints the events of a turn as a person would want to read them, and counts what the table needs. */
import type { CompactionEvent, TurnEventBody } from "../src/loop/events.ts";
import { type Paint, plain } from "../src/_cli_text.ts";
import { grouped, plural } from "../src/files/words.ts";
import { contextBar, percent, wrap } from "./_demo_text.ts";

/** Columns: those of the terminal, within what can be read. */
const WIDTH = Deno.stdout.isTerminal() ? Math.min(100, Math.max(72, Deno.consoleSize().columns)) : 100;
/** Share of the window by which the context must have changed before its bar is shown again. */
const BAR_STEP = 0.03;

/** What a turn came to. */
export interface TurnCounts {
  readonly calls: number;
  readonly compactions: number;
  readonly deferrals: number;
  /** Deferrals that a later check resolved within the turn. */
  readonly resolved: number;
  /** Deferrals that were honoured at the turn boundary, before `turn.finished`. */
  readonly honoured: number;
  /** Largest context seen, in tokens, and the window. */
  readonly largest: number;
  readonly window: number;
  readonly errors: number;
  readonly answer: string;
  readonly isFinished: boolean;
}

/** The arguments of a call without their names: short ones as they are, long ones by their size. */
function describeInput(input: unknown): string {
  if (typeof input !== "object" || input === null) return plain(JSON.stringify(input) ?? "", 40);
  return Object.values(input).map((value) => {
    const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
    return text.length > 60 || text.includes("\n") ? `${grouped(text.length)} chars` : text;
  }).join(", ");
}

/** A result in a line: its first line, and how many there are. */
function describeOutput(output: unknown, most: number): string {
  const text = typeof output === "string" ? output : JSON.stringify(output) ?? "";
  const lines = text.trimEnd().split("\n");
  const more = lines.length > 1 ? ` (${lines.length} lines)` : "";
  return `${plain(lines[0] ?? "", most - more.length)}${more}`;
}

/** Shows one turn, event by event. */
export class TurnView {
  readonly #print: (line: string) => void;
  readonly #paint: Paint;
  #text = "";
  #shown = -Infinity;
  /** Tokens after a compaction whose bar is still to be shown. */
  #compactedTo: number | null = null;
  #isParallel = false;
  #isHeadShown = false;
  #isRough = false;
  #step = 0;
  #pending = new Map<string, unknown>();
  #calls = 0;
  #compactions = 0;
  #deferrals = 0;
  #resolved = 0;
  #honoured = 0;
  #largest = 0;
  #window = 0;
  #errors = 0;
  #isFinished = false;

  /** Makes a view that prints through `print`, a line at a time. */
  constructor(print: (line: string) => void, paint: Paint) {
    this.#print = print;
    this.#paint = paint;
  }

  /** What was seen up to now. */
  get counts(): TurnCounts {
    return {
      calls: this.#calls,
      compactions: this.#compactions,
      deferrals: this.#deferrals,
      resolved: this.#resolved,
      honoured: this.#honoured,
      largest: this.#largest,
      window: this.#window,
      errors: this.#errors,
      answer: this.#text,
      isFinished: this.#isFinished,
    };
  }

  /** Takes the next event; kinds that it does not know are passed over. */
  show(event: TurnEventBody): void {
    const { dim, bold, red } = this.#paint;
    switch (event.type) {
      case "turn.started":
        this.#print(
          dim(`turn ${event.turn}, session ${event.session}, agent ${event.agent}, model ${event.model}`),
        );
        break;
      case "step.started":
        this.#step = event.step;
        this.#text = "";
        this.#isParallel = false;
        this.#isHeadShown = false;
        this.#isRough = false;
        break;
      case "text.delta":
        this.#text += event.text;
        break;
      case "tool.call":
        this.#sayText();
        this.#calls++;
        this.#pending.set(event.ref, event.input);
        this.#isParallel = event.call > 0;
        break;
      case "tool.result":
        this.#isRough = true;
        this.#showResult(event);
        break;
      case "context":
        this.#showContext(event);
        break;
      case "compaction":
        this.#showCompaction(event);
        break;
      case "error":
        this.#errors++;
        this.#print(red(`      error ${event.code}: ${event.message}`));
        break;
      case "turn.finished":
        this.#isFinished = true;
        if (this.#text !== "") {
          for (const line of wrap(this.#text, WIDTH - 6)) this.#print(bold(`      ${line}`));
        }
        this.#print(dim(
          `      finished (${event.reason}) after ${plural(event.steps, "step")}; ${
            grouped(event.usage.inputTokens)
          } ` +
            `tokens read, ${grouped(event.usage.outputTokens)} written by the model in all`,
        ));
        break;
      default:
        break;
    }
  }

  #number(step: number): string {
    return String(step).padStart(4);
  }

  /** What the model said before its calls. */
  #sayText(): void {
    if (this.#text === "") return;
    for (const line of wrap(this.#text, WIDTH - 8)) this.#print(`${this.#number(this.#step)}  ${line}`);
    this.#text = "";
  }

  #showResult(event: Extract<TurnEventBody, { type: "tool.result" }>): void {
    const { dim, green, red, bold } = this.#paint;
    if (this.#isParallel && !this.#isHeadShown) {
      this.#print(`${this.#number(event.step)}  ${bold(`${this.#pending.size} calls at once`)}`);
      this.#isHeadShown = true;
    }
    const what = `${event.name} ${describeInput(this.#pending.get(event.ref))}`;
    this.#pending.delete(event.ref);
    const head = this.#isParallel ? "    " : this.#number(event.step);
    const status = event.status.padEnd(5) + `${grouped(event.ms)} ms`.padStart(6);
    const left = `${head}  ${plain(what, 42).padEnd(42)}  `;
    const room = WIDTH - left.length - status.length - 2;
    const note = event.shortened ? "shortened: " : "";
    const output = `${note}${describeOutput(event.output, room - note.length)}`;
    this.#print(`${left}${event.status === "ok" ? green(status) : red(status)}  ${dim(output)}`);
  }

  #showContext(event: Extract<TurnEventBody, { type: "context" }>): void {
    this.#window = event.window;
    const compactedTo = this.#compactedTo;
    this.#compactedTo = null;
    // Where much is new the service often knows no more than an upper bound, which would make the bar jump.
    if (event.tier === "bound" && this.#isRough && compactedTo === null) return;
    const tokens = event.tier === "bound" && compactedTo !== null ? compactedTo : event.tokens;
    this.#largest = Math.max(this.#largest, tokens);
    const isMoved = Math.abs(tokens - this.#shown) >= BAR_STEP * event.window;
    if (!isMoved && compactedTo === null) return;
    this.#shown = tokens;
    this.#print(this.#paint.dim(`      ${contextBar({ ...event, tokens })}`));
  }

  #showCompaction(event: CompactionEvent): void {
    const { yellow, green, red } = this.#paint;
    const tell = (paint: (text: string) => string, text: string): void => {
      for (const line of wrap(text, WIDTH - 6)) this.#print(paint(`   >> ${line}`));
    };
    switch (event.phase) {
      case "started":
        return;
      case "applied": {
        this.#compactions++;
        const { tokensBefore: before = 0, tokensAfter: after = 0, distance = 0, pairs = 0 } = event;
        this.#compactedTo = after;
        this.#isRough = true;
        const aim = distance === 0
          ? "on target"
          : `${grouped(Math.abs(distance))} ${distance > 0 ? "over" : "under"} target`;
        const where = event.resolved === "turn"
          ? "at the turn boundary, before turn.finished"
          : "within the turn";
        tell(
          green,
          `compacted: ${event.method} cut at e${event.cut}, ${aim}, ${
            plural(pairs, "pair")
          } into the ledger, ` +
            `${grouped(before)} -> ${grouped(after)} tokens` +
            (event.resolved === undefined ? "" : `; this resolves the deferral ${where}`),
        );
        if (event.resolved === "step") this.#resolved++;
        if (event.resolved === "turn") this.#honoured++;
        return;
      }
      case "deferred": {
        this.#deferrals++;
        const { before = null, after = null } = event.nearest ?? {};
        const cuts = [before, after].filter((cut) => cut !== null).map((cut) => `e${cut}`).join(" and ");
        tell(yellow, `deferred: ${event.reason}; nearest legal cuts: ${cuts === "" ? "none" : cuts}`);
        return;
      }
      case "nothing":
        tell(green, `nothing to compact: ${event.reason}`);
        return;
      case "rejected":
      case "exhausted":
        tell(red, `${event.phase}: ${event.reason}`);
        for (const { condition, message } of event.violations ?? []) tell(red, `${condition}: ${message}`);
        return;
      default:
        return event.phase satisfies never;
    }
  }
}

/** The table at the end: one column for both turns together, then one for each. */
export function summaryTable(
  runs: readonly { readonly title: string; readonly counts: TurnCounts; readonly violations: number }[],
): string[] {
  const sum = (of: (run: (typeof runs)[number]) => number): string[] => {
    const values = runs.map(of);
    return [values.reduce((a, b) => a + b, 0), ...values].map(grouped);
  };
  const contexts = runs.map(({ counts }) => counts);
  const widest = contexts.toSorted((a, b) => b.largest - a.largest)[0];
  const largest = [widest, ...contexts].map((counts) =>
    counts === undefined || counts.window === 0
      ? "-"
      : `${grouped(counts.largest)} (${percent(counts.largest, counts.window)} of ${grouped(counts.window)})`
  );
  const rows = [
    ["", "all", ...runs.map(({ title }) => title)],
    ["tool calls", ...sum(({ counts }) => counts.calls)],
    ["compactions", ...sum(({ counts }) => counts.compactions)],
    ["deferrals", ...sum(({ counts }) => counts.deferrals)],
    ["largest context", ...largest],
    ["violations", ...sum(({ violations }) => violations)],
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd());
}
