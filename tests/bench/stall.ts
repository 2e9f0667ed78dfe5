/** What a summary of five seconds costs a turn: nothing beside it, against a loop that waits for it. */
import { measureStall, type StallRun, SUMMARY_MS } from "./_stall.ts";

function rowOf(run: StallRun, base: StallRun): Record<string, string | number> {
  const added = run.ms - base.ms;
  return {
    "turn, s": (run.ms / 1_000).toFixed(1),
    compactions: run.compactions,
    "with prose": run.withProse,
    "added, ms": added,
    "added per compaction, ms": Math.round(added / Math.max(1, run.compactions)),
    "to a turn without a summary": `${(run.ms / base.ms).toFixed(2)}x`,
  };
}

/** Plays one turn three times and prints what each took, in virtual time. */
export async function run(): Promise<void> {
  const base = await measureStall("none");
  const own = await measureStall("background");
  const blocking = await measureStall("blocking");
  console.log(
    `One turn of about 120 tool calls of 1 s; a summary takes ${SUMMARY_MS / 1_000} s. Virtual time.`,
  );
  console.table({
    "no summary, ledger alone": rowOf(base, base),
    "Selvage: written beside the turn": rowOf(own, base),
    "the same loop, waiting for it": rowOf(blocking, base),
  });
  const added = own.ms - base.ms;
  console.log(`Wanted: at most 50 ms added; measured: ${added} ms: ${added <= 50 ? "met" : "NOT met"}`);
}
