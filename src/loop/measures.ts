/**
 * How an agent's requests are measured, before a provider has billed any and afterwards.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { type Budget, computeBudget } from "../compaction/budget.ts";
import type { Tool, ToolSchema } from "../ports.ts";
import { loadCounter, utf8Length } from "../tokens/counter.ts";
import { boundTokens, type TextMeasure, withMedia } from "../tokens/measure.ts";
import { ContextMeter, type MeterState } from "../tokens/meter.ts";
import type { MediaFamily } from "../tokens/models.ts";
import type { ReadyAgent } from "./agent.ts";
import { hasRecall, toolsOf } from "./recall.ts";
import { ownTools } from "./tool_set.ts";

/** The exact counter as a plain function; its data is loaded when something first needs it. */
export async function loadMeasure(): Promise<TextMeasure> {
  const counter = await loadCounter("o200k_base");
  return (text, limit) => counter.count(text, limit);
}

/** How an agent's messages are measured: a cheap upper bound, and the exact count once its data is loaded. */
export interface Measures {
  readonly bound: TextMeasure;
  readonly loadMeasure: () => Promise<TextMeasure>;
  /** Whether the model can read originals: its summaries say so. */
  readonly recall: boolean;
}

/**
 * The measures for a provider.
 *
 * @param media How it prices what is no text.
 * @param recall Whether the model can read originals.
 */
export function measuresFor(media: MediaFamily, recall: boolean): Measures {
  return {
    recall,
    bound: withMedia(boundTokens, media),
    loadMeasure: async () => withMedia(await loadMeasure(), media),
  };
}

/** The measures for an agent's model. */
export function measuresOf(agent: ReadyAgent): Measures {
  return measuresFor(agent.model.media ?? "unknown", hasRecall(agent));
}

/** What an agent's requests have in common. */
interface Fixed {
  readonly tools: readonly Tool[];
  readonly schemas: readonly ToolSchema[];
  /** Bytes of the schemas as JSON. */
  readonly bytes: number;
  readonly system: string;
  readonly tokens: number;
}

/** The list of an agent that has none. */
const NO_TOOLS: readonly Tool[] = [];

/**
 * By list of tools, the last: worked out for each step, it would cost as much as the step itself. Agents come anew with
 * each turn where their callers have limits or instructions of their own, and keep the list.
 */
const known = new WeakMap<readonly Tool[], Fixed>();

function fixedOf(agent: ReadyAgent): Fixed {
  const { system = "" } = agent;
  const list = agent.tools === undefined ? NO_TOOLS : ownTools(agent.tools);
  const tools = toolsOf(agent);
  const found = known.get(list);
  const isSame = found?.tools.length === tools.length && tools.every((tool, at) => tool === found.tools[at]);
  if (isSame && found.system === system) return found;
  const schemas = isSame
    ? found.schemas
    : tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const bytes = isSame ? found.bytes : utf8Length(JSON.stringify(schemas));
  // Before any bill: JSON and prose have more than three bytes a token.
  const tokens = Math.ceil((utf8Length(system) + bytes) / 3);
  const fixed = { tools: [...tools], schemas, bytes, system, tokens };
  known.set(list, fixed);
  return fixed;
}

/** The agent's tools as a model is told about them: the same list each time. */
export function schemasOf(agent: ReadyAgent): readonly ToolSchema[] {
  return fixedOf(agent).schemas;
}

/** Tokens of system text and schemas before any bill. */
export function fixedTokens(agent: ReadyAgent): number {
  return fixedOf(agent).tokens;
}

/** A meter as a session's head keeps it: what was billed, and what for. */
export interface StoredMeter {
  readonly model: string;
  /** Estimate for system text and tools under which the state came about. */
  readonly fixed: number;
  readonly state: MeterState;
  /** A window smaller than the model claims, as its provider has named it. */
  readonly window?: number;
  /** The same of other models that the session has had, by their ids, those of late. */
  readonly windows?: Readonly<Record<string, number>>;
}

/** Other models whose windows a session knows: its head is written with every commit. */
const MAX_WINDOWS = 8;

/**
 * What to keep of a meter, and of what providers said about windows.
 *
 * @param agent The agent.
 * @param options Meter and thresholds of its turn; `before`: what the session's head kept until then.
 */
export function storeMeter(
  { model: { id, window: claimed } }: ReadyAgent,
  { meter, budget: { window }, before }: {
    readonly meter: ContextMeter;
    readonly budget: Budget;
    readonly before: unknown;
  },
): StoredMeter {
  const { model, window: last, windows = {} } = (before ?? {}) as Partial<StoredMeter>;
  const newest = model === undefined || last === undefined ? [] : [[model, last] as const];
  const known = new Map([...Object.entries(windows).filter(([name]) => name !== model), ...newest]);
  known.delete(id);
  const learned = window < claimed ? { window } : {};
  const others = known.size === 0 ? {} : { windows: Object.fromEntries([...known].slice(-MAX_WINDOWS)) };
  return { model: id, fixed: meter.fixed, state: meter.state, ...learned, ...others };
}

/** The smaller window that a model's provider has named in a session, where it has. */
function namedWindow(id: string, stored: unknown): number {
  const { model, window = Infinity, windows = {} } = (stored ?? {}) as Partial<StoredMeter>;
  if (model === id) return window;
  return Object.hasOwn(windows, id) ? windows[id] ?? Infinity : Infinity;
}

/**
 * The thresholds of an agent in a session: under its model's window, or under the smaller one that the provider
 * has named there.
 *
 * @param agent The agent.
 * @param stored What the session's head keeps of the meter.
 * @throws SelvageError `bad_budget`.
 */
export function budgetOf(agent: ReadyAgent, stored?: unknown): Budget {
  const { model: { window: claimed, maxOutput, id } } = agent;
  const named = namedWindow(id, stored);
  const under = (window: number): Budget =>
    computeBudget({ window, maxOutput }, {
      fixed: fixedTokens(agent),
      ...(agent.compaction === undefined ? {} : { settings: agent.compaction }),
    });
  if (!(named < claimed)) return under(claimed);
  try {
    return under(named);
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    // With more instructions or tools than it was learned with, nothing can be done in it: let the provider speak.
    return under(claimed);
  }
}

/**
 * Makes the meter of an agent, from what a session's head keeps where that still holds: another model bills
 * otherwise, and under another system text or other tools the last bill covers something else.
 *
 * @param agent The agent, and its thresholds.
 * @param stored What the head keeps.
 */
export function restoreMeter(
  { agent, budget }: { readonly agent: ReadyAgent; readonly budget: Budget },
  stored: unknown,
): ContextMeter {
  const fixed = budget.window - budget.maxOutput - budget.usable;
  const { model, fixed: was, state } = (stored ?? {}) as Partial<StoredMeter>;
  const known = model !== agent.model.id
    ? undefined
    : was === fixed
    ? state
    : state && { ...state, anchor: null };
  return new ContextMeter({
    factor: agent.model.tokenFactor ?? 1,
    fixed,
    window: budget.window,
    ...(known === undefined ? {} : { state: known }),
  });
}
