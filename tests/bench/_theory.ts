/**
 * The theory's reference selector, written down in TypeScript as it stands: id sets, one scan of the log for each
 * candidate. It is what the core is measured against; its defects are kept.
 */

/** A record as the theory has it. */
export interface TheoryRecord {
  readonly kind: "assistant" | "tool_use" | "tool_result" | "user";
  readonly callId: string | null;
  readonly tokens: number;
}

function pendingCallsAt(records: readonly TheoryRecord[], cut: number): ReadonlySet<string> {
  const used = new Set<string>();
  const satisfied = new Set<string>();
  for (const { kind, callId } of records.slice(0, cut)) {
    if (kind === "tool_use" && callId !== null) used.add(callId);
    else if (kind === "tool_result" && callId !== null) satisfied.add(callId);
  }
  return used.difference(satisfied);
}

function orphanResultsAt(records: readonly TheoryRecord[], cut: number): ReadonlySet<string> {
  const usedAfter = new Set<string>();
  for (const { kind, callId } of records.slice(cut)) {
    if (kind === "tool_use" && callId !== null) usedAfter.add(callId);
  }
  const orphans = new Set<string>();
  for (const { kind, callId } of records.slice(0, cut)) {
    if (kind === "tool_result" && callId !== null && usedAfter.has(callId)) orphans.add(callId);
  }
  return orphans;
}

/** Walks back from the target to a cut with nothing pending; null where it would defer. */
export function selectByTheory(
  records: readonly TheoryRecord[],
  { target, lookback }: { readonly target: number; readonly lookback: number },
): number | null {
  const total = records.reduce((sum, { tokens }) => sum + tokens, 0);
  if (target >= total) return records.length;
  let index = 0;
  for (let at = 0, sum = 0; at < records.length; at++) {
    sum += records[at]?.tokens ?? 0;
    if (sum < target) continue;
    index = at;
    break;
  }
  let floor = index;
  for (let at = index, sum = 0; at >= 0; at--) {
    sum += records[at]?.tokens ?? 0;
    if (sum > lookback) break;
    floor = at;
  }
  for (let cut = index; cut >= floor; cut--) {
    if (pendingCallsAt(records, cut).size > 0) continue;
    if (orphanResultsAt(records, cut).size > 0) continue;
    return cut;
  }
  return null;
}
