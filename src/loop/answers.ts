/**
 * Answers to the calls of a paused turn: each is held against what waits, before anything is stored.
 *
 * @module
 */
import { counted } from "../core/counted.ts";
import { SelvageError } from "../core/errors.ts";
import type { ToolOutput } from "../core/message.ts";
import type { CallStatus, Pause, PausedCall, Said } from "../ports.ts";
import type { AnswerRequest, Approval, CallAnswer } from "./agent.ts";
import { firstTwice } from "./ready.ts";
import { toOutput } from "./tools.ts";

/** The result that an answer makes of a call. */
export interface AnsweredCall {
  readonly call: PausedCall;
  readonly status: CallStatus;
  readonly output: ToolOutput;
}

/** What answers make of a pause. */
export interface MatchedAnswers {
  /** Calls that have their result by it. */
  readonly answered: readonly AnsweredCall[];
  /** What is left. */
  readonly pause: Pause;
  /** What the user says behind them. */
  readonly said?: Said;
}

/** Bytes of an input that is kept with the lease, in one value of a store, until calls that were allowed have run. */
const MAX_KEPT = 48 * 1024;

/**
 * Holds answers against the calls that wait.
 *
 * @param request The answers, and the turn.
 * @param waiting The pause in force, and whether a reference is that of a call of the turn.
 * @throws SelvageError `call_not_found`, `call_not_pending` (fields: `ref`), `bad_request`; `turn_paused` where calls
 *   would still wait before an input, `input_too_large` for one that cannot be kept until calls have run.
 */
export function matchAnswers(
  { turn, results = [], approvals = [], input, client }: Pick<
    AnswerRequest,
    "turn" | "results" | "approvals" | "input" | "client"
  >,
  { pause, isCall }: { readonly pause: Pause; readonly isCall: (ref: string) => boolean },
): MatchedAnswers {
  const refs = [...results, ...approvals].map(({ ref }) => ref);
  const refuse = (code: string, ref: string, found: string): SelvageError =>
    new SelvageError(
      code,
      `Cannot answer the call ${JSON.stringify(ref.slice(0, 40))} of turn "${turn}": ${found}`,
      { fields: { turn, ref } },
    );
  if (refs.length === 0) {
    throw new SelvageError(
      "bad_request",
      `Cannot answer turn "${turn}": found no answer, wanted one at least`,
    );
  }
  const twice = firstTwice(refs);
  if (twice !== undefined) throw refuse("bad_request", twice, "found two answers, wanted one");
  const pending = new Map(pause.pending.map((call) => [call.ref, call]));
  const find = (ref: string, reason: PausedCall["reason"]): PausedCall => {
    const call = pending.get(ref);
    if (call === undefined) {
      throw isCall(ref)
        ? refuse("call_not_pending", ref, "found it answered, or run by the service, wanted one that waits")
        : refuse("call_not_found", ref, "found no such call in the turn");
    }
    if (call.reason === reason) return call;
    throw refuse(
      "call_not_pending",
      ref,
      reason === "tool" ? "found a result, wanted an approval" : "found an approval, wanted a result",
    );
  };
  const answered = [
    ...results.map((answer) => ({ call: find(answer.ref, "tool"), ...outcomeOf(answer, refuse) })),
    ...approvals.filter(({ approved }) => !approved).map((approval) => ({
      call: find(approval.ref, "approval"),
      ...denied(approval),
    })),
  ];
  const allowed = approvals.filter(({ approved }) => approved).map(({ ref }) => find(ref, "approval").ref);
  const decided = Object.fromEntries(approvals.map(({ ref, ...approval }) => [ref, approval]));
  for (const ref of refs) pending.delete(ref);
  const left: Pause = {
    ...pause,
    pending: [...pending.values()],
    approved: [...pause.approved, ...allowed],
    ...(approvals.length === 0 ? {} : { approvals: { ...pause.approvals, ...decided } }),
  };
  if (input === undefined) return { answered, pause: left };
  const said: Said = { input, ...(client === undefined ? {} : { client }) };
  requireLast(said, { turn, pause: left });
  return { answered, pause: left, said };
}

/** Refuses what the user says where it could not come right behind the results. */
function requireLast(
  said: Said,
  { turn, pause: { pending, approved } }: { readonly turn: string; readonly pause: Pause },
): void {
  if (pending.length > 0) {
    const found = `${counted(pending.length, "call")} still waiting behind these answers`;
    throw new SelvageError(
      "turn_paused",
      `Cannot take the input to turn "${turn}": found ${found}, wanted answers to all of them with it`,
      { fields: { turn, pending } },
    );
  }
  const bytes = approved.length === 0 ? 0 : new TextEncoder().encode(JSON.stringify(said)).length;
  if (bytes <= MAX_KEPT) return;
  throw new SelvageError(
    "input_too_large",
    `Cannot keep the input until the calls that were allowed have run: found ${bytes} bytes, wanted at most ` +
      `${MAX_KEPT}; say it once they have`,
    { fields: { turn, bytes, limit: MAX_KEPT } },
  );
}

function outcomeOf(
  answer: CallAnswer,
  refuse: (code: string, ref: string, found: string) => SelvageError,
): Pick<AnsweredCall, "status" | "output"> {
  try {
    if (!("error" in answer)) return { status: "ok", output: toOutput(answer.output) };
    const error = toOutput(answer.error);
    return {
      status: "error",
      output: error.type === "text"
        ? { type: "error-text", value: error.value }
        : { type: "error-json", value: "value" in error ? error.value : null },
    };
  } catch (error) {
    if (error instanceof TypeError) throw refuse("bad_request", answer.ref, error.message);
    throw error;
  }
}

/** The result of a call that a person does not allow. */
function denied({ reason = "" }: Approval): Pick<AnsweredCall, "status" | "output"> {
  const why = reason.trim() === "" ? "" : `: ${reason}`;
  return {
    status: "error",
    output: { type: "execution-denied", reason: `The user did not allow the call${why}` },
  };
}
