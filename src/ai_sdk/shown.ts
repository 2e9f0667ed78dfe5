/**
 * A view over the messages that it was made of: what is not summarised or shortened is the caller's own object.
 *
 * @module
 */
import { type Context, summaryText } from "../compaction/context.ts";
import type { Imported } from "../compaction/import.ts";
import { isSigned } from "../compaction/prefix.ts";
import { NO_ANSWER } from "../compaction/render.ts";
import { groupBy } from "../core/group_by.ts";
import type { ToolOutput } from "../core/message.ts";
import { viewMessages } from "../core/view.ts";
import type { Entry } from "../ports.ts";
import type { LoopMessage } from "./types.ts";

type Part = { readonly type: string; readonly providerOptions?: unknown };

/** Names what comes before the messages: nothing of it but the view changes in one loop. */
export const PREFIX = "loop";

/** What was made of a message, and from what: it is the same object each time, so that its name is, too. */
interface Made {
  readonly outputs: readonly (ToolOutput | null)[];
  readonly isBare: boolean;
  readonly message: LoopMessage;
}

/** Renders the views of one loop. */
export class Renderer {
  readonly #made = new WeakMap<LoopMessage, Made>();
  #summary: { readonly text: string; readonly message: LoopMessage } | null = null;

  /**
   * The messages to send.
   *
   * @param imported The history.
   * @param context The view in force on it.
   */
  render<M extends LoopMessage>(
    { messages, places }: Pick<Imported<M>, "messages" | "places">,
    context: Context,
  ): M[] {
    const { view, entries } = context;
    const shown = new Set(viewMessages(view, entries.length));
    const stale = context.staleOf(PREFIX);
    const own = groupBy(entries, ({ seq }) => places[seq]?.message ?? -1);
    const out: M[] = [];
    let owner: Entry | null = null;
    let summary = view.ledger.length === 0 ? null : this.#summaryOf(summaryText(view, context.recall));
    for (const [at, message] of messages.entries()) {
      const made = own.get(at) ?? [];
      // An approval has no entry of its own: it stays with the answer that it belongs to.
      owner = made[0] ?? owner;
      if (owner !== null && summary !== null) {
        out.push(summary as M);
        summary = null;
      }
      if (owner !== null && !shown.has(owner.seq)) continue;
      out.push(
        this.#render(message, { made, places, context, isBare: made.some(({ seq }) => stale.has(seq)) }),
      );
    }
    return out;
  }

  #summaryOf(text: string): LoopMessage {
    if (this.#summary?.text !== text) this.#summary = { text, message: { role: "user", content: text } };
    return this.#summary.message;
  }

  #render<M extends LoopMessage>(
    message: M,
    { made, places, context, isBare }: {
      readonly made: readonly Entry[];
      readonly places: Imported["places"];
      readonly context: Context;
      readonly isBare: boolean;
    },
  ): M {
    if (!Array.isArray(message.content)) return message;
    const parts: readonly Part[] = message.content;
    const outputs: (ToolOutput | null)[] = parts.map(() => null);
    for (const entry of made) {
      if (entry.kind !== "result") continue;
      const output = context.shownOutput(entry);
      const part = places[entry.seq]?.part;
      if (output !== entry.output && typeof part === "number") outputs[part] = output;
    }
    if (!isBare && outputs.every((output) => output === null)) return message;
    const known = this.#made.get(message);
    const isKnown = known?.isBare === isBare && known.outputs.every((output, at) => output === outputs[at]);
    if (isKnown) return known.message as M;
    const kept = parts.map((part, at) => outputs[at] === null ? part : { ...part, output: outputs[at] })
      .filter((part) => !isBare || !isSigned(part));
    const content = kept.length > 0 ? kept : [NO_ANSWER];
    const changed = { ...message, content };
    this.#made.set(message, { outputs, isBare, message: changed });
    return changed;
  }
}
