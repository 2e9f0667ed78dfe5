/**
 * A view as it is stored with a session, and its summary as a text.
 *
 * @module
 */
import { type View, WHOLE_LOG } from "../core/view.ts";
import type { CompactionNote } from "../ports.ts";
import { type LedgerLine, renderLedger, renderProse } from "./ledger.ts";

/** A view with all that it takes to render it again: JSON, stored with the session. Indexes are entry numbers. */
export interface StoredView extends View {
  /** Results shown shortened: entry number and the most tokens. */
  readonly trims: readonly (readonly [seq: number, tokens: number])[];
  readonly ledger: readonly LedgerLine[];
  /** What a model wrote beside the ledger. */
  readonly prose?: string;
  /** Where it was made, as it is stored: the length of the log, and what came of the compaction. */
  readonly made?: { readonly at: number; readonly note: CompactionNote };
}

/** The summary of a view as the model is shown it: the ledger, then prose where there is some; `recall` as in its frame. */
export function summaryText({ ledger, prose }: StoredView, recall = false): string {
  const text = renderLedger(ledger, { recall });
  return prose === undefined ? text : `${text}\n\n${renderProse(prose)}`;
}

/** The view of a session that was never compacted. */
export const EMPTY_VIEW: StoredView = { ...WHOLE_LOG, trims: [], ledger: [] };
