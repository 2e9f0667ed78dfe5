/**
 * The inspector: what a model is shown of a session, atom by atom.
 *
 * @module
 */
import { Context, type StoredView, summaryText } from "../compaction/context.ts";
import { type PinnedBy, pinnedBy, pinnedEntries, wholeAtoms } from "../compaction/pins.ts";
import type { Atom } from "../core/record.ts";
import type { Entry, SessionHead } from "../ports.ts";
import type { ReadyAgent } from "./agent.ts";
import { agentFor, askedIn } from "./asked.ts";
import { measured } from "./measured.ts";
import { measuresOf } from "./measures.ts";
import { toolsOf } from "./recall.ts";

/** One atom of the log and how it is shown. Positions count entries. */
export interface InspectedAtom {
  /** First entry. */
  readonly from: number;
  /** One past the last entry. */
  readonly to: number;
  /** What it is. */
  readonly kind: Atom["kind"];
  /** Whether a call of it is in flight. */
  readonly open: boolean;
  /** `pinned`: verbatim behind the summary. `shortened`: raw, with a result cut down. */
  readonly state: "raw" | "shortened" | "pinned" | "summarised";
  /** Why it stays verbatim, of what is `pinned`, and of whatever else a caller has pinned. */
  readonly pinnedBy?: PinnedBy;
  /** Counted tokens of the originals. */
  readonly tokens: number;
  /** Counted tokens of what the model is shown of it; 0 where that is a line of the summary. */
  readonly shown: number;
}

/** What `GET /v1/sessions/:id/context` shows. */
export interface InspectedContext {
  /** Number of the view in force, 0 for the log itself. */
  readonly view: number;
  /** First entry that is shown raw. */
  readonly cut: number;
  /** Every atom of the log. */
  readonly atoms: readonly InspectedAtom[];
  /** Entry numbers at which the log may be cut. */
  readonly legalCuts: readonly number[];
  /** What the model is told of what was cut away. */
  readonly summary: { readonly text: string; readonly tokens: number } | null;
  /** Tokens of the context, and the marks that they are held against. */
  readonly meter: {
    readonly tokens: number;
    readonly window: number;
    readonly compactAt: number;
    readonly stopAt: number;
  };
  /** A compaction that was due and found no legal cut. */
  readonly flag: SessionHead["flag"] | null;
}

/**
 * Looks at a session as its next request would show it.
 *
 * @param session The agent whose limits apply, and the session as stored.
 */
export async function inspectContext(
  { agent: given, head, entries, view }: {
    readonly agent: ReadyAgent;
    readonly head: SessionHead;
    readonly entries: readonly Entry[];
    readonly view: StoredView | null;
  },
): Promise<InspectedContext> {
  const agent = agentFor(given, askedIn(entries, entries.at(-1)?.turn));
  const { context, meter, budget } = await measured(agent, { head, entries, view });
  const log = await (await Context.create(entries, { view: null, ...measuresOf(agent) })).transcript();
  const { cut, ledger, version, trims } = context.view;
  const pinned = new Set(context.view.pinned);
  const shortened = new Set([
    ...trims.map(([seq]) => seq),
    ...entries.flatMap((entry) => entry.kind === "result" && entry.cap !== undefined ? [entry.seq] : []),
  ]);
  const has = ({ from, to }: Atom, seqs: ReadonlySet<number>): boolean =>
    entries.slice(from, to).some(({ seq }) => seqs.has(seq));
  const stateOf = (atom: Atom): InspectedAtom["state"] => {
    if (atom.from >= cut) return has(atom, shortened) ? "shortened" : "raw";
    return has(atom, pinned) ? "pinned" : "summarised";
  };
  const pins = new Set(wholeAtoms(entries, pinnedEntries(entries, head.pins)));
  const whyOf = (atom: Atom): { readonly pinnedBy?: PinnedBy } => {
    if (stateOf(atom) !== "pinned" && !has(atom, pins)) return {};
    const own = entries.slice(atom.from, atom.to);
    return { pinnedBy: pinnedBy(own, { pins: head.pins, caller: pins, tools: toolsOf(agent) }) };
  };
  const shownTokens = new Map<number, number>();
  for (let at = 0; at < context.length; at++) {
    const seq = context.seqOf(at);
    if (seq !== null) shownTokens.set(seq, await context.exact(at, at + 1));
  }
  const shownOf = ({ from, to }: Atom): number => {
    let tokens = 0;
    for (let seq = from; seq < to; seq++) tokens += shownTokens.get(seq) ?? 0;
    return tokens;
  };
  const measure = await context.measure();
  const text = summaryText(context.view, context.recall);
  return {
    view: version,
    cut,
    atoms: log.atoms.map((atom) => ({ ...atom, state: stateOf(atom), ...whyOf(atom), shown: shownOf(atom) })),
    legalCuts: log.legalCuts,
    summary: ledger.length === 0 ? null : { text, tokens: measure(text) },
    meter: {
      tokens: await meter.estimate(context),
      window: budget.window,
      compactAt: budget.compactAt,
      stopAt: budget.stopAt,
    },
    flag: head.flag ?? null,
  };
}
