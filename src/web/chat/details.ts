/**
 * What is behind a block: the originals of an atom, or the summary with its pairs, each of which can be recalled.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Client, InspectedAtom, InspectedContext } from "../../client/mod.ts";
import { KIND_NAMES } from "../base/strip.ts";
import { grouped, plural } from "../../files/words.ts";
import { SUMMARY, type SummaryLine, summaryLines } from "./blocks.ts";
import { Original } from "./original.ts";

/** Lines of a summary that are drawn before somebody asks for more. */
const FIRST_LINES = 60;

/** What {@link Details} needs. */
export interface DetailsProps {
  readonly client: Client;
  readonly session: string;
  readonly context: InspectedContext;
  /** First entry of the atom that is looked at, `SUMMARY` for the summary. */
  readonly chosen: number;
  onClose(): void;
}

function Line({ line, client, session }: {
  readonly line: SummaryLine;
  readonly client: Client;
  readonly session: string;
}): VNode {
  const [isOpen, setOpen] = useState(false);
  const { ref, text } = line;
  if (ref === null) return html`<li class="frame">${text}</li>` as VNode;
  return html`<li>
    <p class="ledger-line"><code class="ref">${ref}</code> <span>${text}</span>
      <button type="button" aria-expanded=${isOpen} aria-label=${`${
    isOpen ? "Close" : "Recall"
  } ${ref}`} onClick=${() => setOpen(!isOpen)}>
        ${isOpen ? "Close" : "Recall"}</button></p>
    ${isOpen && html`<${Original} client=${client} session=${session} reference=${ref} />`}
  </li>` as VNode;
}

function Ledger({ client, session, context: { summary } }: DetailsProps): VNode {
  const [isAll, setAll] = useState(false);
  const lines = summaryLines(summary?.text ?? "");
  const shown = isAll ? lines : lines.slice(0, FIRST_LINES);
  return html`<p class="lead">The model reads this in place of what was cut away: one line for each call with its result,
      written by code. Nothing is lost: <b>Recall</b> brings any original back.</p>
    <ol class="ledger-lines">${
    shown.map((line, at) =>
      html`<${Line} key=${line.ref ?? at} line=${line} client=${client} session=${session} />`
    )
  }</ol>
    ${
    shown.length < lines.length &&
    html`<p><button type="button" onClick=${() => setAll(true)}>Show ${
      grouped(lines.length - shown.length)
    } more lines</button></p>`
  }` as VNode;
}

const STATES: Readonly<Record<InspectedAtom["state"], string>> = {
  raw: "The model sees it as it is.",
  shortened: "The model sees a shortened result; this is the whole one.",
  pinned: "The model sees it word for word.",
  summarised: "Cut away: the model sees a line in the summary. This is the original.",
};

/** Why it stays, and for how long. */
const PINNED: Readonly<Record<NonNullable<InspectedAtom["pinnedBy"]>, string>> = {
  caller: "It is pinned, and stays through every compaction.",
  turn: "Nobody has pinned it: a message stays while its turn runs, and a later compaction may cut it away.",
  tool: "Its tool has asked for that.",
  released: "It is pinned no longer, and a later compaction may cut it away.",
};

function Atom({ atom, client, session }: Pick<DetailsProps, "client" | "session"> & {
  readonly atom: InspectedAtom;
}): VNode {
  const { from, to, tokens, shown, state, open, pinnedBy } = atom;
  const reference = to - from === 1 ? `e${from}` : `e${from}..e${to - 1}`;
  return html`
    <p class="lead">${STATES[state]} ${pinnedBy === undefined ? "" : PINNED[pinnedBy]} ${open
      ? "A call of it has no result yet, so no cut may pass it."
      : ""}</p>
    <p class="facts"><span><code>${reference}</code></span> <span>${plural(to - from, "message")}</span>
          <span>${plural(tokens, "token")}${shown === tokens
            ? ""
            : `, of which the model is shown ${grouped(shown)}`}</span></p>
    <${Original} client=${client} session=${session} reference=${reference} />
  ` as VNode;
}

/** It. */
export function Details(props: DetailsProps): VNode | null {
  const { chosen, context, onClose } = props;
  const atom = context.atoms.find(({ from }) => from === chosen);
  const isSummary = chosen === SUMMARY;
  if (!isSummary && atom === undefined) return null;
  const title = isSummary ? "The summary" : `${KIND_NAMES[atom?.kind ?? "assistant"]} e${chosen}`;
  return html`<section class="card details" aria-label=${title}>
    <header><h3>${title}</h3><button type="button" onClick=${onClose}>Close</button></header>
    ${isSummary ? html`<${Ledger} ...${props} />` : html`<${Atom} key=${chosen} atom=${atom} ...${props} />`}
  </section>` as VNode;
}
