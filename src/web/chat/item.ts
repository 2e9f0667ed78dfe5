/**
 * One item of a conversation. Items never change, so that what was drawn of one is drawn once.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { markdown } from "../base/markdown.ts";
import { grouped, plural } from "../../files/words.ts";
import type { Item, Mark } from "./items.ts";
import { glance, sayReason } from "./say.ts";

type CallItem = Extract<Item, { readonly kind: "call" }>;

/** Characters of arguments beside the name of a call. */
const GLANCE = 90;

const STATES: Readonly<Record<CallItem["state"], string>> = {
  writing: "is being written",
  running: "running",
  waiting: "waits for you",
  ok: "done",
  error: "error",
  aborted: "aborted",
};

/** Characters of arguments and results that are drawn here; the originals are in the log beside. */
const MOST = 20_000;

function clipped(text: string): string {
  const left = text.length - MOST;
  return left > 0 ? `${text.slice(0, MOST)}\n… and ${plural(left, "more character")}, in the log` : text;
}

/** Arguments at a glance: the values alone where they are few and short. */
function glanceAt(args: string): string {
  let text = args.slice(0, MOST);
  try {
    const parsed: unknown = JSON.parse(args);
    if (typeof parsed === "object" && parsed !== null) {
      text = Object.values(parsed).map((value) => typeof value === "string" ? value : JSON.stringify(value))
        .join(" · ");
    }
  } catch {
    // It is still being written.
  }
  return glance(text, GLANCE);
}

function Call({ call }: { readonly call: CallItem }): VNode {
  const { name, args, state, output, isShortened, ms, progress } = call;
  const took = ms === null || ms < 1_000 ? "" : ` · ${(ms / 1_000).toFixed(1)} s`;
  return html`
    <details class=${`call ${state}`}>
      <summary><span class="dot" aria-hidden="true"></span><b>${name}</b> <span class="glance">${glanceAt(
        args,
      )}</span>
          <span class="state">${STATES[state]}${took}</span></summary>
      <div class="call-body">
          <p class="fine">Arguments · <code>${call.id}</code></p>
          <pre tabindex="0" aria-label="Arguments">${clipped(args)}</pre>
          ${progress !== null && html`<p class="fine">${progress}</p>`}
          ${output !== null && html`
            <p class="fine">Result${isShortened ? ", of which the model was shown a shortened form" : ""}</p>
            <pre tabindex="0" aria-label="Result">${output === "" ? "(empty)" : clipped(output)}</pre>
          `}
        </div>
    </details>
  ` as VNode;
}

/** What became of a compaction, in a sentence. */
export function sayMark(mark: Mark): string {
  const { phase, pairs, method, tokensBefore, tokensAfter, reason, resolved } = mark;
  const why = sayReason(reason);
  switch (phase) {
    case "applied": {
      const moved = pairs === 0
        ? method === "trim" ? "results shortened" : "older messages moved into the summary"
        : `${plural(pairs, "call")} moved into the summary`;
      const sizes = tokensBefore === null || tokensAfter === null
        ? ""
        : `, ${grouped(tokensBefore)} → ${grouped(tokensAfter)} tokens`;
      return `Compacted: ${moved}${sizes}${resolved === null ? "" : ". It had been put off before"}`;
    }
    case "deferred":
      return `Compaction put off: ${why}`;
    case "rejected":
      return `Compaction thrown away: ${why}. The context stays as it was`;
    case "exhausted":
      return `The window is full: ${why}`;
    default:
      return phase satisfies never;
  }
}

function draw(item: Item): VNode {
  switch (item.kind) {
    case "user":
      return html`
        <article class="said" aria-label="You">
          <p>${item.text}</p>
        </article>
      ` as VNode;
    case "text":
      return html`<article class="answer" aria-label="Assistant">${markdown(item.text)}</article>` as VNode;
    case "reasoning":
      return html`
        <details class="reasoning">
          <summary>Reasoning</summary>
          <div class="answer">${markdown(item.text)}</div>
        </details>
      ` as VNode;
    case "call":
      return html`<${Call} call=${item} />` as VNode;
    case "compaction":
      return html`<p class=${`mark ${item.mark.phase}`}><span>${sayMark(item.mark)}</span></p>` as VNode;
    case "note":
      return html`<p class=${`notice ${item.tone}`} role=${
        item.tone === "bad" ? "alert" : "status"
      }>${item.text}</p>` as VNode;
    default:
      return item satisfies never;
  }
}

const drawn = new WeakMap<Item, VNode>();

/** An item as it is drawn; the same node each time, so that what has not changed is not looked at again. */
export function drawItem(item: Item): VNode {
  let node = drawn.get(item);
  if (node === undefined) {
    node = html`<li key=${item.id}>${draw(item)}</li>` as VNode;
    drawn.set(item, node);
  }
  return node;
}
