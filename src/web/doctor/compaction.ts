/**
 * A compaction tried at a budget: what would become of the transcript, and the file that comes of it.
 *
 * @module
 */
/// <reference lib="dom" />
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { grouped, plural } from "../../files/words.ts";
import type { Asking } from "./ask.ts";
import type { Findings, Preview } from "./protocol.ts";
import { save } from "./save.ts";

/** Milliseconds without a move after which a budget is meant. */
const PAUSE_MS = 120;

/** How a cut was found, in a few words. */
const METHODS: Readonly<Record<string, string>> = {
  near: "the legal cut nearest to the budget",
  trim: "a legal cut further back, with old results shortened",
  forward: "the next legal cut further on",
  forced: "the best legal cut there is",
};

const REASONS: Readonly<Record<string, string>> = {
  open_call: "a call is still open, and no cut may pass it",
  atom_too_wide: "one atom alone is larger than the budget",
  pinned_too_big: "what must stay is larger than the budget",
  budget_too_small: "the summary alone would fill the budget",
};

const NOTHING: Readonly<Record<string, string>> = {
  within_budget: "It fits: there is nothing to compact.",
  within_lookback: "It is over the budget by no more than a cut may keep: there is nothing to compact.",
  too_little_to_gain: "The best cut would take away less than a tenth: there is nothing to compact.",
};

function sayOutcome({ outcome, cut, pairs, trims, reason, nearest }: Preview): string {
  if (outcome === "nothing") return NOTHING[reason ?? ""] ?? `There is nothing to compact: ${reason}.`;
  if (outcome === "applied" && cut !== null) {
    const moved = pairs === 1 ? "1 call with its result" : `${grouped(pairs)} calls with their results`;
    const trimmed = trims === 0 ? "" : `, ${plural(trims, "result")} shortened`;
    return `Cut in front of message ${cut.at}: ${
      METHODS[cut.method] ?? cut.method
    }. ${moved} moved into the summary${trimmed}.`;
  }
  const around = [nearest?.before, nearest?.after].filter((at) => typeof at === "number").join(" and ");
  return `No cut at this budget: ${REASONS[reason ?? ""] ?? reason}.${
    around === "" ? "" : ` The nearest legal cuts are at message ${around}.`
  }`;
}

/** The slider, what it comes to, and the download. */
export function Compaction({ findings, transcript, ask, onPreview }: {
  readonly findings: Findings;
  readonly transcript: number;
  readonly ask: Asking;
  onPreview(preview: Preview | null): void;
}): VNode {
  const { tokens } = findings;
  const [share, setShare] = useState(100);
  const [preview, setPreview] = useState<Preview | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const turn = useRef(0);
  const budget = Math.max(1, Math.round(tokens * share / 100));
  const show = (found: Preview | null): void => {
    setPreview(found);
    onPreview(found);
  };
  useEffect(() => {
    const own = ++turn.current;
    if (share === 100) return show(null);
    const timer = setTimeout(() => {
      ask({ kind: "preview", transcript, budget }, "preview").then(
        (found) => {
          if (own !== turn.current) return;
          setProblem(null);
          show(found);
        },
        (error: Error) => {
          if (own === turn.current) setProblem(error.message);
        },
      );
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [share, transcript]);
  useEffect(() => () => onPreview(null), []);
  const download = async (): Promise<void> => {
    try {
      save(await ask({ kind: "write", transcript, budget }, "written"));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const before = Math.max(1, preview?.tokens.before ?? tokens);
  const after = preview?.tokens.after ?? before;
  const summary = preview?.outcome === "applied" ? preview.summaryTokens : 0;
  const percent = (part: number): string => `${Math.min(100, part / before * 100)}%`;
  return html`<section class="card" aria-labelledby="compact-title">
      <h3 id="compact-title">Compact</h3>
      <p class="lead">Choose how many tokens may stay. Everything in front of the cut becomes one summary that names
        every call; everything behind it stays as it is.</p>
      <div class="slider">
        <label for="budget">Budget</label>
        <input id="budget" type="range" min="2" max="100" step="1" value=${share}
          aria-valuetext=${`${grouped(budget)} tokens`}
          onInput=${(event: Event) => setShare(Number((event.target as HTMLInputElement).value))} />
        <output for="budget">≈ ${plural(budget, "token")}</output>
      </div>
      <div class="weigh" aria-hidden="true">
        <div class="scale before"><span>before</span><i style=${{ width: "100%" }}></i></div>
        <div class="scale after"><span>after</span><i class="summary" style=${{
    width: percent(summary),
  }}></i><i
          style=${{ width: percent(after - summary) }}></i></div>
      </div>
      <div aria-live="polite" class="outcome">
        ${
    preview === null ? html`<p>Move the slider to see what a smaller budget would do.</p>` : html`
      <p class=${preview.outcome}>${sayOutcome(preview)}</p>
      <p class="facts"><span>≈ ${grouped(preview.tokens.before)} → ${grouped(after)} tokens</span>
                  ${preview.tokens.before !== tokens && html`<span>system messages left out</span>`}</p>
    `
  }
      </div>
      ${
    preview?.summary && html`
      <details class="ledger">
        <summary>Read the summary</summary>
        <pre tabindex="0" aria-label="The summary">${preview.summary}</pre>
      </details>
    `
  }
      ${
    preview?.outcome === "applied" &&
    html`<p class="actions"><button type="button" class="main" onClick=${download}>Download the compacted
        file</button></p>`
  }
      ${problem !== null && html`<p class="notice bad" role="alert">${problem}</p>`}
    </section>` as VNode;
}
