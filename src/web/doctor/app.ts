/**
 * The page of the doctor: a transcript comes in, what is wrong with it is shown, a mended one goes out. The page holds
 * what is drawn; the transcript itself stays in the worker.
 *
 * @module
 */
/// <reference lib="dom" />
import { html, render } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { grouped, plural } from "../../files/words.ts";
import { type Asking, startWorker } from "./ask.ts";
import { BROKEN_EXAMPLE } from "./example.ts";
import { Intake } from "./intake.ts";
import type { Findings, Opened } from "./protocol.ts";
import { Results } from "./results.ts";

/** What the page is doing. */
type State =
  | { readonly kind: "empty" }
  | { readonly kind: "reading"; readonly name: string }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "open"; readonly opened: Opened };

/** The transcript to begin with: the first that has something wrong. */
function firstOf({ transcripts }: Opened): number {
  return Math.max(0, transcripts.findIndex(({ error, faultCount }) => error !== null || faultCount > 0));
}

function sayFound({ error, faultCount, messages }: Findings): string {
  if (error !== null) return "cannot be read";
  return `${plural(messages, "message")}, ${faultCount === 0 ? "valid" : plural(faultCount, "violation")}`;
}

function Doctor({ ask, isLost }: { readonly ask: Asking; readonly isLost: boolean }): VNode {
  const [state, setState] = useState<State>({ kind: "empty" });
  const [transcript, setTranscript] = useState(0);
  const turn = useRef(0);
  const result = useRef<HTMLElement>(null);

  const open = async (name: string, source: Blob | string): Promise<void> => {
    const own = ++turn.current;
    setState({ kind: "reading", name });
    let next: State;
    try {
      next = { kind: "open", opened: await ask({ kind: "open", name, source }, "opened") };
    } catch (error) {
      next = { kind: "failed", message: error instanceof Error ? error.message : String(error) };
    }
    // Somebody may have dropped another file meanwhile.
    if (own !== turn.current) return;
    setTranscript(next.kind === "open" ? firstOf(next.opened) : 0);
    setState(next);
  };
  useEffect(() => {
    if (state.kind === "open" || state.kind === "failed") {
      result.current?.focus({ preventScroll: true });
      result.current?.scrollIntoView({ block: "start" });
    }
  }, [state]);

  const findings = state.kind === "open" ? state.opened.transcripts[transcript] : undefined;
  return html`
    ${isLost &&
      html`<p class="notice bad" role="alert">The part of this page that reads transcripts could not be
      loaded: the server is away, or the tab ran out of memory. Reload the page to try again.</p>`}
    <${Intake} isCompact=${state.kind === "open"} isBusy=${state.kind === "reading"} onOpen=${open}
      onExample=${() => open("broken-example.json", BROKEN_EXAMPLE)} />
    <section class="result" tabindex="-1" ref=${result} aria-live="polite" aria-label="What was found">
      ${state.kind === "reading" && html`<p class="notice" role="status">Reading ${state.name} …</p>`}
      ${state.kind === "failed" && html`
        <div class="notice bad" role="alert">
          <h2>This could not be read</h2>
          <p>${state.message}</p>
        </div>
      `}
      ${state.kind === "open" && state.opened.transcripts.length > 1 && html`<label class="picker">
        ${grouped(state.opened.transcripts.length)} transcripts in this file
        <select value=${transcript} onChange=${(event: Event) =>
        setTranscript(Number((event.target as HTMLSelectElement).value))}>
          ${
        state.opened.transcripts.map((found, index) =>
          html`<option value=${index}>${index + 1}: ${sayFound(found)}</option>`
        )
      }
        </select></label>`}
      ${state.kind === "open" && findings && html`
        <${Results} key=${`${turn.current}.${transcript}`}
          name=${state.opened.name} findings=${findings} transcript=${transcript} ask=${ask} />
      `}
    </section>
  ` as VNode;
}

const root = document.querySelector<HTMLElement>("#doctor");
if (root !== null) {
  let isLost = false;
  const draw = (): void => render(html`<${Doctor} ask=${ask} isLost=${isLost} />` as VNode, root);
  const ask = startWorker(() => {
    isLost = true;
    draw();
  });
  root.textContent = "";
  draw();
}
