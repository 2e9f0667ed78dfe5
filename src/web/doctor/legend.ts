/**
 * What the drawing's marks mean: those that it has.
 *
 * @module
 */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { StripAtom } from "../base/strip.ts";

const MARKS: readonly (readonly [mark: string, name: string])[] = [
  ["system", "system message"],
  ["user", "user message"],
  ["assistant", "assistant, with its calls and results"],
  ["summary", "summary of an earlier compaction"],
  ["stray", "result of no call"],
  ["open", "open: a result is still to come"],
];

/** The legend. */
export function Legend(
  { atoms, hasFaults, hasCut }: {
    readonly atoms: readonly StripAtom[];
    readonly hasFaults: boolean;
    /** Whether a compaction is previewed. */
    readonly hasCut: boolean;
  },
): VNode {
  const has = new Set<string>(atoms.flatMap(({ kind, state }) => [kind, state]));
  return html`<ul class="legend">
      ${
    MARKS.filter(([mark]) => has.has(mark)).map(([mark, name]) =>
      html`<li><span class=${`swatch ${mark}`}></span>${name}</li>`
    )
  }
      <li><span class="swatch tick"></span>legal cut</li>
      ${hasFaults && html`<li><span class="swatch mark"></span>something is wrong</li>`}
      ${
    hasCut && html`
      <li><span class="swatch cut-here"></span>cut of the compaction</li>
      <li><span class="swatch gone"></span>goes into the summary</li>
    `
  }
    </ul>` as VNode;
}
