/**
 * Turns as async iterations of events; every protocol encodes them.
 *
 * @module
 */
import type { AnswerRequest, ResumeRequest, TurnPorts, TurnRequest } from "./agent.ts";
import type { TurnEvent } from "./events.ts";
import { handOver } from "./hand_over.ts";
import { Turn } from "./run.ts";

/**
 * Runs one turn: from a user message to the assistant's final answer.
 *
 * @param request Agent, session and input.
 * @param ports Store and clock.
 * @returns The events of the turn, `turn.started` first and `turn.finished` last, or `turn.paused` where it waits for
 *   its client or a person: see {@link answerTurn}. Leaving the iteration early cancels the turn. The first `next()`
 *   rejects with a `SelvageError` when the turn cannot start: `turn_running`, `turn_interrupted`, `turn_paused`,
 *   `input_empty`, `input_too_large`, `bad_client_tools`, `bad_budget`; nothing is stored then.
 *
 * @example
 * ```ts
 * import { memoryStore, runTurn, scripted } from "@selvage/selvage";
 *
 * const agent = { model: scripted({ script: () => ({ text: "Hello." }) }) };
 * for await (const event of runTurn({ agent, session: "s1", input: "Hi" }, { store: memoryStore() })) {
 *   if (event.type === "text.delta") console.log(event.text);
 * }
 * ```
 */
export function runTurn(request: TurnRequest, ports: TurnPorts): AsyncGenerator<TurnEvent, void> {
  return play(() => Turn.open(request, ports));
}

/**
 * Goes on with a turn that its process left unfinished, because it died or was told to go down: what is in the log
 * stays, calls that a process told to go down has not begun are run, other calls without a result are closed as aborted
 * (or run again, where their tool has `sideEffect: "none"`), and the step that was cut off begins anew.
 *
 * @param request Agent, session and id of the turn.
 * @param ports Store and clock.
 * @returns The events from here on; none where the turn was taken over too often and has ended as `turn_lost`. The
 *   first `next()` rejects with a `SelvageError` when there is nothing to take over: `turn_running`, `turn_over`.
 *
 * @example
 * ```ts
 * import { memoryStore, resumeTurn, runTurn, scripted } from "@selvage/selvage";
 *
 * const [agent, store] = [{ model: scripted({ script: () => ({ text: "Hello." }) }) }, memoryStore()];
 * const down = AbortSignal.abort();
 * let turn = "";
 * for await (const event of runTurn({ agent, session: "s1", input: "Hi", suspend: down }, { store })) {
 *   if (event.type === "turn.started") turn = event.turn;
 * }
 * for await (const event of resumeTurn({ agent, session: "s1", turn }, { store })) {
 *   if (event.type === "text.delta") console.log(event.text); // Hello.
 * }
 * ```
 */
export function resumeTurn(request: ResumeRequest, ports: TurnPorts): AsyncGenerator<TurnEvent, void> {
  return play(() => Turn.reopen(request, ports));
}

/**
 * Answers calls of a turn that has paused for its client, or for a person, and goes on with it once none is left that
 * waits; until then it pauses again. The answers are stored before the first event, all or none of them, and with them
 * the `input` that the user says behind them.
 *
 * @param request Agent, session, id of the turn, and the answers.
 * @param ports Store and clock.
 * @returns The events from here on, `turn.paused` or `turn.finished` last. The first `next()` rejects with a
 *   `SelvageError` when the answers do not fit, and stores nothing then: `turn_not_paused`, `call_not_found`,
 *   `call_not_pending`, `bad_request`; for an `input`, `turn_paused` where calls still wait behind the answers,
 *   `input_empty`, `input_too_large`.
 *
 * @example
 * ```ts
 * import { answerTurn, defineTool, memoryStore, runTurn, scripted } from "@selvage/selvage";
 * import * as z from "zod";
 *
 * const locate = defineTool({ name: "locate", description: "Asks the client where it is", input: z.object({}) });
 * const model = scripted({
 *   script: ({ messages }) =>
 *     messages.at(-1)?.role === "tool" ? { text: "In Oslo." } : { calls: [{ name: "locate", input: {} }] },
 * });
 * const agent = { model, tools: [locate] };
 * const store = memoryStore();
 * let turn = "";
 * let ref = "";
 * for await (const event of runTurn({ agent, session: "s1", input: "Where am I?" }, { store })) {
 *   if (event.type === "turn.started") turn = event.turn;
 *   if (event.type === "turn.paused") ref = event.pending[0]?.ref ?? "";
 * }
 * const results = [{ ref, output: "Oslo" }];
 * for await (const event of answerTurn({ agent, session: "s1", turn, results }, { store })) {
 *   if (event.type === "text.delta") console.log(event.text); // In Oslo.
 * }
 * ```
 */
export function answerTurn(request: AnswerRequest, ports: TurnPorts): AsyncGenerator<TurnEvent, void> {
  return play(() => Turn.answer(request, ports));
}

function play(open: () => Promise<Turn | null>): AsyncGenerator<TurnEvent, void> {
  let turn: Turn | null = null;
  return handOver(async (give) => {
    turn = await open();
    await turn?.run(give);
  }, () => turn?.leave());
}
