/**
 * Where a transcript comes in: dropped, chosen or pasted.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** What is done with a transcript. */
export interface IntakeProps {
  /** Whether one is shown already. */
  readonly isCompact: boolean;
  readonly isBusy: boolean;
  onOpen(name: string, source: Blob | string): void;
  onExample(): void;
}

/** A name for pasted text: its ending tells how it is to be read. */
function nameOf(text: string): string {
  const [first = "", second = ""] = text.trimStart().split("\n", 2);
  return /^\{.*\}\s*$/.test(first) && second.startsWith("{") ? "pasted.jsonl" : "pasted.json";
}

/** The field that takes a transcript. A file may be dropped anywhere on the page, and text be pasted anywhere. */
export function Intake({ isCompact, isBusy, onOpen, onExample }: IntakeProps): VNode {
  const [isOver, setOver] = useState(false);
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const latest = useRef(onOpen);
  latest.current = onOpen;
  useEffect(() => {
    const over = (event: DragEvent): void => {
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      setOver(false);
      const file = event.dataTransfer?.files[0];
      const dropped = event.dataTransfer?.getData("text/plain") ?? "";
      if (file) latest.current(file.name, file);
      else if (dropped) latest.current(nameOf(dropped), dropped);
    };
    const paste = (event: ClipboardEvent): void => {
      const file = event.clipboardData?.files[0];
      const pasted = event.clipboardData?.getData("text/plain") ?? "";
      if (!file && pasted.trim() === "") return;
      event.preventDefault();
      if (file) latest.current(file.name, file);
      else latest.current(nameOf(pasted), pasted);
    };
    document.addEventListener("dragover", over);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    document.addEventListener("paste", paste);
    return () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
      document.removeEventListener("paste", paste);
    };
  }, []);
  return html`
    <section class=${["intake", isCompact ? "compact" : "", isOver ? "over" : ""].join(" ")}
      aria-label="Bring a transcript">
      <p class="drop-title">${isCompact ? "Another one?" : "Drop a transcript here"}</p>
      <p class="actions">
        <button type="button" class="main" disabled=${isBusy} onClick=${() => input.current?.click()}>
          Choose a file</button>
        <button type="button" disabled=${isBusy} onClick=${onExample}>Try a broken example</button>
      </p>
      <input ref=${input} type="file" class="hidden" tabindex="-1" aria-label="Transcript file"
        onChange=${(event: Event) => {
          const field = event.target as HTMLInputElement;
          const file = field.files?.[0];
          if (file) onOpen(file.name, file);
          field.value = "";
        }} />
      <details>
        <summary>Paste text instead</summary>
        <textarea aria-label="Transcript as JSON or JSON lines" rows="4" spellcheck=${false} value=${text}
          placeholder='[{"role":"user","content":"…"}, …]'
          onInput=${(event: Event) => setText((event.target as HTMLTextAreaElement).value)}></textarea>
        <button type="button" disabled=${isBusy || text.trim() === ""}
          onClick=${() => onOpen(nameOf(text), text)}>Examine</button>
      </details>
      ${!isCompact &&
        html`<p class="fine">JSON or JSON lines, up to 16 MiB, in the format of OpenAI (Chat Completions or
        Responses), Anthropic, Gemini or the AI SDK. Session logs of agents are read too.</p>`}
    </section>
  ` as VNode;
}
