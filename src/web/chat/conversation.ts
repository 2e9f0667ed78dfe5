/**
 * The conversation: what was said and done, what waits, and the field to say more.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { grouped } from "../../files/words.ts";
import { drawItem } from "./item.ts";
import { Pending } from "./pending.ts";
import type { Session } from "./session.ts";

/** Items that are drawn at first, and how many more each time somebody asks for more. */
const PAGE = 120;

/** Pixels from the end within which somebody is taken to read along. */
const NEAR_END = 80;

/** What a conversation needs. */
export interface ConversationProps {
  readonly session: Session;
  /** The agents that can be chosen for a new session. */
  readonly agents: readonly string[];
  /** Grows with each change of the session. */
  readonly version: number;
  readonly hasDemo: boolean;
  onDemo(): void;
}

function Welcome({ hasDemo, onDemo }: Pick<ConversationProps, "hasDemo" | "onDemo">): VNode {
  return html`<div class="welcome">
    <h2>Say something, and watch the context</h2>
    <p class="lead">The agent's answer streams in here. Beside it you see all that the model is shown, and how it is cut
      to size without a tool call ever losing its result.</p>
    ${
    hasDemo && html`
      <p class="actions"><button type="button" class="main" onClick=${onDemo}>Watch the demo</button></p>
      <p
        class="fine">One long turn of a scripted agent: over 180 tool calls through a window of 10,000 tokens. It takes
              half a minute and costs nothing.</p>
    `
  }
  </div>` as VNode;
}

function Composer({ session, agents }: Pick<ConversationProps, "session" | "agents">): VNode {
  const [text, setText] = useState("");
  const [agent, setAgent] = useState<string | null>(null);
  const { standing } = session;
  const isRunning = standing === "running";
  const isShut = standing === "loading" || standing === "paused" || standing === "failed";
  const send = (): void => {
    if (text.trim() === "" || isShut) return;
    void session.send(text, agent);
    setText("");
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  const placeholder = standing === "paused"
    ? "A call waits: answer it above, or stop the turn"
    : isRunning
    ? "Say something to the running turn"
    : "Message";
  return html`<form class="composer" onSubmit=${(event: Event) => {
    event.preventDefault();
    send();
  }}>
    ${
    session.agent === null && agents.length > 1 && html`<label class="agent">Agent
      <select onChange=${(event: Event) => setAgent((event.target as HTMLSelectElement).value)}>
        ${agents.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`
  }
    <textarea aria-label="Message" rows="2" placeholder=${placeholder} value=${text}
      readonly=${standing === "paused"} onKeyDown=${onKey}
      onInput=${(event: Event) => setText((event.target as HTMLTextAreaElement).value)}></textarea>
    <div class="send">
      ${
    (isRunning || standing === "paused") &&
    html`<button type="button" disabled=${session.isStopping} onClick=${() =>
      void session.stop()}>Stop</button>`
  }
      <button type="submit" class="main" disabled=${isShut || text.trim() === ""}>Send</button>
    </div>
  </form>` as VNode;
}

/** What goes on, for the eye and for those who are read to. */
function sayStanding({ standing, isStopping, pending }: Session): string {
  if (standing === "running") return isStopping ? "Stopping …" : "Working …";
  if (standing !== "paused") return "";
  const [first] = pending;
  return pending.length === 1
    ? `A call waits for you: ${first?.name}`
    : `${pending.length} calls wait for you`;
}

/** It. */
export function Conversation({ session, agents, version, hasDemo, onDemo }: ConversationProps): VNode {
  const [shown, setShown] = useState(PAGE);
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const { items: { all }, standing, pending } = session;
  const follow = (): void => {
    const { current } = list;
    if (current === null || !isAtEnd.current) return;
    // What waits is read from its beginning, where there is no room for all of it.
    const waiting = current.querySelector(".pending")?.getBoundingClientRect().top;
    if (waiting === undefined) current.scrollTop = current.scrollHeight;
    else current.scrollTop += waiting - current.getBoundingClientRect().top;
  };
  useLayoutEffect(follow, [version, session]);
  useEffect(() => setShown(PAGE), [session]);
  const first = Math.max(0, all.length - shown);
  return html`
    <section class="conversation" aria-label="Conversation">
      <div class="scroll" ref=${list} tabindex="0" role="region" aria-label="What was said"
        onScroll=${() => {
          const { current } = list;
          if (current === null) return;
          isAtEnd.current = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR_END;
        }}>
          ${all.length === 0 && standing === "idle" &&
            html`<${Welcome} hasDemo=${hasDemo} onDemo=${onDemo} />`}
          ${standing === "loading" && html`<p class="fine" role="status">Reading the session …</p>`}
          ${first > 0 &&
            html`<p><button type="button" onClick=${() => setShown(shown + 4 * PAGE)}>Show earlier (${
              grouped(first)
            } more)</button></p>`}
          <ol class="items">${all.slice(first).map(drawItem)}</ol>
          <${Pending} pending=${pending} isShut=${standing !== "paused"} onAnswer=${(
            answer: Parameters<Session["answer"]>[0],
          ) => {
            // The button goes: who works by keys goes on from here.
            list.current?.focus({ preventScroll: true });
            isAtEnd.current = true;
            void session.answer(answer);
          }} />
          ${session.unheard.map((text) =>
            html`<p class="unheard"><b>Said, for the next step:</b> ${text}</p>`
          )}
          ${session.notice !== "" && html`<p class="notice" role="alert">${session.notice}</p>`}
          <p class="working" role="status">${sayStanding(session)}</p>
        </div>
      <${Composer} key=${session.name} session=${session} agents=${agents} />
    </section>
  ` as VNode;
}
