/**
 * A bar of atoms: a block for each, as wide as its tokens; legal cuts as ticks under it, faults as marks over it. Where
 * there are more atoms than blocks have room, a block stands for several and opens into them.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { grouped, plural } from "../../files/words.ts";

/** One block before it is drawn. */
export interface StripAtom {
  readonly from: number;
  readonly to: number;
  readonly kind: "system" | "user" | "assistant" | "summary" | "stray";
  readonly state: "open" | "closed";
  readonly tokens: number;
  /** How a model is shown it, where that is not as it is. */
  readonly mark?: AtomMark;
}

/** How an atom is shown. */
export type AtomMark = "pinned" | "shortened" | "summarised";

/** Several atoms that stand side by side, or one. */
export interface Block {
  /** First atom, and one past the last. */
  readonly first: number;
  readonly end: number;
  readonly kind: StripAtom["kind"];
  readonly isOpen: boolean;
  readonly tokens: number;
  readonly faults: number;
  /** First message. */
  readonly from: number;
  /** How all of them are shown, or the pinned one among them. */
  readonly mark: AtomMark | null;
}

/** Pixels that a block needs to be hit. */
const BLOCK_WIDTH = 9;

/** What kinds are called. */
export const KIND_NAMES: Readonly<Record<StripAtom["kind"], string>> = {
  system: "System",
  user: "User",
  assistant: "Assistant",
  summary: "Summary",
  stray: "Stray result",
};

/** The kind of several atoms: what is worth seeing, else what takes most tokens. */
function kindOf(atoms: readonly StripAtom[]): StripAtom["kind"] {
  if (atoms.some(({ kind }) => kind === "stray")) return "stray";
  if (atoms.some(({ kind }) => kind === "summary")) return "summary";
  const sums = new Map<StripAtom["kind"], number>();
  for (const { kind, tokens } of atoms) sums.set(kind, (sums.get(kind) ?? 0) + tokens);
  return [...sums].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? "assistant";
}

function markOf(atoms: readonly StripAtom[]): AtomMark | null {
  const marks = new Set(atoms.map(({ mark }) => mark ?? null));
  if (marks.has("pinned")) return "pinned";
  const [mark = null] = marks;
  return marks.size === 1 ? mark : null;
}

/**
 * Puts atoms into at most so many blocks.
 *
 * @param atoms The atoms.
 * @param options The range of them that is shown, how many blocks there is room for, and faults by message.
 */
export function blocksOf(
  atoms: readonly StripAtom[],
  { first, end, room, faults }: {
    readonly first: number;
    readonly end: number;
    readonly room: number;
    readonly faults: readonly number[];
  },
): readonly Block[] {
  const perBlock = Math.max(1, Math.ceil((end - first) / Math.max(1, room)));
  const marks = faults.toSorted((a, b) => a - b);
  let mark = 0;
  const blocks: Block[] = [];
  for (let at = first; at < end; at += perBlock) {
    const own = atoms.slice(at, Math.min(end, at + perBlock));
    const from = own[0]?.from ?? 0;
    const to = own.at(-1)?.to ?? from;
    while ((marks[mark] ?? Infinity) < from) mark++;
    const before = mark;
    while ((marks[mark] ?? Infinity) < to) mark++;
    blocks.push({
      first: at,
      end: at + own.length,
      kind: kindOf(own),
      isOpen: own.some(({ state }) => state === "open"),
      tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
      faults: mark - before,
      from,
      mark: markOf(own),
    });
  }
  return blocks;
}

function sayBlock({ first, end, kind, isOpen, tokens, faults, from }: Block, hasCut: boolean): string {
  const what = end - first === 1
    ? `${KIND_NAMES[kind]}, from message ${from}`
    : `${plural(end - first, "atom")}, from message ${from}; Enter opens them`;
  const words = [
    what,
    `about ${plural(tokens, "token")}`,
    ...(isOpen ? ["open: a call has no result yet"] : []),
    ...(faults > 0 ? [plural(faults, "violation")] : []),
    hasCut ? "a legal cut in front of it" : "no legal cut in front of it",
  ];
  return words.join(", ");
}

/** Whether a cut takes a block away: what is pinned stays, and so does what is in no log. */
function isGone({ from, mark }: Block, cutAt: number | null): boolean {
  return cutAt !== null && from >= 0 && from < cutAt && mark !== "pinned";
}

/** What a strip shows. */
export interface StripProps {
  readonly label: string;
  readonly atoms: readonly StripAtom[];
  readonly first: number;
  readonly end: number;
  readonly cuts: ReadonlySet<number>;
  /** Messages with something wrong. */
  readonly faults: readonly number[];
  /** The atom that is chosen. */
  readonly chosen: number | null;
  /** The first message that a compaction keeps. */
  readonly cutAt: number | null;
  /** Pixels that a block needs. */
  readonly blockWidth?: number;
  /** Says what a block is, in place of the words of its own. */
  readonly say?: (block: Block, hasCut: boolean) => string;
  onChoose(block: Block): void;
}

/** The bar. One block at a time can be reached by Tab; arrow keys, Home and End go from block to block. */
export function Strip(
  {
    label,
    atoms,
    first,
    end,
    cuts,
    faults,
    chosen,
    cutAt,
    onChoose,
    blockWidth = BLOCK_WIDTH,
    say = sayBlock,
  }: StripProps,
): VNode {
  const bar = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(100);
  const [focused, setFocused] = useState(0);
  const [tip, setTip] = useState<string | null>(null);
  useEffect(() => {
    const { current } = bar;
    if (current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      setRoom(Math.max(1, Math.floor((entry?.contentRect.width ?? 900) / blockWidth)));
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  const blocks = blocksOf(atoms, { first, end, room, faults });
  const perBlock = (blocks[0]?.end ?? 0) - (blocks[0]?.first ?? 0);
  const hint = perBlock > 1
    ? `A block here stands for ${grouped(perBlock)} atoms: choose one to open it.`
    : "Point at a block, or go through them with the arrow keys; choose one to read it.";
  const reachable = Math.min(focused, blocks.length - 1);
  const move = (event: KeyboardEvent, index: number): void => {
    const last = blocks.length - 1;
    const to = {
      ArrowRight: Math.min(last, index + 1),
      ArrowLeft: Math.max(0, index - 1),
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    setFocused(to);
    (bar.current?.children[to] as HTMLElement | undefined)?.focus();
  };
  return html`
    <div class="strip">
      <div class="bar" role="toolbar" aria-label=${label} ref=${bar}>
        ${blocks.map((block, index) => {
          const hasCut = cuts.has(block.from);
          const said = say(block, hasCut);
          const isChosen = chosen !== null && chosen >= block.first && chosen < block.end;
          const classes = [
            "block",
            block.kind,
            ...(block.isOpen ? ["open"] : []),
            ...(block.faults > 0 ? ["faulty"] : []),
            ...(block.mark === null ? [] : [block.mark]),
            ...(hasCut ? ["cut"] : []),
            ...(isGone(block, cutAt) ? ["gone"] : []),
            ...(cutAt !== null && atoms[block.first]?.from === cutAt ? ["cut-here"] : []),
          ];
          // By its place: where blocks come to stand for more atoms, the one with the focus keeps it.
          return html`
            <button type="button" key=${index} class=${classes.join(" ")} aria-label=${said}
              aria-pressed=${isChosen} tabindex=${index === reachable ? 0 : -1}
              style=${{ flexGrow: Math.max(1, block.tokens) }}
              onClick=${() => {
                setFocused(index);
                onChoose(block);
              }}
              onKeyDown=${(event: KeyboardEvent) => move(event, index)}
              onFocus=${() => setTip(said)} onBlur=${() => setTip(null)}
              onMouseEnter=${() => setTip(said)} onMouseLeave=${() => setTip(null)}></button>
          `;
        })}
      </div>
      <p class="tip" aria-hidden="true">${tip ?? hint}</p>
    </div>
  ` as VNode;
}
