/**
 * The page: a conversation, and beside it what the model is shown of it.
 *
 * @module
 */
/// <reference lib="dom" />
import { html, render } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ClientError } from "../../client/mod.ts";
import { connect, SERVICE } from "./connection.ts";
import { ContextPanel } from "./context.ts";
import { Conversation } from "./conversation.ts";
import { keyOf } from "./key.ts";
import { Session } from "./session.ts";

/** The agent that the demo runs, and what it is told. */
const DEMO = { agent: "demo", input: "Audit the workspace" } as const;

/** The session that the address names. */
function named(): string {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    // No name has such a thing in it: the service says so.
    return text;
  }
}

/** Names that this page has made up: there is nothing to be read of them. */
const made = new Set<string>();

/** A name for a new session that nobody else comes upon. */
function newName(prefix: string): string {
  const random = crypto.getRandomValues(new Uint32Array(2));
  const name = `${prefix}-${random.reduce((text, n) => text + n.toString(36), "")}`;
  made.add(name);
  return name;
}

function KeyForm({ isWrong, onKey }: { readonly isWrong: boolean; onKey(key: string): void }): VNode {
  const [text, setText] = useState("");
  const [isOdd, setOdd] = useState(false);
  return html`<form class="card key" onSubmit=${(event: Event) => {
    event.preventDefault();
    const key = keyOf(text);
    setOdd(key === null);
    if (key !== null && key !== "") onKey(key);
  }}>
    <h2>This service wants a key</h2>
    ${
    isOdd
      ? html`<p class="notice bad" role="alert">A key has letters, digits and signs of ASCII only: there is another
        character in this one.</p>`
      : isWrong && html`<p class="notice bad" role="alert">That key was not taken.</p>`
  }
    <label for="key">Key</label>
    <input id="key" type="password" autocomplete="off" spellcheck=${false} value=${text}
      onInput=${(event: Event) => setText((event.target as HTMLInputElement).value)} />
    <p class="actions"><button type="submit" class="main">Go on</button></p>
    <p class="fine">It stays in the memory of this tab: nothing is stored, and it is typed again after a reload.</p>
  </form>` as VNode;
}

/** Where somebody who goes by keys wants to be: in what is written next (or waits), and in the window. */
const PLACES = {
  message: ".waiting textarea:enabled, .composer textarea:enabled",
  context: '.window .block[tabindex="0"]',
} as const;

function goTo(place: keyof typeof PLACES): void {
  root?.querySelector<HTMLElement>(PLACES[place])?.focus();
}

/** What Tab comes to first. These are no links, for what stands behind the `#` is the session. */
function SkipLinks({ hasContext }: { readonly hasContext: boolean }): VNode {
  return html`
    <div class="skip" role="navigation" aria-label="On this page">
      <button type="button" onClick=${() => goTo("message")}>To the message</button>
      ${hasContext && html`<button type="button" onClick=${() => goTo("context")}>To the context</button>`}
    </div>
  ` as VNode;
}

function Page({ state }: { readonly state: State }): VNode {
  const { session, agents, version, isAway, hasTriedKey } = state;
  const isShut = session.standing === "locked";
  const isMisnamed = session.standing === "misnamed";
  const others = agents.filter((name) => name !== DEMO.agent);
  useEffect(() => {
    document.title = isMisnamed ? "Selvage" : `${session.name} · Selvage`;
  }, [session, isMisnamed]);
  return html`
    ${!isShut && !isMisnamed && html`<${SkipLinks} hasContext=${session.context !== null} />`}
    <header class="top">
      <p class="brand">Selvage</p>
      ${!isMisnamed && html`<p class="session-name">Session <code>${session.name}</code></p>`}
      <nav aria-label="Pages">
        <a href="#">New session</a>
        ${agents.includes(DEMO.agent) &&
          html`<button type="button" onClick=${() => void startDemo()}>Demo</button>`}
        <a href=${`${SERVICE}/doctor`}>Transcript doctor</a>
      </nav>
    </header>
    ${isAway &&
      html`<p class="notice bad away" role="alert"><b>The server is away.</b> What was said is kept; this page
      goes on as soon as it answers again.</p>`}
    ${session.standing === "failed" && html`
      <div class="notice bad away" role="alert">
        <p>${session.problem}</p>
        <p class="actions"><button type="button" onClick=${() => void session.load()}>Try again</button></p>
      </div>
    `}
    ${isShut
      ? html`
        <main class="shut">
          <h1 class="hidden">Selvage</h1>
          <${KeyForm} isWrong=${hasTriedKey} onKey=${use} />
        </main>
      `
      : isMisnamed
      ? html`
        <main class="shut">
          <h1 class="hidden">Selvage</h1>
          <section class="card key" role="alert">
            <h2>The address names no session</h2>
            <p>Behind its <code>#</code> stands <code>${session.name.slice(0, 128)}${session.name.length > 128
              ? " …"
              : ""}</code></p>
            <p>The name of a session is 1 to 128 of <code>A-Z a-z 0-9 . _ : -</code>, and neither <code>.</code> nor
              <code>..</code></p>
            <p class="actions"><a href="#">New session</a></p>
          </section>
        </main>
      `
      : html`
        <main class="desk">
          <h1 class="hidden">Selvage</h1>
          <${Conversation} session=${session} agents=${others} version=${version}
            hasDemo=${agents.includes(DEMO.agent)} onDemo=${() => void startDemo()} />
          <${ContextPanel} session=${session} client=${connection.client} />
        </main>
      `}
  ` as VNode;
}

interface State {
  readonly session: Session;
  readonly agents: readonly string[];
  /** Grows with each change. */
  readonly version: number;
  readonly isAway: boolean;
  readonly hasTriedKey: boolean;
}

const root = document.querySelector<HTMLElement>("#page");
const connection = connect((isAway) => change({ isAway }));
let state: State | null = null;
let isDrawing = false;

/** Changes what is shown, and draws it with the next picture. */
function change(to: Partial<State>): void {
  if (state === null) return;
  state = { ...state, ...to, version: state.version + 1 };
  if (isDrawing || root === null) return;
  isDrawing = true;
  // A tab in the background gets no pictures; what it would show is drawn all the same.
  const draw = (): void => {
    if (!isDrawing) return;
    isDrawing = false;
    render(html`<${Page} state=${state} />` as VNode, root);
  };
  requestAnimationFrame(draw);
  setTimeout(draw, 250);
}

/** Shows the session that the address names. */
async function show(): Promise<Session> {
  if (named() === "") history.replaceState(null, "", `#${newName("chat")}`);
  const { client } = connection;
  const session = new Session(client, { name: named(), onChange: () => change({}) });
  state?.session.close();
  state = { agents: [], version: 0, isAway: false, hasTriedKey: false, ...state, session };
  change({});
  // A second look at a name is one at what has come of it.
  if (made.delete(session.name)) session.begin();
  else await session.load();
  return session;
}

async function findAgents(): Promise<void> {
  try {
    change({ agents: await connection.agents() });
  } catch (error) {
    // Whether the server is away is told by whatever else was asked of it.
    if (error instanceof ClientError && error.status === 401) state?.session.lock();
  }
}

function use(key: string): void {
  connection.use(key);
  change({ hasTriedKey: true });
  void findAgents();
  void state?.session.load();
}

async function startDemo(): Promise<void> {
  history.pushState(null, "", `#${newName("demo")}`);
  const session = await show();
  await session.send(DEMO.input, DEMO.agent);
}

if (root !== null) {
  root.textContent = "";
  addEventListener("hashchange", () => void show());
  // Of what another window has done there is no event: whoever comes back is shown it.
  const look = (): void => void (document.visibilityState === "visible" && state?.session.refresh());
  addEventListener("focus", look);
  document.addEventListener("visibilitychange", look);
  void show();
  void findAgents();
}
