/**
 * Originals: what the log has of something that the model is shown in other words, or not at all.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Client } from "../../client/mod.ts";
import { grouped } from "../../files/words.ts";
import { sayError } from "./say.ts";

/** Characters of an original that are asked for at a time. */
const PAGE = 6_000;

/** A part of the text of an original, as the service gives it. */
interface TextPage {
  readonly text: string;
  readonly total: number;
  readonly next: number | null;
}

/** What {@link Original} shows. */
export interface OriginalProps {
  readonly client: Client;
  readonly session: string;
  /** `e41`, `e41.0` or `e3..e17`. */
  readonly reference: string;
}

/** The text of an original, page by page. */
export function Original({ client, session, reference }: OriginalProps): VNode {
  const [pages, setPages] = useState<readonly TextPage[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const read = async (offset: number): Promise<TextPage> =>
    await client.sessions.entry(session, { ref: reference, offset, limit: PAGE }) as unknown as TextPage;
  const more = (offset: number): void => {
    read(offset).then(
      (page) => setPages((before) => [...before, page]),
      (error) => setProblem(sayError(error)),
    );
  };
  useEffect(() => {
    let isOver = false;
    setPages([]);
    setProblem(null);
    read(0).then(
      (page) => {
        if (!isOver) setPages([page]);
      },
      (error) => {
        if (!isOver) setProblem(sayError(error));
      },
    );
    return () => {
      isOver = true;
    };
  }, [session, reference]);
  const last = pages.at(-1);
  const next = last?.next ?? null;
  return html`<div class="original">
    ${problem !== null && html`<p class="notice bad" role="alert">${problem}</p>`}
    ${
    pages.length === 0 && problem === null && html`<p class="fine" role="status">Reading ${reference} …</p>`
  }
    ${
    pages.length > 0 && html`<pre tabindex="0" aria-label=${`Original ${reference}`}>${
      pages.map(({ text }) => text).join("")
    }</pre>`
  }
    ${
    next !== null && html`<p><button type="button" onClick=${() =>
      more(next)}>Read on (${grouped((last?.total ?? 0) - next)} characters left)</button></p>`
  }
  </div>` as VNode;
}
