/** The clerk's audit of the demo workspace through an adapter: a turn of more than 50 steps and several compactions. */
import assert from "node:assert/strict";
import type { TurnEvent } from "../../src/loop/events.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { workspaceTools } from "../../src/tools/workspace.ts";
import type { Entry, Model } from "../../src/ports.ts";
import type { AnyDouble } from "../support/double_server.ts";
import { assertLog, endOf, eventsOf } from "../support/turns.ts";

/** Settings of the audited model: so small that a turn has to be compacted. */
export const SMALL = { window: 12_000, maxOutput: 2_500 };

/** Enough for the eight parallel reads that come after unit 18. */
const UNITS = 20;

/** What came of an audit, and of a short turn after it. */
export interface Audit {
  readonly events: readonly TurnEvent[];
  readonly after: readonly TurnEvent[];
  readonly entries: readonly Entry[];
}

/** Lets a model that the clerk speaks through audit the first units; the log holds together whatever comes of it. */
export async function audit(model: Model): Promise<Audit> {
  const agent = {
    model,
    tools: workspaceTools({ sleep: () => Promise.resolve() }),
    system: "You audit a workspace.",
    maxSteps: 200,
  };
  const store = memoryStore();
  const play = (input: string): Promise<TurnEvent[]> =>
    Array.fromAsync(runTurn({ agent, session: "s1", input }, { store }));
  const events = await play(`Please audit the first ${UNITS} units of the workspace.`);
  const after = await play("read units/00/README.md");
  const { entries = [] } = await store.read({ tenant: "local", session: "s1" }) ?? {};
  assertLog(entries);
  return { events, after, entries };
}

/** Fails unless all units were sealed over several compactions, and the service has refused nothing. */
export function assertAudited(
  { after, events }: Audit,
  { requests, violations }: Pick<AnyDouble, "requests" | "violations">,
): void {
  assert.deepEqual(violations, []);
  assert.deepEqual([endOf(events), endOf(after)], ["stop", "stop"]);
  const text = eventsOf(events, "text.delta").map((event) => event.text).join("");
  const sealed = new RegExp(`Audit finished: ${UNITS} of ${UNITS} units sealed`);
  assert.match(text, sealed, "a pair was lost on the way");
  assert.ok(requests.length >= 50, `found ${requests.length} steps`);
  const applied = eventsOf(events, "compaction").filter(({ phase }) => phase === "applied").length;
  assert.ok(applied >= 3, `found ${applied} compactions`);
}
