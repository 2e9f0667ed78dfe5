/**
 * One JSON document taken apart as it comes: its messages one by one, and the text around them. No text is ever
 * longer than one message, so that a document may be longer than a string can be.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { LIST_NAMES, type ListName } from "../formats/shapes.ts";
import { parseExact } from "../formats/source.ts";
import { findFault, type JsonFault, type Place, placeIn } from "./fault.ts";

/** A list that may be that of the messages. */
interface List {
  readonly name: ListName | null;
  /** Its first element among all elements, and one past its last. */
  readonly from: number;
  to: number;
  /** Where it begins, behind its bracket: a place in the text in front of its first element. */
  readonly start: number;
}

/** What a document is made of: `around[i]` stands in front of element i, the last one behind all. */
export interface SplitJson {
  readonly around: readonly string[];
  /** Texts of the elements, empty where they were not to be kept. */
  readonly texts: readonly string[];
  readonly values: readonly unknown[];
  /** The lists in which they stand. */
  readonly lists: readonly Readonly<List>[];
  /** The document with a number in place of each element. */
  readonly frame: unknown;
}

/** Characters that mean something, by where they stand. */
const IN_STRING = /["\\]/g;
const BEHIND_NUMBER = /[\s,\]}]/g;
const BETWEEN = /[^\s,]/g;
const NESTING = /["[\]{}]/g;

/** Takes a JSON document apart. */
export class JsonSplitter {
  readonly #keepTexts: boolean;
  readonly #around: string[] = [];
  readonly #texts: string[] = [];
  readonly #values: unknown[] = [];
  readonly #lists: List[] = [];
  /** The piece that is being read: an element, or what stands around elements. */
  #piece: string[] = [];
  #pieceLength = 0;
  #isElement = false;
  /** Whether the element is a list, an object or a string: it ends by itself. */
  #isNested = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The last string at the first level of an object: in front of a list, its name. */
  #key: string[] = [];
  #list: List | null = null;
  /** Up to where the document was taken, where the element begins, and where each text around them does. */
  #place: Place;
  #elementPlace: Place;
  readonly #aroundPlaces: Place[];

  /** `keepTexts: false` where nothing will be written; `from` where the document does not begin its file. */
  constructor(
    { keepTexts = true, from = { line: 1, column: 1 } }: {
      readonly keepTexts?: boolean;
      readonly from?: Place;
    } = {},
  ) {
    this.#keepTexts = keepTexts;
    this.#place = from;
    this.#elementPlace = from;
    this.#aroundPlaces = [from];
  }

  /**
   * Takes the next part of the document.
   *
   * @throws SelvageError `bad_json` with the `line` of what is no JSON; RangeError where one message is too long.
   */
  push(text: string): void {
    let from = 0;
    let nameFrom = 0;
    let at = 0;
    const cut = (to: number): void => {
      this.#take(text.slice(from, to));
      from = to;
    };
    while (at < text.length) {
      if (this.#isEscaped) {
        this.#isEscaped = false;
        at++;
        continue;
      }
      const found = this.#next(text, at);
      if (found < 0) break;
      const char = text[found] ?? "";
      at = found + 1;
      if (this.#isInString) {
        if (char === "\\") this.#isEscaped = true;
        else {
          this.#isInString = false;
          if (this.#mayBeName()) this.#key.push(text.slice(nameFrom, at));
          if (this.#isElement && this.#depth === this.#level()) {
            cut(at);
            this.#endElement();
          }
        }
        continue;
      }
      const isBetween = this.#list !== null && !this.#isElement;
      if (isBetween && char !== "]") {
        cut(found);
        this.#beginElement(char);
      } else if (this.#isElement && !this.#isNested) {
        cut(found);
        this.#endElement();
        // What ended it is looked at again.
        at = found;
        continue;
      }
      if (char === '"') {
        this.#isInString = true;
        this.#key = [];
        nameFrom = found;
      } else if (char === "[" || char === "{") {
        this.#depth++;
        if (char === "[" && this.#isList()) {
          cut(at);
          this.#beginList();
        }
      } else if (char === "]" || char === "}") {
        this.#depth--;
        if (this.#isElement && this.#depth === this.#level()) {
          cut(at);
          this.#endElement();
        } else if (this.#list !== null && this.#depth < this.#level()) this.#list = null;
      }
    }
    if (this.#isInString && this.#mayBeName()) this.#key.push(text.slice(nameFrom));
    cut(text.length);
  }

  /**
   * The whole document.
   *
   * @throws SelvageError `bad_json`; RangeError where what stands around the messages is too long.
   */
  end(): SplitJson {
    if (this.#isElement) this.#endElement();
    this.#around.push(this.#takePiece());
    let frame: unknown;
    try {
      frame = parseExact(this.#around.join("0"));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw this.#noJsonAround(error);
    }
    return {
      around: this.#around,
      texts: this.#texts,
      values: this.#values,
      lists: this.#lists,
      frame,
    };
  }

  /** The next character that means something, -1 where none is left. */
  #next(text: string, at: number): number {
    const pattern = this.#isInString
      ? IN_STRING
      : this.#isElement && !this.#isNested
      ? BEHIND_NUMBER
      : this.#list !== null && !this.#isElement
      ? BETWEEN
      : NESTING;
    pattern.lastIndex = at;
    return pattern.exec(text)?.index ?? -1;
  }

  /** Whether a string here may be the name of a list. */
  #mayBeName(): boolean {
    return this.#depth === 1 && !this.#isElement;
  }

  /** The depth at which elements of the list begin and end. */
  #level(): number {
    return this.#list?.name === null ? 1 : 2;
  }

  /** Whether the bracket that was just read begins a list of messages. */
  #isList(): boolean {
    if (this.#list !== null || this.#isElement) return false;
    return this.#depth === 1
      ? this.#values.length === 0 && this.#lists.length === 0
      : this.#nameOf() !== null;
  }

  #nameOf(): ListName | null {
    if (this.#depth !== 2) return null;
    const text = this.#key.join("");
    // No name is that long, however it is escaped.
    if (text.length > 100) return null;
    try {
      const key: unknown = JSON.parse(text);
      return LIST_NAMES.find((name) => name === key) ?? null;
    } catch {
      return null;
    }
  }

  #beginList(): void {
    const from = this.#values.length;
    this.#list = { name: this.#nameOf(), from, to: from, start: this.#pieceLength };
    this.#lists.push(this.#list);
  }

  #beginElement(char: string): void {
    this.#around.push(this.#takePiece());
    this.#isElement = true;
    this.#isNested = char === '"' || char === "[" || char === "{";
    this.#elementPlace = this.#place;
  }

  #endElement(): void {
    const text = this.#takePiece();
    this.#isElement = false;
    try {
      this.#values.push(parseExact(text));
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw noJson(error, text, { from: this.#elementPlace, message: this.#values.length });
    }
    this.#aroundPlaces.push(this.#place);
    this.#texts.push(this.#keepTexts ? text : "");
    if (this.#list !== null) this.#list.to = this.#values.length;
  }

  #take(text: string): void {
    if (text === "") return;
    this.#place = placeIn(text, text.length, this.#place);
    this.#piece.push(text);
    this.#pieceLength += text.length;
  }

  #takePiece(): string {
    const piece = this.#piece.join("");
    this.#piece = [];
    this.#pieceLength = 0;
    return piece;
  }

  /** What is wrong around the messages: where its text stood, each of them with a number in its place. */
  #noJsonAround(error: SyntaxError): SelvageError {
    const fault = findFault(this.#around.join("0"));
    if (fault === null) return new SelvageError("bad_json", error.message);
    let { at } = fault;
    const index = this.#around.findIndex((text) => {
      if (at <= text.length) return true;
      at -= text.length + 1;
      return false;
    });
    const from = this.#aroundPlaces[index] ?? this.#place;
    const text = this.#around[index] ?? "";
    const isMessage = at === text.length && index < this.#values.length;
    return faultOf(isMessage ? { ...fault, found: "a message" } : fault, { place: placeIn(text, at, from) });
  }
}

/** What is wrong in the text of a message. */
function noJson(
  error: SyntaxError,
  text: string,
  { from, message }: { readonly from: Place; readonly message: number },
): SelvageError {
  const fault = findFault(text);
  const place = placeIn(text, fault?.at ?? 0, from);
  if (fault !== null) return faultOf(fault, { place, message });
  return new SelvageError("bad_json", `message ${message} (line ${place.line}): ${error.message}`, {
    fields: { line: place.line },
  });
}

/** Says where a document is no JSON. */
function faultOf(
  { found, wanted }: JsonFault,
  { place: { line, column }, message }: { readonly place: Place; readonly message?: number },
): SelvageError {
  const place = `line ${line}, column ${column}`;
  const where = message === undefined ? place : `message ${message} (${place})`;
  return new SelvageError("bad_json", `${where}: found ${found}, wanted ${wanted}`, { fields: { line } });
}
