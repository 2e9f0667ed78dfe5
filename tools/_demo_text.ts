/** Text for a terminal: colours, numbers, lines of a width, the bar of the context. */

/** Characters of the bar. */
const BAR = 40;

/** Colours, or none. */
export interface Paint {
  readonly dim: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly red: (text: string) => string;
  readonly bold: (text: string) => string;
}

/** Makes the colours; without them every function returns its text. */
export function createPaint(hasColor: boolean): Paint {
  const style = (code: number) => (text: string) => hasColor ? `\x1b[${code}m${text}\x1b[0m` : text;
  return { dim: style(2), green: style(32), yellow: style(33), red: style(31), bold: style(1) };
}

/** 12345 as `12,345`. */
export function grouped(number: number): string {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number with its noun. */
export function plural(number: number, noun: string): string {
  return `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A share as `12 %`. */
export function percent(part: number, whole: number): string {
  return `${Math.round(100 * part / whole)} %`;
}

/** Cuts a text to one line of at most `most` characters. */
export function oneLine(text: string, most: number): string {
  const flat = text.replaceAll(/\s+/g, " ").trim();
  return flat.length <= most ? flat : `${flat.slice(0, Math.max(0, most - 1))}…`;
}

/** Breaks a text at spaces. */
export function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    let line = "";
    for (const word of paragraph.split(" ")) {
      if (line !== "" && line.length + 1 + word.length > width) {
        lines.push(line);
        line = word;
      } else line = line === "" ? word : `${line} ${word}`;
    }
    return [...lines, line];
  });
}

/** The context as a bar over the window, with the marks of both thresholds. */
export function contextBar({ tokens, window, compactAt, stopAt }: Readonly<
  Record<"tokens" | "window" | "compactAt" | "stopAt", number>
>): string {
  const at = (value: number): number => Math.min(BAR - 1, Math.floor(value / window * BAR));
  const cells: string[] = Array.from(
    { length: BAR },
    (_, index) => index < Math.round(tokens / window * BAR) ? "█" : "·",
  );
  cells[at(compactAt)] = "C";
  cells[at(stopAt)] = "S";
  return `[${cells.join("")}] ${grouped(tokens)} of ${grouped(window)} (${percent(tokens, window)})`;
}
