/**
 * The window as a bar: what the model is shown right now, to the scale of all that it could be shown.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { InspectedContext } from "../../client/mod.ts";
import { type Block, Strip } from "../base/strip.ts";
import { grouped } from "../../files/words.ts";
import { sayBlock, sayMeter, SUMMARY, windowAtoms } from "./blocks.ts";

/** Milliseconds for which a cut that was just made is shown on what it was made in. */
const CUT_MS = 900;

/** Pixels of one block: a window holds fewer of them than a log. */
const BLOCK_WIDTH = 5;

/** Share of the room from which on a limit has no place for its words behind it. */
const LATE = 0.7;

/** A context, and the cut that it is about to get. */
interface Scene {
  readonly context: InspectedContext;
  readonly cutAt: number | null;
}

/** What is shown of a context that changes: first the cut in the old one, then the new one. */
function useScene(context: InspectedContext): Scene {
  const last = useRef(context);
  const [cutting, setCutting] = useState<Scene | null>(null);
  useEffect(() => {
    const before = last.current;
    last.current = context;
    if (context.view <= before.view || context.cut <= before.cut) return;
    setCutting({ context: before, cutAt: context.cut });
  }, [context]);
  useEffect(() => {
    if (cutting === null) return;
    const timer = setTimeout(() => setCutting(null), CUT_MS);
    return () => clearTimeout(timer);
  }, [cutting]);
  return cutting ?? { context, cutAt: null };
}

/** What {@link Window} shows. */
export interface WindowProps {
  readonly context: InspectedContext;
  /** Says what an entry holds. */
  readonly holds: (seq: number) => string;
  /** First entry of the atom that is looked at, `SUMMARY` for the summary. */
  readonly chosen: number | null;
  onChoose(from: number): void;
}

/** It. */
export function Window({ context: now, holds, chosen, onChoose }: WindowProps): VNode {
  const { context, cutAt } = useScene(now);
  const { meter, legalCuts, cut, flag } = context;
  const atoms = windowAtoms(context);
  const [range, setRange] = useState<{ readonly first: number; readonly end: number } | null>(null);
  useEffect(() => setRange(null), [now.view]);
  const say = (block: Block, hasCut: boolean): string => sayBlock(block, hasCut, holds);
  const share = (tokens: number): string => `${Math.min(100, tokens / meter.window * 100)}%`;
  const place = (tokens: number) => ({ left: share(tokens), "--at": Math.min(1, tokens / meter.window) });
  const limit = (name: string, tokens: number): string =>
    `limit ${name}${tokens > LATE * meter.window ? " late" : ""}`;
  // Where nothing was cut yet, the log may be cut anywhere behind its first message.
  const cuts = new Set(legalCuts.filter((at) => at > cut));
  const choose = ({ first, end, from }: Block): void => {
    if (end - first > 1) setRange({ first, end });
    else if (from >= SUMMARY) onChoose(from);
  };
  const at = atoms.findIndex(({ from }) => from === chosen);
  const { first, end } = range === null ? { first: 0, end: atoms.length } : range;
  const style = range === null ? { width: share(meter.tokens) } : { width: "100%" };
  return html`<section class="card window" aria-labelledby="window-title">
    <h2 id="window-title">What the model sees</h2>
    <p class="meter">${
    cutAt === null ? sayMeter(meter) : "A cut: what stands in front of it makes room for lines of the summary"
  }</p>
    ${
    range !== null && html`<p class="crumbs"><button type="button" onClick=${() =>
      setRange(null)}>Whole window</button>
      <span>${end - first} of ${atoms.length} blocks</span></p>`
  }
    <div class=${`room${cutAt === null ? "" : " cutting"}`}>
      <div class="used" style=${style}>
        <${Strip} label="The window, block by block" atoms=${atoms} first=${first} end=${
    Math.min(end, atoms.length)
  }
          cuts=${cuts} faults=${[]} chosen=${at < 0 ? null : at} cutAt=${cutAt} blockWidth=${BLOCK_WIDTH}
          say=${say} onChoose=${choose} />
      </div>
      ${
    range === null && html`
      <i class=${limit("compact-at", meter.compactAt)} style=${place(
        meter.compactAt,
      )}><span>compact<b> ${grouped(
        meter.compactAt,
      )}</b></span></i>
      <i class=${limit("stop-at", meter.stopAt)} style=${place(meter.stopAt)}><span>stop<b> ${grouped(
        meter.stopAt,
      )}</b></span></i>
    `
  }
    </div>
    ${
    flag !== null &&
    html`<p class="notice put-off" role="status">A compaction is due and was put off: no legal cut was at hand. It is
      made as soon as there is one.</p>`
  }
  </section>` as VNode;
}
