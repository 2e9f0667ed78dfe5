/**
 * The long session that severed pairs in other runtimes: about 180 calls in one turn, file edits, shell commands and
 * fetched pages, now one at a time, now side by side.
 */
import { makePlay, type Play, type PlayedStep } from "./play.ts";
import type { Json } from "./wire_json.ts";
import { prose } from "./turns.ts";

type PlayedCall = PlayedStep["calls"][number];

/** The call of a number; sizes of the results are those of such work: most small, some large. */
function callOf(n: number): PlayedCall {
  const path = `src/part_${n % 23}/module_${n}.ts`;
  const large = n % 11 === 0 ? 4 : 1;
  switch (n % 4) {
    case 0:
      return { name: "read_file", input: { path }, result: prose(1_200 * large, n) };
    case 1:
      return {
        name: "edit_file",
        input: { path, find: prose(120, n), replace: prose(160, n + 1) },
        result: `Edited ${path}: 1 place`,
      };
    case 2:
      return {
        name: "run_command",
        input: { command: `deno test --filter part_${n} ${path}` },
        result: `exit code ${n % 3}\n${prose(700 * large, n)}\n${n % 5} failed`,
      };
    default:
      return {
        name: "fetch_page",
        input: { url: `https://docs.example/api/${n}#part-${n % 23}` },
        result: prose(1_800 * large, n),
      };
  }
}

/**
 * Makes the session.
 *
 * @param calls Calls in its one long turn; a short turn follows.
 */
export function scenario(calls = 184): Play {
  const steps: PlayedStep[] = [];
  for (let n = 0; n < calls;) {
    // Every seventh step asks for several things at once.
    const count = Math.min(steps.length % 7 === 6 ? 2 + steps.length % 3 : 1, calls - n);
    steps.push({
      ...(steps.length % 5 === 0 ? { text: `Next is part ${n % 23}.` } : {}),
      calls: Array.from({ length: count }, () => callOf(n++)),
    });
  }
  return makePlay({
    name: "the long session",
    system: "You work on a repository.",
    turns: [
      { input: "Bring every part up to the new API, and keep the tests green.", steps },
      { input: "What is left to do?", steps: [{ text: "Nothing.", calls: [] }] },
    ],
  });
}

/** A session as messages of Chat Completions. */
export function messagesOf({ system, turns }: Play): readonly Json[] {
  let id = 0;
  return [
    { role: "system", content: system },
    ...turns.flatMap(({ input, steps }) => [
      { role: "user", content: input },
      ...steps.flatMap(({ text = "", calls }) => {
        const made = calls.map(({ name, input, result }) => ({ id: `call_${id++}`, name, input, result }));
        const tool_calls = made.map(({ id, name, input }) => ({
          id,
          type: "function",
          function: { name, arguments: JSON.stringify(input) },
        }));
        return [
          { role: "assistant", content: text || null, ...(made.length > 0 ? { tool_calls } : {}) },
          ...made.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: result })),
        ];
      }),
    ]),
  ];
}
