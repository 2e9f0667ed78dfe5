/**
 * What the marks of the strips mean, for somebody who sees them for the first time.
 *
 * @module
 */
import { html } from "htm/preact";
import type { VNode } from "preact";

const MARKS: readonly (readonly [mark: string, name: string])[] = [
  ["system", "instructions, tools"],
  ["user", "you"],
  ["assistant", "the agent, with its calls and results"],
  ["summary", "summary of what was cut away"],
  ["pinned", "pinned"],
  ["shortened", "result shown shortened"],
  ["summarised", "no longer shown"],
  ["open", "open: a result is to come"],
];

/** Apart from the rest, so that no line of the source ends where a space has to stay. */
const CUTS =
  html`<span>The cut falls on a tick, where no call is parted from its result; an open atom has none behind
  it. Over <b>stop</b> the model is not called.</span>`;

/** The legend. */
export function Legend(): VNode {
  return html`
    <div class="explained">
      <ul class="legend">
          ${MARKS.map(([mark, name]) => html`<li><span class=${`swatch ${mark}`}></span>${name}</li>`)}
          <li><span class="swatch tick"></span>legal cut</li>
        </ul>
      <p
        class="fine">A block is an <b>atom</b>: messages that stay together, such as an answer with its tool calls and
      their results. When the window fills up to <b>compact</b>, older atoms make room for one summary. ${CUTS}</p>
    </div>
  ` as VNode;
}
