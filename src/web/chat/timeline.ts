/**
 * The timeline: how full the window was after each step, and what was done about it.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { InspectedContext } from "../../client/mod.ts";
import { grouped, plural } from "../../files/words.ts";
import { sayMark } from "./item.ts";
import type { Items, Mark } from "./items.ts";

/** Pixels. */
const HEIGHT = 132;
const PAD = { left: 8, right: 8, top: 10, bottom: 18 } as const;

/** Marks that are listed in words. */
const LISTED = 40;

/** What a timeline is drawn of. */
export interface TimelineProps {
  readonly items: Items;
  readonly meter: InspectedContext["meter"];
}

/** A place in the drawing. */
interface Place {
  readonly x: number;
  readonly y: number;
}

/** The steps that are drawn: of many that share a pixel the fullest. */
export function sampled(
  points: readonly (number | null)[],
  most: number,
): readonly { readonly step: number; readonly tokens: number }[] {
  const known = points.flatMap((tokens, at) => tokens === null ? [] : [{ step: at + 1, tokens }]);
  const each = Math.ceil(known.length / Math.max(1, most));
  if (each <= 1) return known;
  const kept: { readonly step: number; readonly tokens: number }[] = [];
  for (let at = 0; at < known.length; at += each) {
    const [first, ...others] = known.slice(at, at + each);
    if (first !== undefined) kept.push(others.reduce((a, b) => b.tokens > a.tokens ? b : a, first));
  }
  return kept;
}

function pathOf(places: readonly Place[]): string {
  return places.map(({ x, y }, at) => `${at === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

const KINDS = [
  { kind: "applied", noun: "compaction", phases: ["applied"] },
  { kind: "deferred", noun: "deferral", phases: ["deferred"] },
  { kind: "rejected", noun: "rejection", phases: ["rejected", "exhausted"] },
] as const;

/**
 * What became of compactions. The log does not keep those that were put off or thrown away: where steps were read from
 * it there is no number of them, and a word only for those that are drawn.
 */
export function tally(
  { marks, isFromLog }: Pick<Items, "marks" | "isFromLog">,
): readonly { readonly kind: typeof KINDS[number]["kind"]; readonly text: string }[] {
  return KINDS.flatMap(({ kind, noun, phases }) => {
    const count = marks.filter(({ phase }) => (phases as readonly Mark["phase"][]).includes(phase)).length;
    if (kind === "applied" || !isFromLog) return [{ kind, text: plural(count, noun) }];
    return count === 0 ? [] : [{ kind, text: `${noun}s` }];
  });
}

function sayAll({ items }: TimelineProps): string {
  return `Tokens over ${plural(items.points.length, "step")}: ${
    tally(items).map(({ text }) => text).join(", ")
  }`;
}

/** It. */
export function Timeline(props: TimelineProps): VNode {
  const { items: { points, marks }, meter } = props;
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const { current } = box;
    if (current === null) return;
    const observer = new ResizeObserver(([entry]) =>
      setWidth(Math.max(200, entry?.contentRect.width ?? 600))
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  const top = Math.max(meter.window, ...points.map((tokens) => tokens ?? 0));
  const x = (step: number): number =>
    PAD.left + (width - PAD.left - PAD.right) * (step - 1) / Math.max(1, points.length - 1);
  const y = (tokens: number): number => HEIGHT - PAD.bottom - (HEIGHT - PAD.top - PAD.bottom) * tokens / top;
  const places = sampled(points, width / 2).map(({ step, tokens }) => ({ x: x(step), y: y(tokens) }));
  const floor = y(0);
  const area = places.length < 2
    ? ""
    : `${pathOf(places)}L${places.at(-1)?.x.toFixed(1)} ${floor}L${places[0]?.x.toFixed(1)} ${floor}Z`;
  const level = (tokens: number, name: string): VNode =>
    html`
      <line class=${`level ${name}-at`} x1=${PAD.left} x2=${width - PAD.right} y1=${y(tokens)} y2=${y(
        tokens,
      )} />
      <text class="axis" x=${PAD.left + 2} y=${y(tokens) - 4}>${name}</text>
    ` as VNode;
  const draw = (mark: Mark): VNode => {
    const at = x(Math.max(1, mark.step));
    if (mark.phase === "applied") {
      return html`
        <g class="applied">
          <line x1=${at} x2=${at} y1=${y(mark.tokensBefore ?? meter.compactAt)} y2=${y(
            mark.tokensAfter ?? 0,
          )} />
          <path d=${`M${at - 4} ${floor + 3}h8l-4 7z`} />
        </g>
      ` as VNode;
    }
    if (mark.phase === "deferred") {
      return html`<path class="deferred" d=${`M${at} ${floor + 2}l4.5 4.5l-4.5 4.5l-4.5 -4.5z`} />` as VNode;
    }
    return html`<path class="rejected" d=${`M${at - 4} ${floor + 3}l8 8m0 -8l-8 8`} />` as VNode;
  };
  return html`<section class="card timeline" aria-labelledby="timeline-title">
    <h2 id="timeline-title">How it went</h2>
    <div ref=${box}>
      ${
    points.length === 0
      ? html`<p class="fine">Each step of the agent adds a point here.</p>`
      : html`<svg width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${
        sayAll(props)
      }>
        ${level(meter.compactAt, "compact")}${level(meter.stopAt, "stop")}
        <path class="area" d=${area} /><path class="line" d=${pathOf(places)} />
        ${places.length === 1 && html`<circle class="point" cx=${places[0]?.x} cy=${places[0]?.y} r="3" />`}
        ${marks.map(draw)}
      </svg>`
  }
    </div>
    <ul class="legend">
      <li><span class="swatch line-mark"></span>tokens over ${plural(points.length, "step")}</li>
      ${
    tally(props.items).map(({ kind, text }) =>
      html`<li><span class=${`swatch ${kind}-mark`}></span>${text}</li>`
    )
  }
    </ul>
    ${
    marks.length > 0 && html`
      <details>
        <summary>In words</summary>
        <ol class="marks">${marks.slice(-LISTED).map((mark) =>
          html`<li>step ${grouped(mark.step)}: ${sayMark(mark)}</li>`
        )}</ol>
      </details>
    `
  }
  </section>` as VNode;
}
