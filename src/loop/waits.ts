/**
 * Which calls of a step are run here, and which wait for the client or for a person.
 *
 * @module
 */
import { isUnparsed } from "../formats/call_input.ts";
import type { PausedCall, Tool } from "../ports.ts";
import { bounded } from "./bounded.ts";
import { type Call, type CallsOptions, NOT_RUN, timeoutOf } from "./calls.ts";
import { copyOf, describe, withSignal } from "./tools.ts";

/** The calls of a step. */
export interface SortedCalls {
  /** Run here, whatever comes of it. */
  readonly run: readonly Call[];
  /** Why calls are answered with an error, rather than run: by reference. */
  readonly refused: ReadonlyMap<string, string>;
  /** Wait for the client, or for a person. */
  readonly waiting: readonly PausedCall[];
}

type Verdict = { readonly kind: "run" } | { readonly kind: "wait"; readonly reason: PausedCall["reason"] } | {
  readonly kind: "refuse";
  readonly text: string;
};

/**
 * Sorts the calls of a step. Calls with which something is wrong are run: each gets its error at once.
 *
 * @param calls The calls.
 * @param options The agent, why its answer ended, whose session it is.
 */
export async function sortCalls(calls: readonly Call[], options: CallsOptions): Promise<SortedCalls> {
  const verdicts = await Promise.all(calls.map((call) => judge(call, options)));
  const refused = new Map<string, string>();
  const waiting: PausedCall[] = [];
  const run: Call[] = [];
  for (const [index, call] of calls.entries()) {
    const verdict = verdicts[index];
    if (verdict?.kind === "refuse") refused.set(call.ref, verdict.text);
    if (verdict?.kind === "wait") waiting.push({ ref: call.ref, name: call.name, reason: verdict.reason });
    else run.push(call);
  }
  return { run, refused, waiting };
}

async function judge(
  call: Call,
  { agent, tools, reason, context, signal, clock }: CallsOptions,
): Promise<Verdict> {
  const tool = tools.find(({ name }) => name === call.name);
  const isWhole = NOT_RUN[reason] === undefined && !isUnparsed(call.input);
  if (tool === undefined || !isWhole || signal.aborted) return { kind: "run" };
  if (tool.execute !== undefined && tool.needsApproval === undefined) return { kind: "run" };
  try {
    const input = tool.parse(copyOf(call.input));
    if (!input.ok) return { kind: "run" };
    if (tool.execute === undefined) return { kind: "wait", reason: "tool" };
    const ask = (signal: () => AbortSignal) =>
      tool.needsApproval?.(input.value, withSignal({ ...context, call: call.ref }, signal));
    const timeoutMs = tool.timeoutMs ?? timeoutOf(agent);
    const asked = await bounded(ask, { signal, clock, timeoutMs });
    switch (asked.kind) {
      case "done":
        // Only a clear no lets a call run without a person.
        return asked.value === false ? { kind: "run" } : { kind: "wait", reason: "approval" };
      case "late":
        return { kind: "refuse", text: notRun(tool, `no answer in ${timeoutMs} ms`) };
      case "aborted":
        // The turn is over: the call ends as aborted, in its place.
        return { kind: "run" };
      default:
        return asked satisfies never;
    }
  } catch (error) {
    return { kind: "refuse", text: notRun(tool, describe(error)) };
  }
}

function notRun({ name }: Tool, why: string): string {
  return `Not executed: whether ${name} may be run could not be found out: ${why}`;
}
