/**
 * Server-sent events, parsed as they come in: chunks may end anywhere, lines may end with CR, LF or both.
 *
 * @module
 */
import { ClientError } from "./error.ts";

/** One event as it was sent. */
export interface SseEvent {
  /** Id of this event, or of the last one before that had any; empty where there was none. */
  readonly id: string;
  /** Name; empty where it has none. */
  readonly event: string;
  /** Data, its lines joined. */
  readonly data: string;
}

/** A line ends with CR LF, LF or CR. */
const LINE_END = /\r\n|\n|\r/g;

/** Characters of one event that are held: a stream that sends more without an end of it is no stream of events. */
const MAX_CHARS = 64 * 1024 * 1024;

/** A parser of one stream. */
export class SseParser {
  /** What came of the line that has no end yet, in pieces. */
  #rest: string[] = [];
  #held = 0;
  #isFirst = true;
  /** The text before ended with CR: an LF at the beginning of the next one belongs to it. */
  #hasCr = false;
  #id = "";
  #event = "";
  #data: string[] = [];

  /**
   * Takes text.
   *
   * @param text What came next, of any length.
   * @returns The events that are whole now.
   * @throws ClientError `bad_answer` when one event has more than 64 Mi characters.
   */
  push(text: string): readonly SseEvent[] {
    const events: SseEvent[] = [];
    let from = 0;
    if (text === "") return events;
    if (this.#hasCr && text.startsWith("\n")) from = 1;
    this.#hasCr = text.endsWith("\r");
    LINE_END.lastIndex = from;
    for (let end = LINE_END.exec(text); end !== null; end = LINE_END.exec(text)) {
      this.#rest.push(text.slice(from, end.index));
      from = LINE_END.lastIndex;
      const line = this.#rest.length === 1 ? this.#rest[0] ?? "" : this.#rest.join("");
      this.#rest = [];
      this.#take(line, events);
    }
    if (from < text.length) {
      this.#rest.push(text.slice(from));
      this.#hold(text.length - from);
    }
    return events;
  }

  #hold(chars: number): void {
    this.#held += chars;
    if (this.#held > MAX_CHARS) {
      throw new ClientError(
        "bad_answer",
        `Cannot read the stream: found an event of over ${MAX_CHARS} characters, wanted less`,
      );
    }
  }

  #take(found: string, events: SseEvent[]): void {
    const line = this.#isFirst ? found.replace(/^\ufeff/, "") : found;
    this.#isFirst = false;
    if (line === "") {
      if (this.#data.length > 0) {
        events.push({ id: this.#id, event: this.#event, data: this.#data.join("\n") });
      }
      this.#event = "";
      this.#data = [];
      this.#held = 0;
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") {
      this.#hold(value.length);
      this.#data.push(value);
    } else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
  }
}
