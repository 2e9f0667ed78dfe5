/**
 * One atom, looked at closely: its messages, their parts, and what is wrong with them in its place.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { grouped, plural } from "../../files/words.ts";
import { KIND_NAMES, type StripAtom } from "../base/strip.ts";
import type { Asking } from "./ask.ts";
import type { Fault, Shown, ShownPart } from "./protocol.ts";

const PART_NAMES: Readonly<Record<string, string>> = {
  tool_use: "call",
  tool_result: "result",
};

/** What {@link Atom} shows. */
export interface AtomProps {
  readonly atom: StripAtom;
  readonly transcript: number;
  readonly faults: readonly Fault[];
  readonly ask: Asking;
  onClose(): void;
}

function Part({ part, isFaulty }: { readonly part: ShownPart; readonly isFaulty: boolean }): VNode {
  const { kind, name, callId, text, hidden } = part;
  return html`
    <div class=${`part ${kind}${isFaulty ? " faulty" : ""}`}>
      <p class="part-head"><span class="kind">${PART_NAMES[kind] ?? kind}</span>
            ${name && html`
              <b>${name}</b>
            `}${callId && html`
              <code>${callId}</code>
            `}</p>
      <pre tabindex="0" aria-label=${`Text of the ${PART_NAMES[kind] ?? kind}`}>${text === ""
        ? "(empty)"
        : text}${hidden > 0 ? ` … ${grouped(hidden)} more characters` : ""}</pre>
    </div>
  ` as VNode;
}

/** The messages of an atom. */
export function Atom({ atom, transcript, faults, ask, onClose }: AtomProps): VNode {
  const { from, to, kind, state, tokens } = atom;
  const [shown, setShown] = useState<Shown | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let isOver = false;
    ask({ kind: "show", transcript, from, to }, "shown").then(
      (found) => {
        if (!isOver) setShown(found);
      },
      (error: Error) => {
        if (!isOver) setProblem(error.message);
      },
    );
    return () => {
      isOver = true;
    };
  }, [from, to, transcript]);
  const own = faults.filter(({ at }) => at >= from && at < to);
  return html`<article class="atom" aria-label="The chosen atom">
      <header><h4>${KIND_NAMES[kind]}${state === "open" ? ", open" : ""}</h4>
        <span class="facts">message${to - from === 1 ? ` ${from}` : `s ${from} to ${to - 1}`} · ≈ ${
    plural(tokens, "token")
  }</span>
        <button type="button" onClick=${onClose}>Close</button></header>
      ${problem !== null && html`<p class="notice bad" role="alert">${problem}</p>`}
      ${
    shown?.messages.map(({ at, line, parts }) => {
      const wrong = own.filter((fault) => fault.at === at);
      return html`<div class="message"><p class="where">message ${at}${
        line === null ? "" : ` · line ${line}`
      }</p>
          ${
        parts.map((part) =>
          html`<${Part} part=${part} isFaulty=${
            wrong.some(({ callId }) => callId !== null && callId === part.callId)
          } />`
        )
      }
          ${wrong.map(({ message }) => html`<p class="wrong">${message}</p>`)}
        </div>`;
    })
  }
      ${
    shown !== null && shown.messages.length < to - from &&
    html`<p class="fine">and ${plural(to - from - shown.messages.length, "message")} more</p>`
  }
    </article>` as VNode;
}
