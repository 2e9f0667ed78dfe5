/**
 * Compaction for a loop that the AI SDK runs: one line in the agent that is there already.
 *
 * @module
 */
import { prefixChain } from "../compaction/prefix_chain.ts";
import { RememberedViews } from "../compaction/remembered_views.ts";
import { systemClock } from "../loop/clock.ts";
import { recallTool } from "../loop/recall.ts";
import type { Tool } from "../ports.ts";
import { utf8Length } from "../tokens/counter.ts";
import { modelFacts } from "../tokens/models.ts";
import { budgetOf, LiveLoop, type LiveLoopOptions } from "./live_loop.ts";
import { type CompactStepsOptions, requireCompactSteps } from "./options.ts";
import { LiveLoops } from "./live_loops.ts";
import { loopRecall } from "./recall.ts";
import { summarizerModel } from "./summarizer.ts";
import type { LoopMessage, LoopTool, PreparedStep, StepOptions } from "./types.ts";

/** What `compactSteps()` makes: a `prepareStep` of the AI SDK. */
export interface CompactSteps {
  /**
   * Says what to send in the next step.
   *
   * @param options What the loop knows.
   * @returns The messages to send where they cannot stay as they are, and that Claude cannot think in this step where
   *   a compaction has taken the thought that its answer began with; undefined where nothing changes.
   */
  <M extends LoopMessage>(options: StepOptions<M>): Promise<PreparedStep<M> | undefined>;
  /**
   * A tool for the same loop that reads originals of what was shortened or taken away, by the refs of the ledger. Set
   * `recall: true` where the loop has it, so that the ledger says so.
   */
  readonly recall: LoopTool;
}

/**
 * Keeps the context of an AI SDK loop inside its model's window: `streamText`, `generateText` and `ToolLoopAgent` of
 * versions 6 and 7 take what it gives as their `prepareStep`. Before each step the messages are checked; where too
 * many have come together, the oldest rounds become a ledger, and no call is ever parted from its result. What is
 * broken in a history is repaired. The caller's own messages are not touched.
 *
 * The same history gives the same messages each time, so that providers' caches hold: an earlier compaction is found
 * again by the hash of the prefix, in this process or, with a `store`, in any. A loop whose later steps go on from
 * what was returned (version 7) and one that goes on from the whole history (version 6) are both known that way.
 *
 * @param options The window, and when compaction is due.
 * @returns The function for `prepareStep`. It throws `context_exhausted` where nothing makes the context small enough
 *   for the model to be called; its caller's loop then ends with that error.
 * @throws SelvageError `bad_budget` where the window or the shares do not work out.
 * @throws {TypeError} For an option that is unknown, missing or of the wrong kind, and for a summarizer that is none.
 *
 * @example
 * ```ts
 * import { compactSteps } from "@selvage/selvage/ai-sdk";
 *
 * // streamText({ model, tools, messages, stopWhen, prepareStep: compactSteps({ window: 200_000 }) })
 * const prepareStep = compactSteps({ window: 8_000, fixed: 0 });
 * const round = (id: string) => [
 *   { role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName: "read", input: { path: `${id}.ts` } }] },
 *   {
 *     role: "tool",
 *     content: [{ type: "tool-result", toolCallId: id, toolName: "read", output: { type: "text", value: "let a = 1;\n".repeat(100) } }],
 *   },
 * ];
 * const messages = [{ role: "user", content: "Read all." }, ...Array.from({ length: 20 }, (_, n) => round(`f${n}`)).flat()];
 * const step = await prepareStep({ messages });
 * console.log(messages.length, step?.messages.length, String(step?.messages[0]?.content).slice(0, 15)); // 41 8 [selvage ledger
 * ```
 */
export function compactSteps(options: CompactStepsOptions): CompactSteps {
  requireCompactSteps(options);
  const { window, fixed, store, owner, summarize, clock = systemClock, onEvent = () => {} } = options;
  budgetOf(options, fixed ?? 0);
  const summarizer = summarize === undefined ? null : summarizerModel(summarize, window);
  const named = Object.entries(options.verbatimArgs ?? {}).map(([name, args]) => nameOnly(name, args));
  const tools = options.recall === true ? [...named, recallTool(() => [])] : named;
  const loops = new LiveLoops();
  /** What is sent beside the messages, by the model's name. */
  const learned = new Map<string, number>();
  const remembered = new RememberedViews({
    ...(store === undefined ? {} : { store }),
    ...(owner === undefined ? {} : { owner }),
    onError: (error) => {
      const message = `Cannot remember the view in the store: ${
        error instanceof Error ? error.message : error
      }`;
      onEvent({ type: "error", code: "store_failed", message, retryable: true });
    },
  });

  function settingsOf({ model, instructions }: StepOptions): LiveLoopOptions {
    const name = modelName(model);
    const facts = modelFacts(name, options.tokenFactor === undefined ? {} : { factor: options.tokenFactor });
    const said = typeof instructions === "string" ? instructions : JSON.stringify(instructions ?? "");
    return {
      settings: options,
      facts,
      fixed: fixed ?? learned.get(name) ?? Math.ceil(utf8Length(said) / 3),
      clock,
      summarizer,
      tools,
      onEvent,
    };
  }

  async function prepareStep<M extends LoopMessage>(
    step: StepOptions<M>,
  ): Promise<PreparedStep<M> | undefined> {
    const { messages, steps = [], stepNumber = steps.length, model } = step;
    const names = await prefixChain(messages);
    const known = loops.take(names);
    // The newest objects count: a cache mark on them may have moved.
    const isWhole = known === null || known.isWhole;
    const source = isWhole ? messages : [...known.loop.source, ...messages.slice(known.messages)];
    const advance = { source, isFirst: stepNumber === 0, last: steps.at(-1) };
    let loop = known?.loop ?? null;
    if (loop === null || !(await loop.advance(advance))) {
      const prefixes = isWhole ? names : await prefixChain(source);
      // Not known here: its beginning may have been shown to a model by another loop, or another process.
      loop = await LiveLoop.open(source, () => remembered.find(prefixes), settingsOf(step));
      await loop.advance(advance);
    }
    if (loop.learnedFixed !== null) learned.set(modelName(model), loop.learnedFixed);
    const changed = loop.changedView();
    if (changed !== null) {
      const [name] = (isWhole ? names : await prefixChain(source)).slice(-1);
      const counts = name === undefined ? changed : await remembered.remember(name, changed);
      if (JSON.stringify(counts) !== JSON.stringify(changed)) {
        // Somebody else has made one of the same history, and made it first.
        const found = { ...counts, messages: source.length };
        loop = await LiveLoop.open(source, () => Promise.resolve(found), settingsOf(step));
        await loop.advance(advance);
      }
    }
    const shown = loop.messages() as M[];
    const shownAs = await prefixChain(shown);
    // Both go on from here: loops that come again with the whole history, and loops that keep what is returned.
    loops.keep(loop, [{ names, isWhole }, { names: shownAs, isWhole: false }]);
    const isSame = shown.length === messages.length && shownAs.at(-1) === names.at(-1);
    if (loop.lacksThought(shown)) return { messages: shown, providerOptions: WITHOUT_THINKING };
    return isSame ? undefined : { messages: shown };
  }

  return Object.assign(prepareStep, { recall: loopRecall(loops) });
}

/** Claude refuses to think on where an answer does not begin as it did. */
const WITHOUT_THINKING = { anthropic: { thinking: { type: "disabled" as const } } };

/** The name of a model, as an object or as text; empty where it has none. */
function modelName(model: unknown): string {
  if (typeof model === "string") return model;
  const { modelId } = (model ?? {}) as { readonly modelId?: unknown };
  return typeof modelId === "string" ? modelId : "";
}

/** A tool as far as a ledger needs it: which of its arguments are kept to the letter. */
function nameOnly(name: string, verbatimArgs: readonly string[]): Tool {
  const refuse = (): never => {
    throw new TypeError(`Cannot run ${name}: the loop runs its own tools`);
  };
  return { name, description: "", inputSchema: {}, verbatimArgs, parse: refuse, execute: refuse };
}
