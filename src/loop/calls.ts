/**
 * The calls of a step: which of them are run, how many at a time, and what each one comes to.
 *
 * @module
 */
import { callsOf } from "../compaction/context.ts";
import type { AssistantEntry, Clock, Entry, FinishReason, ResultEntry, Tool, ToolContext } from "../ports.ts";
import type { ReadyAgent } from "./agent.ts";
import { ABORTED, type CallOutcome, runCall } from "./tools.ts";

/** A call of the log. */
export type Call = ReturnType<typeof callsOf>[number];

/** A call that starts, that tells its progress, or that has its outcome. `index` counts the calls of the step from 0. */
export type CallProgress =
  | { readonly kind: "started"; readonly index: number; readonly call: Call }
  | { readonly kind: "progress"; readonly index: number; readonly call: Call; readonly data: unknown }
  | {
    readonly kind: "landed";
    readonly index: number;
    readonly call: Call;
    readonly outcome: CallOutcome;
    /** Calls of the step that had no outcome before this one. */
    readonly open: number;
  };

/** Whose calls they are. */
export interface CallsOptions {
  readonly agent: ReadyAgent;
  readonly tools: readonly Tool[];
  /** Why the answer ended that asks for the calls. */
  readonly reason: FinishReason;
  readonly context: Omit<ToolContext, "signal">;
  /** Ends the turn. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** What {@link runCalls} needs beside the calls. */
export interface RunCallsOptions extends CallsOptions {
  /**
   * Whether calls that run are waited for, and no other is started. An aborted turn still starts them: each ends as
   * aborted, in its place.
   */
  readonly isHalted: () => boolean;
  /** Runs a call inside something, such as a span. */
  readonly within: (call: Call, run: () => Promise<CallOutcome>) => Promise<CallOutcome>;
  /** Why calls are answered with an error, rather than run: by reference. */
  readonly refused?: ReadonlyMap<string, string>;
}

/** Why the calls of an answer that was cut off are not run: even arguments that can be made to parse may lack an end. */
export const NOT_RUN: Partial<Record<FinishReason, string>> = {
  length: "Not executed: the answer was cut off at the output limit, so the arguments may be incomplete. " +
    "Make the call again with shorter arguments",
  "content-filter": "Not executed: the answer was cut off by the provider's content filter",
};

/** Milliseconds for a call of a tool that sets no time of its own. */
export function timeoutOf({ toolTimeoutMs = 60_000 }: ReadyAgent): number {
  return toolTimeoutMs;
}

/**
 * Runs the calls of a step, a bounded number at a time.
 *
 * @param calls The calls, in order.
 * @param options The agent, why its answer ended, whose session it is.
 * @returns Each call as it starts, in order, and as it lands.
 */
export async function* runCalls(
  calls: readonly Call[],
  { agent, tools, reason, context, signal, isHalted, clock, within, refused }: RunCallsOptions,
): AsyncGenerator<CallProgress, void> {
  const news:
    (Exclude<CallProgress, { kind: "started" }> | { readonly kind: "broken"; readonly error: unknown })[] =
      [];
  let wake = (): void => {};
  const tell = (made: typeof news[number]): void => {
    news.push(made);
    wake();
  };
  const run = (call: Call, index: number): Promise<CallOutcome> => {
    const value = NOT_RUN[reason] ?? refused?.get(call.ref);
    if (value !== undefined) {
      return Promise.resolve({ status: "error", output: { type: "error-text", value }, ms: 0 });
    }
    const timeoutMs = timeoutOf(agent);
    const onProgress = (data: unknown): void => tell({ kind: "progress", index, call, data });
    return within(call, () => runCall(call, { tools, context, signal, clock, timeoutMs, onProgress }));
  };
  const { toolConcurrency: limit = 8 } = agent;
  const waiting = calls.entries();
  let next = waiting.next();
  let running = 0;
  for (let open = calls.length; open > 0;) {
    // One at the least: with none running there would be nothing to wait for.
    while (next.done !== true && !isHalted() && (running < limit || running === 0)) {
      const [index, call] = next.value;
      yield { kind: "started", index, call };
      // It was told, and that may have taken a while; whoever takes the turn up tells it again.
      if (isHalted()) break;
      next = waiting.next();
      running++;
      // One list for all that they tell: a race between them would be run anew for each.
      run(call, index).then(
        (outcome) => tell({ kind: "landed", index, call, outcome, open: 0 }),
        (error: unknown) => tell({ kind: "broken", error }),
      );
    }
    if (running === 0) return;
    while (news.length === 0) await new Promise<void>((resolve) => wake = resolve);
    const made = news.shift();
    if (made?.kind === "broken") throw made.error;
    if (made?.kind === "progress") yield made;
    if (made?.kind !== "landed") continue;
    running--;
    yield { ...made, open: open-- };
  }
}

/** Calls of the log that have no result. */
export function openCalls(
  entries: readonly Entry[],
): readonly { readonly entry: AssistantEntry; readonly call: Call }[] {
  const answered = new Set(entries.flatMap((entry) => entry.kind === "result" ? [entry.call] : []));
  return entries.flatMap((entry) =>
    entry.kind === "assistant"
      ? callsOf(entry).filter((call) => !answered.has(call.ref)).map((call) => ({ entry, call }))
      : []
  );
}

/** The result of a call that nobody will answer any more. It belongs to the turn that asked, whoever closes it. */
export function abortedResult(
  { entry, call }: ReturnType<typeof openCalls>[number],
  { seq, at }: { readonly seq: number; readonly at: number },
): ResultEntry {
  const { turn, step } = entry;
  const { ref, name } = call;
  return {
    kind: "result",
    seq,
    turn,
    at,
    step,
    call: ref,
    toolName: name,
    status: "aborted",
    output: ABORTED,
    ms: 0,
  };
}
