/**
 * Checks a transcript in its own format: pairing and the rules of the dialect.
 *
 * @module
 */
import { checkTranscript } from "../core/check.ts";
import type { Violation, ViolationCode } from "../core/record.ts";
import { APPROVAL, type Piece } from "./format.ts";
import { idFaults, resultsOf } from "./ids.ts";
import { hasLateResults, isRound, isSystem, type Place, placesOf, startsOf } from "./pieces.ts";
import type { Reading } from "./read.ts";

/** A call that has no result, and why. */
export interface OpenCall {
  /** Message index. */
  readonly at: number;
  /** Index among the calls of its message; a question for approval that is no call's counts from -1 downwards. */
  readonly call: number;
  /** Its id, where it has one. */
  readonly callId: string | null;
  /** Name of the tool, where it has one. */
  readonly name: string | null;
  /** Whether somebody will answer it. */
  readonly state: "in_flight" | "abandoned";
}

function dialectViolation(code: ViolationCode, at: number, message: string): Violation {
  return { code, condition: "dialect", at, callId: null, message };
}

/**
 * Whether the provider's own result of a call stands apart from it: both are of the assistant, and a result of the
 * client answers no such call. Only Anthropic refuses that.
 */
export function isHostedApart(
  { format, pieces }: Reading,
  { call, result: { piece, message } }: { readonly call: Piece; readonly result: Place },
): boolean {
  return format.name === "anthropic" && (call.isHosted === true || piece.isHosted === true) &&
    piece.isInPlace !== true && pieces[message]?.some(isRound) !== true;
}

/** What the core does not see of pairs: tools that the provider runs, names of results, results in front. */
function pairViolations(reading: Reading): readonly Violation[] {
  const { format, pieces, early } = reading;
  const flat = placesOf(pieces);
  const found: Violation[] = [];
  for (const [call, results] of resultsOf(reading)) {
    const asked = flat[call]?.piece;
    if (asked === undefined || asked.approval === true) continue;
    for (const record of results) {
      const result = flat[record];
      if (result === undefined) continue;
      const { piece, message } = result;
      const callId = piece.callId || null;
      const name = `The result ${callId ?? "without an id"}`;
      if (isHostedApart(reading, { call: asked, result })) {
        const text = `${name} of a tool that the provider runs is not in the message of its call`;
        found.push({ code: "misplaced_result", condition: "C3", at: message, callId, message: text });
      }
      if (format.withName !== undefined && isMisnamed(asked, piece)) {
        const [own, wanted] = [piece.name ?? "", asked.name].map((name) => JSON.stringify(name));
        const text = `${name} names the tool ${own}, and its call ${wanted}`;
        found.push({ code: "mismatched_name", condition: "dialect", at: message, callId, message: text });
      }
    }
  }
  for (const [result] of early) {
    const { message, piece } = flat[result] ?? { message: 0, piece: undefined };
    const text = `The result ${piece?.callId} stands in front of its call`;
    found.push({
      code: "misplaced_result",
      condition: "C3",
      at: message,
      callId: piece?.callId ?? null,
      message: text,
    });
  }
  return found;
}

/** Whether a result names another tool than its call does. */
export function isMisnamed(call: Piece, result: Piece): boolean {
  return Boolean(call.name) && (result.name ?? "") !== call.name && result.isInPlace !== true;
}

/** Arguments that no provider takes, and those that nobody can run. */
function argumentViolations({ pieces, transcript }: Reading): readonly Violation[] {
  const flat = placesOf(pieces);
  return transcript.pairs.flatMap(({ call, state }): Violation[] => {
    const { piece, message } = flat[call] ?? {};
    if (piece === undefined || message === undefined) return [];
    const callId = piece.callId || null;
    const name = piece.callId || piece.name || "without an id";
    const violation = (code: ViolationCode, text: string): Violation[] => [
      { code, condition: "dialect", at: message, callId, message: `The call ${name} has arguments ${text}` },
    ];
    if (piece.isMisshapen === true) {
      return violation("invalid_arguments", "in a shape that its format refuses");
    }
    // One that still waits for its result is only pending: see noticesOf().
    return piece.isTruncated === true && state !== "in_flight"
      ? violation("truncated_arguments", "that end too early to be JSON")
      : [];
  });
}

/** Reasoning in front of reasoning that is followed by nothing of its own is severed along with it. */
function severedChains({ pieces, transcript }: Reading): readonly Violation[] {
  const severed = new Set(
    transcript.faults.filter(({ code }) => code === "reasoning_severed").map(({ at }) => at),
  );
  const found: Violation[] = [];
  for (let at = pieces.length - 1; at > 0; at--) {
    if (!severed.has(at) || pieces[at]?.length !== 1 || pieces[at - 1]?.at(-1)?.sticks !== true) continue;
    severed.add(at - 1);
    found.push(
      dialectViolation(
        "reasoning_severed",
        at - 1,
        "The reasoning without an id is not followed by its answer or call",
      ),
    );
  }
  return found;
}

/** Faults of the core that the format sees in another way. */
function coreViolations({ format, transcript, early, pieces }: Reading): readonly Violation[] {
  const fronts = new Set([...early.keys()].map((record) => {
    const { message, callId } = transcript.records[record] ?? {};
    return `${message} ${callId}`;
  }));
  // Where calls need an id, those without one have no id twice; each is named for having none.
  const needing = new Set<number>();
  for (const [at, message] of pieces.entries()) {
    if (message.some(({ kind, idUse }) => kind === "tool_use" && idUse === undefined)) needing.add(at);
  }
  const kept = checkTranscript(transcript).filter(({ code, at, callId }) => {
    if (code === "orphan_result") return !fronts.has(`${at} ${callId}`);
    if (code === "duplicate_call_id" && !callId) return !needing.has(at);
    if (callId?.startsWith(APPROVAL) !== true || code === "duplicate_result") return true;
    // Approvals are no calls: how often one is asked for, and for how long, is nobody's rule. Where the answer
    // stands is only the AI SDK's.
    return code === "misplaced_result" && format.name === "ai-sdk";
  });
  return kept.map((violation) => ({
    ...violation,
    callId: violation.callId?.replace(APPROVAL, "") ?? null,
    message: violation.message.replace(APPROVAL, ""),
  }));
}

/**
 * Checks a transcript.
 *
 * @param reading The transcript as it was read.
 * @returns Violations in order of their messages: conditions C1 to C3, and what the format's provider refuses.
 *
 * @example
 * ```ts
 * import { checkMessages, readTranscript } from "@selvage/selvage/core";
 *
 * const reading = readTranscript([{ role: "user", content: "" }], { format: "anthropic" });
 * console.log(checkMessages(reading).map((violation) => violation.code)); // ["empty_text"]
 * ```
 */
export function checkMessages(reading: Reading): readonly Violation[] {
  const { format, messages, pieces } = reading;
  const violations: Violation[] = [
    ...coreViolations(reading),
    ...pairViolations(reading),
    ...idFaults(reading).map(({ code, at, callId, message }): Violation => ({
      code,
      condition: "dialect",
      at,
      callId,
      message,
    })),
    ...argumentViolations(reading),
    ...severedChains(reading),
  ];
  if (format.rules.resultsFirst) {
    for (const [at, message] of pieces.entries()) {
      if (!hasLateResults(message)) continue;
      violations.push(
        dialectViolation("results_not_first", at, `Message ${at} has something in front of its results`),
      );
    }
  }
  for (const [at, message] of pieces.entries()) {
    const isEmpty = message.some((piece) =>
      piece.kind !== "tool_result" &&
      (piece.isBlank === true ||
        (format.rules.noEmptyText && piece.isText === true && piece.text.trim() === ""))
    );
    if (isEmpty) violations.push(dialectViolation("empty_text", at, `Message ${at} has an empty text`));
  }
  if (format.rules.firstFromUser) {
    const first = pieces.findIndex((message) => !isSystem(message));
    if (messages[first]?.["role"] === "assistant") {
      violations.push(
        dialectViolation("first_not_user", first, `Message ${first} is the first one and not from the user`),
      );
    }
  }
  return violations.sort((a, b) => a.at - b.at);
}

/**
 * What a repair mends though it breaks no rule of pairing, and may still be as it should: arguments of a call that
 * waits for its result and end too early, reasoning that waits beside a call that a repair answers, an empty text in
 * a result that holds more.
 *
 * @param reading The transcript as it was read.
 */
export function noticesOf(reading: Reading): readonly Violation[] {
  const { pieces, transcript } = reading;
  const flat = placesOf(pieces);
  const cut = transcript.pairs.flatMap(({ call, state }): Violation[] => {
    const { piece, message } = flat[call] ?? {};
    if (piece?.isTruncated !== true || message === undefined || state !== "in_flight") return [];
    const name = piece.callId || piece.name || "without an id";
    const text = `The call ${name} waits for its result, and its arguments end too early to be JSON`;
    const callId = piece.callId || null;
    return [{ code: "truncated_arguments", condition: "dialect", at: message, callId, message: text }];
  });
  const blank = flat.flatMap(({ piece, message }): Violation[] => {
    if (piece.kind !== "tool_result" || piece.isBlank !== true) return [];
    const callId = piece.callId || null;
    const text = `The result ${callId ?? "without an id"} holds an empty text`;
    return [{ code: "empty_text", condition: "dialect", at: message, callId, message: text }];
  });
  return [...cut, ...waitingBeside(reading, flat), ...blank].sort((a, b) => a.at - b.at);
}

/**
 * Reasoning that ends the transcript beside calls whose results a repair puts behind it: those with arguments that
 * end too early, and those whose results stand in front of them.
 */
function waitingBeside(reading: Reading, places: readonly Place[]): readonly Violation[] {
  const { pieces, transcript, early } = reading;
  const fronts = new Set(early.values());
  const starts = startsOf(reading);
  const answered = new Set(transcript.pairs.flatMap(({ call, state }) => {
    const { piece, message } = places[call] ?? {};
    const isAnswered = fronts.has(call) || (piece?.isTruncated === true && state === "in_flight");
    return isAnswered && piece?.isHosted !== true && message !== undefined ? [starts[message]] : [];
  }));
  const found: Violation[] = [];
  for (let at = pieces.length - 1; pieces[at]?.at(-1)?.sticks === true && answered.has(starts[at]); at--) {
    const text = "The reasoning waits for its answer or call, beside a call whose result will come behind it";
    found.push(dialectViolation("reasoning_severed", at, text));
  }
  return found;
}

/**
 * Calls without a result, in order; and questions for approval that wait, where they stand for a call themselves.
 *
 * @example
 * ```ts
 * import { openCalls, readTranscript } from "@selvage/selvage/core";
 *
 * const call = { id: "c1", type: "function", function: { name: "read", arguments: "{}" } };
 * const reading = readTranscript([
 *   { role: "user", content: "Read it." },
 *   { role: "assistant", content: null, tool_calls: [call] },
 * ]);
 * console.log(openCalls(reading).map(({ name }) => name)); // [ "read" ]
 * ```
 */
export function openCalls({ transcript, pieces }: Reading): readonly OpenCall[] {
  const seen = new Map<number, number>();
  const asked = new Map<number, number>();
  return transcript.pairs.flatMap((pair): OpenCall[] => {
    const call = transcript.records[pair.call];
    if (call === undefined) return [];
    const counted = call.approval === true ? asked : seen;
    const index = counted.get(call.message) ?? 0;
    counted.set(call.message, index + 1);
    if (pair.state === "answered") return [];
    if (call.approval === true) {
      const isOfCall = pieces[call.message]?.some(({ kind, approval }) => kind === "tool_use" && !approval);
      if (isOfCall === true || pair.state !== "in_flight") return [];
    }
    return [{
      at: call.message,
      call: call.approval === true ? -1 - index : index,
      callId: call.callId?.replace(APPROVAL, "") || null,
      name: call.name ?? null,
      state: pair.state,
    }];
  });
}
