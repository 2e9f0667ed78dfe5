/** Sessions of an agent as they were, or could have been, so that they can be done again. */
import { type ScriptedCall, scriptedTokens } from "../../src/models/scripted.ts";

/** One step as it was: what the model said, and what each of its calls came to. */
export interface PlayedStep {
  readonly text?: string;
  readonly calls: readonly (ScriptedCall & { readonly result: string })[];
}

/** A session as it was. */
export interface Play {
  readonly name: string;
  readonly system: string;
  readonly turns: readonly { readonly input: string; readonly steps: readonly PlayedStep[] }[];
  /** Tokens of all messages, and of the largest one of them, at four bytes each. */
  readonly tokens: number;
  readonly largest: number;
}

/** Measures a session. */
export function makePlay({ name, system, turns }: Pick<Play, "name" | "system" | "turns">): Play {
  const sizes = turns.flatMap(({ input, steps }) => [
    scriptedTokens(input),
    ...steps.flatMap(({ text = "", calls }) => [
      scriptedTokens([text, calls.map(({ name, input }) => ({ name, input }))]),
      ...calls.map(({ result }) => scriptedTokens(result)),
    ]),
  ]);
  return {
    name,
    system,
    turns,
    tokens: sizes.reduce((sum, tokens) => sum + tokens, 0),
    largest: Math.max(...sizes),
  };
}
