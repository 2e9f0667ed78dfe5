/**
 * The context beside the conversation: the window, the log, what is behind a block, and how it went.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Client } from "../../client/mod.ts";
import { Details } from "./details.ts";
import { Legend } from "./legend.ts";
import { Log } from "./log.ts";
import type { Session } from "./session.ts";
import { Timeline } from "./timeline.ts";
import { Window } from "./window.ts";

/** It. */
export function ContextPanel({ session, client }: {
  readonly session: Session;
  readonly client: Client;
}): VNode {
  const { context, items, name } = session;
  const [chosen, setChosen] = useState<number | null>(null);
  const panel = useRef<HTMLDivElement>(null);
  const details = useRef<HTMLDivElement>(null);
  useEffect(() => setChosen(null), [session]);
  useEffect(() => {
    if (chosen !== null) details.current?.scrollIntoView?.({ block: "nearest" });
  }, [chosen]);
  if (context === null) {
    return html`
      <div class="context">
        <section class="card">
          <h2>What the model sees</h2>
          <p
            class="lead">Nothing yet. With the first message a bar appears here: all that the model is shown, as a share of
              all that it could be shown.</p>
        </section>
        <${Explained} />
      </div>
    ` as VNode;
  }
  const holds = (seq: number): string => items.holds(seq);
  const choose = (from: number): void => setChosen(from === chosen ? null : from);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || chosen === null) return;
    // Whoever goes by keys is back at the block that they came from.
    panel.current?.querySelector<HTMLElement>('.block[aria-pressed="true"]')?.focus();
    setChosen(null);
  };
  return html`<div class="context" role="region" aria-label="Context" tabindex="0" ref=${panel} onKeyDown=${onKey}>
    <${Window} key=${name} context=${context} holds=${holds} chosen=${chosen} onChoose=${choose} />
    ${
    chosen !== null && html`
      <div ref=${details} class="behind">
        <${Details} client=${client} session=${name}
          context=${context} chosen=${chosen} onClose=${() => setChosen(null)} />
      </div>
    `
  }
    <${Log} key=${`log ${name}`} context=${context} holds=${holds} chosen=${chosen} onChoose=${choose} />
    <${Timeline} items=${items} meter=${context.meter} />
    <${Explained} />
  </div>` as VNode;
}

function Explained(): VNode {
  return html`
    <section class="card" aria-labelledby="legend-title">
      <h2 id="legend-title">How to read this</h2>
      <${Legend} />
    </section>
  ` as VNode;
}
