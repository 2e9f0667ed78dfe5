/** Turns that read: tools whose results are as long as they are asked for, and what is true of any such turn. */
import assert from "node:assert/strict";
import type { StoredView } from "../../src/compaction/context.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import { assertAccounted, overflow } from "../support/requests.ts";
import { Bench, type BenchOptions, calls, eventsOf, prose, tool } from "../support/turns.ts";

/** Texts of the length that the call asks for. */
export const tools = [tool("read", ({ n, length }) => prose(Number(length), Number(n)))];

let seed = 0;

/** A step of `count` parallel reads of `length` characters each. */
export function reads(length: number, count = 1): ScriptedReply {
  return calls("read", ...Array.from({ length: count }, () => ({ n: seed++ % 500, length })));
}

export function times(count: number, reply: () => ScriptedReply): ScriptedReply[] {
  return Array.from({ length: count }, reply);
}

export function compactions(events: readonly TurnEvent[]): string[] {
  return eventsOf(events, "compaction").map(({ phase, reason, resolved }) =>
    [phase, reason, ...(resolved === undefined ? [] : [resolved])].join(" ")
  );
}

/** Runs one turn and holds it to everything that is true of any turn. */
export async function soundly(
  options: BenchOptions,
  input = "The task: read all of it.",
): Promise<{ bench: Bench; events: TurnEvent[] }> {
  const bench = new Bench({ tools, ...options });
  const events = await bench.run(input);
  const { entries, head, view } = await bench.assertSound();
  for (const request of bench.requests) {
    assertAccounted(request, entries);
    assert.equal(overflow(request, bench.agent.model.window), 0);
    assert.ok(request.messages.some(({ role, content }) => role === "user" && content === input));
  }
  if (view !== null) assert.equal((view as StoredView).version, head.view);
  return { bench, events };
}
