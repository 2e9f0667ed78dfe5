/** Turns that pause, for tests: tools that wait, and what came of them. */
import assert from "node:assert/strict";
import * as z from "zod";
import type { TurnEvent } from "../../src/loop/events.ts";
import { defineTool } from "../../src/loop/tools.ts";
import type { Tool } from "../../src/ports.ts";
import type { Bench } from "../support/turns.ts";

/** A tool that the client runs. */
export function clientTool(name: string): Tool {
  return defineTool({ name, description: `The client does ${name}`, input: z.object({ n: z.number() }) });
}

/** A tool that a person has to allow, which keeps count. */
export function guarded(
  name: string,
  runs: unknown[],
  needsApproval: Parameters<typeof defineTool>[0]["needsApproval"] = true,
) {
  return defineTool({
    name,
    description: `Does ${name}`,
    input: z.looseObject({}),
    needsApproval,
    execute: (input) => {
      runs.push(input);
      return `${name} is done`;
    },
  });
}

export function pausedOf(events: readonly TurnEvent[]) {
  const last = events.at(-1);
  assert.equal(last?.type, "turn.paused", `found ${last?.type} at the end`);
  return last;
}

/** What each result of the log says. */
export async function resultsOf(bench: Bench) {
  const { entries } = await bench.state();
  return entries.flatMap((entry) =>
    entry.kind === "result" ? [[entry.call, entry.status, entry.output]] : []
  );
}
