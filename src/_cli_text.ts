/**
 * Text for a terminal. What comes out of a transcript is never printed as it is: it could move the cursor.
 *
 * @module
 */

/** Columns of every line. */
export const WIDTH = 100;

/** Colours, or none. */
export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly red: (text: string) => string;
}

/** Makes the colours; without them every function returns its text. */
export function createPaint(hasColor: boolean): Paint {
  const style = (code: number) => (text: string) => hasColor ? `\x1b[${code}m${text}\x1b[0m` : text;
  return { bold: style(1), dim: style(2), green: style(32), yellow: style(33), red: style(31) };
}

/** Control characters, those that turn the direction of writing, and the line ends that are none of them. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text in one line of printable characters, cut to `most` of them. */
export function plain(text: string, most: number = WIDTH): string {
  // Nobody sees more: a result of megabytes is not searched to its end.
  const flat = text.slice(0, 4 * most).replaceAll(/\s+/g, " ").trim().replaceAll(UNPRINTABLE, "\u00b7");
  const isWhole = flat.length <= most && text.length <= 4 * most;
  const shown = isWhole ? flat : flat.slice(0, Math.max(0, most - 1));
  // Half a pair is no character.
  return isWhole ? shown.toWellFormed() : `${shown.replace(/[\ud800-\udbff]$/, "").toWellFormed()}…`;
}

/** Breaks a line at spaces, or anywhere where there is none; later lines are indented by `indent`. */
export function wrap(text: string, indent: string): readonly string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > WIDTH) {
    const space = rest.lastIndexOf(" ", WIDTH);
    const end = space > WIDTH / 2 ? space : WIDTH;
    lines.push(rest.slice(0, end));
    rest = indent + rest.slice(end).trimStart();
  }
  return [...lines, rest];
}
