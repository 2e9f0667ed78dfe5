/**
 * Calls that wait: for a person who allows them, or for what a tool of the client would give.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { PendingCall } from "../../loop/pause.ts";
import { sayValue } from "./say.ts";
import type { Answer } from "./session.ts";

/** What is typed as a result: JSON where it is some, else text. */
export function outputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** One of them. */
function Waiting({ call, isShut, onAnswer }: {
  readonly call: PendingCall;
  /** Whether another answer is on its way. */
  readonly isShut: boolean;
  onAnswer(answer: Answer): void;
}): VNode {
  const { ref, name, input, reason } = call;
  const [text, setText] = useState("");
  const [isSent, setSent] = useState(false);
  const send = (answer: Answer): void => {
    setSent(true);
    onAnswer(answer);
  };
  const isApproval = reason === "approval";
  const id = `answer-${ref}`;
  return html`
    <section class="card waiting" aria-label=${`${name} waits`}>
      <h3>${isApproval
        ? html`May <code>${name}</code> run?`
        : html`<code>${name}</code> is yours to run`}</h3>
      <pre tabindex="0" aria-label="Arguments">${sayValue(input)}</pre>
      <label for=${id}>${isApproval
        ? "Why not, for the model (optional)"
        : "Its result, as text or JSON"}</label>
      <textarea id=${id} rows=${isApproval ? 1 : 3} value=${text} disabled=${isSent}
        onInput=${(event: Event) => setText((event.target as HTMLTextAreaElement).value)}></textarea>
      <p class="actions">${isApproval
        ? html`
          <button type="button" class="main" disabled=${isSent || isShut}
            onClick=${() => send({ approval: { ref, approved: true } })}>Allow</button>
          <button type="button" disabled=${isSent || isShut} onClick=${() =>
            send({
              approval: { ref, approved: false, ...(text.trim() === "" ? {} : { reason: text.trim() }) },
            })}>
                    Do not allow</button>
        `
        : html`
          <button type="button" class="main" disabled=${isSent || isShut}
            onClick=${() => send({ result: { ref, output: outputOf(text) } })}>Send the result</button>
          <button type="button" disabled=${isSent || isShut || text.trim() === ""}
            onClick=${() => send({ result: { ref, error: text } })}>Send it as an error</button>
        `}</p>
    </section>
  ` as VNode;
}

/** All of them. */
export function Pending({ pending, isShut, onAnswer }: {
  readonly pending: readonly PendingCall[];
  readonly isShut: boolean;
  onAnswer(answer: Answer): void;
}): VNode | null {
  if (pending.length === 0) return null;
  return html`<div class="pending" role="group" aria-label="Calls that wait for you">${
    pending.map((call) =>
      html`<${Waiting} key=${call.ref} call=${call} isShut=${isShut} onAnswer=${onAnswer} />`
    )
  }</div>` as VNode;
}
