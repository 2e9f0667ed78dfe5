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

function pendingAt(records: readonly TheoryRecord[], cut: number): number {
  const used = new Set<string>();
  const satisfied = new Set<string>();
  for (const { kind, callId } of records.slice(0, cut)) {
    if (callId === null) continue;
    if (kind === "tool_use") used.add(callId);
    else if (kind === "tool_result") satisfied.add(callId);
  }
  let pending = 0;
  for (const id of used) if (!satisfied.has(id)) pending++;
  return pending;
}

function orphansAt(records: readonly TheoryRecord[], cut: number): number {
  const after = new Set<string>();
  for (const { kind, callId } of records.slice(cut)) {
    if (kind === "tool_use" && callId !== null) after.add(callId);
  }
  let orphans = 0;
  for (const { kind, callId } of records.slice(0, cut)) {
    if (kind === "tool_result" && callId !== null && after.has(callId)) orphans++;
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
    if (pendingAt(records, cut) === 0 && orphansAt(records, cut) === 0) return cut;
  }
  return null;
}
