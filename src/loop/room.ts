/**
 * The room for what a user says: what no compaction could make room for is refused before it is stored.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { entryTokens } from "../compaction/context.ts";
import { pinnedEntries, wholeAtoms } from "../compaction/pins.ts";
import type { Entry, SessionHead } from "../ports.ts";
import { measurePart, MESSAGE_OVERHEAD, type TextMeasure } from "../tokens/measure.ts";
import type { ReadyAgent, TurnRequest } from "./agent.ts";
import { budgetOf, measuresOf } from "./measures.ts";

type Input = TurnRequest["input"];

/** Whether there is nothing in an input that a model could be shown. */
function isEmptyInput(input: Input): boolean {
  if (typeof input === "string") return input.trim() === "";
  return !input.some((part) => part.type === "file" || part.text.trim() !== "");
}

function inputTokens(input: Input, measure: TextMeasure): number {
  const parts = typeof input === "string" ? [{ type: "text" as const, text: input }] : input;
  return parts.reduce((total, part) => total + measurePart(part, measure), MESSAGE_OVERHEAD);
}

/** Entries that stay verbatim, whole atoms, and so take room from a new input. */
export function pinnedAtoms(entries: readonly Entry[], pins: SessionHead["pins"]): readonly Entry[] {
  return wholeAtoms(entries, pinnedEntries(entries, pins)).flatMap((seq) => entries[seq] ?? []);
}

/**
 * Refuses an input that no session could take.
 *
 * @param input What the user says.
 * @param agent Whose window it is to fit.
 * @throws SelvageError `bad_budget`, `input_empty`, `input_too_large`.
 */
export async function requireInput(input: Input, agent: ReadyAgent): Promise<void> {
  const { maxInput } = budgetOf(agent);
  if (isEmptyInput(input)) {
    throw new SelvageError("input_empty", "Cannot take the input: found an empty one, wanted text or a file");
  }
  await requireRoom(input, { agent, limit: maxInput });
}

/** Refuses an input for which no compaction could make room beside what is pinned: stored, it would brick the session. */
export async function requireRoom(
  input: Input,
  { agent, limit, pinned = [] }: {
    readonly agent: ReadyAgent;
    readonly limit: number;
    readonly pinned?: readonly Entry[];
  },
): Promise<void> {
  const { tokenFactor: factor = 1 } = agent.model;
  const measures = measuresOf(agent);
  const count = (measure: TextMeasure): number =>
    Math.ceil(
      factor * pinned.reduce((sum, entry) => sum + entryTokens(entry, measure), inputTokens(input, measure)),
    );
  if (count(measures.bound) <= limit) return;
  const tokens = count(await measures.loadMeasure());
  if (tokens <= limit) return;
  const beside = pinned.length === 0 ? "" : `, the ${pinned.length} pinned before it included`;
  throw new SelvageError(
    "input_too_large",
    `Cannot take the input: found one of ${tokens} tokens${beside}, wanted at most ${limit}`,
    { fields: { tokens, limit } },
  );
}
