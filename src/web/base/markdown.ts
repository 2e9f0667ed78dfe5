/**
 * Markdown as nodes of the page. What a model writes is hostile: it never becomes HTML, tags in it are text, links lead
 * to the web or to mail alone, and pictures are links, so that reading an answer asks nobody for anything.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import type { VNode } from "preact";

/** What stands in a paragraph or a page. */
type Child = VNode | string;

/** Characters of one text that are read as Markdown: what is longer is shown as it is. */
const MAX_CHARS = 200_000;

/** Levels of lists and quotes in each other; what is deeper is text. */
const MAX_DEPTH = 24;

/** The address of a link; null where it leads to anything but the web or mail. */
export function safeLink(href: string): string | null {
  try {
    const { protocol, href: whole } = new URL(href);
    return ["http:", "https:", "mailto:"].includes(protocol) ? whole : null;
  } catch {
    // An address of no other place would be one of this page.
    return null;
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

/** Text as it is meant: the lexer leaves the few entities of HTML as they are written. */
function plain(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}

function link(href: string, content: readonly Child[]): Child {
  const safe = safeLink(href);
  if (safe === null) return html`<span class="dead-link">${content}</span>` as VNode;
  return html`<a href=${safe} target="_blank" rel="noopener noreferrer nofollow">${content}</a>` as VNode;
}

function listOf({ ordered, start, items }: Tokens.List, depth: number): VNode {
  const shown = items.map(({ tokens, task, checked }) =>
    html`<li>${task && (checked ? "☑ " : "☐ ")}${nodesOf(tokens, depth + 1)}</li>`
  );
  const from = typeof start === "number" && start !== 1 ? { start } : {};
  return (ordered ? html`<ol ...${from}>${shown}</ol>` : html`<ul>${shown}</ul>`) as VNode;
}

function tableOf({ header, rows }: Tokens.Table, depth: number): VNode {
  const cells = (row: Tokens.TableCell[], tag: "th" | "td") =>
    row.map(({ tokens }) => html`<${tag}>${nodesOf(tokens, depth + 1)}</${tag}>`);
  return html`
    <div class="table" role="region" aria-label="Table" tabindex="0">
      <table>
        <thead>
          <tr>${cells(header, "th")}</tr>
        </thead>
        <tbody>${rows.map((row) => html`<tr>${cells(row, "td")}</tr>`)}</tbody>
      </table>
    </div>
  ` as VNode;
}

function nodeOf(found: Token, depth: number): Child {
  const token = found as MarkedToken;
  const within = (): Child[] => nodesOf("tokens" in token ? token.tokens ?? [] : [], depth + 1);
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "paragraph":
      return html`<p>${within()}</p>` as VNode;
    case "heading":
      // The page has headings of its own: those of an answer come below them, and keep their looks.
      return html`<p class=${`md-h md-h${Math.min(4, token.depth)}`}>${within()}</p>` as VNode;
    case "code":
      return html`<pre tabindex="0" aria-label="Code">${token.text}</pre>` as VNode;
    case "blockquote":
      return html`<blockquote>${within()}</blockquote>` as VNode;
    case "list":
      return listOf(token, depth);
    case "table":
      return tableOf(token, depth);
    case "hr":
      return html`<hr />` as VNode;
    case "strong":
      return html`<strong>${within()}</strong>` as VNode;
    case "em":
      return html`<em>${within()}</em>` as VNode;
    case "del":
      return html`<del>${within()}</del>` as VNode;
    case "codespan":
      return html`<code>${token.text}</code>` as VNode;
    case "br":
      return html`<br />` as VNode;
    case "link":
      return link(token.href, within());
    case "image":
      return link(token.href, [`[picture: ${plain(token.text || token.href)}]`]);
    case "text":
      return "tokens" in token && token.tokens !== undefined
        ? html`<span>${within()}</span>` as VNode
        : plain(token.text);
    case "escape":
      return token.text;
    default:
      // Tags among it: they are shown as they were written.
      return token.raw;
  }
}

function nodesOf(tokens: readonly Token[], depth: number): Child[] {
  return depth > MAX_DEPTH ? tokens.map(({ raw }) => raw) : tokens.map((token) => nodeOf(token, depth));
}

/**
 * Reads Markdown.
 *
 * @param text What a model wrote.
 * @returns Nodes, none of which holds anything but text and links that are safe.
 */
export function markdown(text: string): readonly Child[] {
  const written = (): Child[] => [html`<pre tabindex="0" aria-label="Text">${text}</pre>` as VNode];
  if (text.length > MAX_CHARS) return written();
  try {
    return nodesOf(new Lexer({ gfm: true, breaks: true }).lex(text), 0);
  } catch (error) {
    // The lexer goes down into quotes and lists until there is no stack left: nobody means thousands of them.
    if (error instanceof RangeError) return written();
    throw error;
  }
}
