/**
 * Branches of a session's log. A fork leaves a branch at one of its entries and copies nothing: the new branch owns
 * what is appended from there on, and shares all before with the branch that it left. Views go the same way.
 *
 * @module
 */
import type { Branch, SessionHead } from "../ports.ts";

/** Entries of a log that one branch owns: those from `from` on, before `to`. */
export interface Segment {
  readonly branch: number;
  readonly from: number;
  readonly to: number;
}

/** The number of the branch in force; the first is 0. */
export function branchOf(head: SessionHead): number {
  return head.branch ?? 0;
}

/** All branches of a session by number, each as long as it is now. */
export function branchesOf(head: SessionHead): readonly Branch[] {
  const { length, view, branches = [{ parent: null, at: 0, base: 0, length, view }] } = head;
  return branches.map((branch, number) => number === branchOf(head) ? { ...branch, length, view } : branch);
}

/**
 * The head as it is for those who look at one branch; null where there is no such branch. A branch that was left
 * has no flag, no bill and no turn.
 */
export function headOn(head: SessionHead, branch: number): SessionHead | null {
  if (branch === branchOf(head)) return head;
  const found = branchesOf(head)[branch];
  if (found === undefined) return null;
  const { flag: _flag, meter: _meter, lease: _lease, ...rest } = head;
  return { ...rest, branch, length: found.length, view: found.view };
}

/** Which branches own the entries of the log in force, in the order of the log. */
export function segmentsOf(head: SessionHead): readonly Segment[] {
  const branches = branchesOf(head);
  const segments: Segment[] = [];
  let to = head.length;
  for (let number: number | null = branchOf(head); number !== null;) {
    const branch: Branch | undefined = branches[number];
    if (branch === undefined) break;
    if (branch.at < to) segments.unshift({ branch: number, from: branch.at, to });
    to = Math.min(to, branch.at);
    number = branch.parent;
  }
  return segments;
}

/** The branch that owns an entry of the log in force; null where the log has no such entry. */
export function ownerOfEntry(head: SessionHead, seq: number): number | null {
  return segmentsOf(head).find(({ from, to }) => seq >= from && seq < to)?.branch ?? null;
}

/** The branch that owns a view of the log in force. */
export function ownerOfView(head: SessionHead, version: number): number {
  const branches = branchesOf(head);
  let number = branchOf(head);
  for (;;) {
    const branch = branches[number];
    if (branch === undefined || branch.parent === null || version > branch.base) return number;
    number = branch.parent;
  }
}
