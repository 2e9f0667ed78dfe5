/** Text of the demo: lines of a width, the bar of the context. */
import { grouped } from "../src/files/words.ts";

/** Characters of the bar. */
const BAR = 40;

/** A share as `12 %`. */
export function percent(part: number, whole: number): string {
  return `${Math.round(100 * part / whole)} %`;
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
