/**
 * What was found: the verdict, the drawing with what is chosen in it, the faults, and the two ways to a mended file.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { grouped, plural } from "../../files/words.ts";
import { type Block, Strip } from "../base/strip.ts";
import type { Asking } from "./ask.ts";
import { Atom } from "./atom.ts";
import { Compaction } from "./compaction.ts";
import { Legend } from "./legend.ts";
import type { Findings, Preview } from "./protocol.ts";
import { save } from "./save.ts";

/** What conditions mean, in a few words. */
const CONDITIONS: Readonly<Record<string, string>> = {
  C1: "every call has exactly one result",
  C2: "every result has exactly one call",
  C3: "results follow their call directly",
  dialect: "a rule of the provider",
};

/** Faults that are listed before somebody asks for more. */
const FIRST_FAULTS = 8;

/** What {@link Results} shows. */
export interface ResultsProps {
  readonly name: string;
  readonly findings: Findings;
  readonly transcript: number;
  readonly ask: Asking;
}

function Verdict({ name, findings }: { readonly name: string; readonly findings: Findings }): VNode {
  const { document, faultCount, messages, calls, tokens, wrapper } = findings;
  return html`
    <header class="verdict">
      <h2 class=${faultCount === 0 ? "good" : "bad"}>
        ${faultCount === 0 ? "Nothing is broken" : plural(faultCount, "violation")}</h2>
      <p class="facts"><span class="file">${name}</span> <span>${document?.format}</span>
        <span>${plural(messages, "message")}</span> <span>${plural(calls, "call")}</span>
        <span title="Estimated: four characters a token">≈ ${plural(tokens, "token")}</span></p>
      ${wrapper !== null &&
        html`<p class="fine">A log: its messages were read from <code>${wrapper}</code>. A mended file
        holds the messages alone.</p>`}
    </header>
  ` as VNode;
}

function sayChanges(count: number): string {
  return `${plural(count, "change")}; every other message stays as it is, byte for byte. `;
}

/** The range of atoms that is drawn. */
interface Range {
  readonly first: number;
  readonly end: number;
}

/** Everything on one transcript. */
export function Results({ name, findings, transcript, ask }: ResultsProps): VNode {
  const { error, document: found, faults, faultCount, repairs, repairCount, left } = findings;
  const atoms = found?.atoms ?? [];
  const whole: Range = { first: 0, end: atoms.length };
  const [ranges, setRanges] = useState<readonly Range[]>([]);
  const [chosen, setChosen] = useState<number | null>(null);
  const [isAll, setAll] = useState(false);
  const [preview, setPreview] = useState<Preview | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const detail = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (chosen !== null) detail.current?.scrollIntoView?.({ block: "nearest" });
  }, [chosen]);
  if (error !== null || found === null) {
    return html`
      <div class="notice bad" role="alert">
        <h2>This transcript cannot be read</h2>
        <p>${error}</p>
      </div>
    ` as VNode;
  }
  const range = ranges.at(-1) ?? whole;
  const cuts = new Set(found.legalCuts);
  const choose = ({ first, end }: Block): void => {
    if (end - first === 1) setChosen(first === chosen ? null : first);
    else setRanges([...ranges, { first, end }]);
  };
  const goTo = (message: number): void => {
    const at = atoms.findIndex(({ from, to }) => message >= from && message < to);
    if (at < 0) return;
    if (atoms.length > 80) setRanges([{ first: Math.max(0, at - 20), end: Math.min(atoms.length, at + 21) }]);
    setChosen(at);
  };
  const download = async (): Promise<void> => {
    try {
      save(await ask({ kind: "write" }, "written"));
    } catch (failure) {
      setProblem(failure instanceof Error ? failure.message : String(failure));
    }
  };
  const listed = isAll ? faults : faults.slice(0, FIRST_FAULTS);
  const atom = chosen === null ? undefined : atoms[chosen];
  return html`
    <${Verdict} name=${name} findings=${findings} />
    <section class="card" aria-labelledby="drawing-title">
      <h3 id="drawing-title">The transcript, from left to right</h3>
      <p class="lead">Each block is an <b>atom</b>: messages that must stay together, such as an answer with its tool
        calls and their results. It may only be cut where a <b>tick</b> hangs below: there no call loses its result.</p>
      ${ranges.length > 0 && html`<p class="crumbs"><button type="button" onClick=${() => setRanges([])}>Whole
        transcript</button> <span>${`atoms ${grouped(range.first + 1)} to ${grouped(range.end)} of ${
        grouped(atoms.length)
      }`}</span></p>`}
      <${Strip} label="Atoms of the transcript" atoms=${atoms} first=${range.first} end=${range
        .end} cuts=${cuts}
        faults=${faults.map(({ at }) => at)} chosen=${chosen} cutAt=${preview?.cut?.at ??
          null} onChoose=${choose} />
      <${Legend} atoms=${atoms} hasFaults=${faultCount > 0}
        hasCut=${preview?.cut != null} />
      <div ref=${detail}>${atom !== undefined && html`
        <${Atom} key=${chosen} atom=${atom} transcript=${transcript} faults=${faults}
          ask=${ask} onClose=${() => setChosen(null)} />
      `}</div>
    </section>
    ${faultCount > 0 && html`<section class="card" aria-labelledby="faults-title">
      <h3 id="faults-title">What is wrong</h3>
      <ol class="faults">
        ${
      listed.map((fault) =>
        html`<li><button type="button" class="fault" onClick=${() => goTo(fault.at)}>
          <span class="where">message ${fault.at}${fault.line === null ? "" : ` · line ${fault.line}`}</span>
          <span class="what">${fault.message}</span>
          <span class="why"><code>${fault.code}</code> ${fault.condition}: ${
          CONDITIONS[fault.condition]
        }</span>
        </button></li>`
      )
    }
      </ol>
      ${
      faultCount > listed.length && html`<p class="fine">${
        !isAll && faults.length > FIRST_FAULTS
          ? html`<button type="button" onClick=${() => setAll(true)}>Show ${grouped(faults.length)}</button>`
          : null
      } ${grouped(faultCount)} in all${
        faultCount > faults.length ? "; the command lists every one" : ""
      }.</p>`
    }
    </section>`}
    <section class="card" aria-labelledby="repair-title">
      <h3 id="repair-title">Repair</h3>
      ${repairCount === 0 ? html`<p class="lead">There is nothing to repair.</p>` : html`
        <p class="lead">${sayChanges(repairCount)}${left > 0
          ? html`<b>${plural(left, "violation")} would be left.</b>`
          : "Nothing is wrong after it."}</p>
                <ol class="repairs">${repairs.slice(0, 40).map(({ at, message }) =>
                  html`<li><span class="where">message ${at}</span> ${message}</li>`
                )}</ol>
                ${repairCount > 40 && html`<p class="fine">and ${grouped(repairCount - 40)} more</p>`}
                <p
          class="actions"><button type="button" class="main" onClick=${download}>Download the repaired file</button></p>
      `}
      ${problem !== null && html`<p class="notice bad" role="alert">${problem}</p>`}
    </section>
    <${Compaction} findings=${findings} transcript=${transcript} ask=${ask} onPreview=${setPreview} />
  ` as VNode;
}
