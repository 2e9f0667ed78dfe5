/**
 * The log as a strip: every original, whatever the model is shown of it.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { type Block, Strip } from "../base/strip.ts";
import { grouped } from "../../files/words.ts";
import { logAtoms, sayBlock } from "./blocks.ts";
import type { WindowProps } from "./window.ts";

/** A range of atoms that was opened; the whole log is null, so that it may grow. */
type Range = { readonly first: number; readonly end: number } | null;

/** It. */
export function Log({ context, holds, chosen, onChoose }: WindowProps): VNode {
  const [range, setRange] = useState<Range>(null);
  const atoms = logAtoms(context);
  const { first, end } = range ?? { first: 0, end: atoms.length };
  const choose = (block: Block): void => {
    if (block.end - block.first > 1) setRange(block);
    else onChoose(block.from);
  };
  const say = (block: Block, hasCut: boolean): string => sayBlock(block, hasCut, holds);
  const at = atoms.findIndex(({ from }) => from === chosen);
  return html`<section class="card log" aria-labelledby="log-title">
    <h2 id="log-title">What there is</h2>
    <p class="lead">The log keeps every original, also of what the model no longer sees.</p>
    ${
    range !== null && html`<p class="crumbs"><button type="button" onClick=${() =>
      setRange(null)}>Whole log</button>
      <span>atoms ${grouped(first + 1)} to ${grouped(end)} of ${grouped(atoms.length)}</span></p>`
  }
    <${Strip} label="The log, block by block" atoms=${atoms} first=${first} end=${end} cuts=${new Set(
    context.legalCuts,
  )}
      faults=${[]} chosen=${at < 0 ? null : at} cutAt=${null} say=${say} onChoose=${choose} />
  </section>` as VNode;
}
