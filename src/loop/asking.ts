/**
 * The model calls of a turn: what is sent, and what becomes of a request that the provider finds too long.
 *
 * @module
 */
import type { Budget } from "../compaction/budget.ts";
import type { Context } from "../compaction/context.ts";
import { prefixName } from "../compaction/prefix.ts";
import { SelvageError } from "../core/errors.ts";
import type { ModelFallback, ModelRequest } from "../ports.ts";
import type { ReadyAgent } from "./agent.ts";
import { type Answer, askModel } from "./ask.ts";
import type { Asked } from "./asked.ts";
import type { Compactor } from "./compactor.ts";
import type { TurnEventBody } from "./events.ts";
import { budgetOf, schemasOf } from "./measures.ts";
import { requestOf } from "./request.ts";

/** What an {@link Asking} needs. */
export interface AskingOptions {
  readonly agent: ReadyAgent;
  readonly asked: Asked;
  readonly context: Context;
  readonly budget: Budget;
}

/** Asks one agent's model about one context. */
export class Asking {
  readonly #agent: ReadyAgent;
  readonly #asked: Asked;
  readonly #context: Context;
  /** Name of what comes before the messages of each request. */
  readonly #prefix: string;
  #budget: Budget;

  constructor({ agent, asked, context, budget }: AskingOptions) {
    this.#agent = agent;
    this.#asked = asked;
    this.#context = context;
    this.#budget = budget;
    this.#prefix = prefixName({ system: agent.system ?? "", tools: schemasOf(agent), model: agent.model });
  }

  /** The thresholds in force: a provider may have named a smaller window. */
  get budget(): Budget {
    return this.#budget;
  }

  /** Names what the model is shown before its answer (C6). */
  get prefix(): string {
    return this.#context.prefixOf(this.#prefix);
  }

  /** What the model has been sent before, up to an entry. */
  requestBefore(cut: number): Omit<ModelRequest, "maxOutput"> {
    const [at] = this.#context.positionsOf([cut]);
    const { maxOutput: _, settings: __, ...request } = this.#request(1);
    return { ...request, messages: this.#context.messages(this.#prefix, at) };
  }

  /**
   * Asks the model. A provider that finds the request too long gets one forced compaction and one retry.
   *
   * @param step The step.
   * @param options `signal`: ends the call at once; `compactor`: makes room; `onFallback`: told of models passed over;
   *   `tell`: tells whoever follows the turn.
   */
  async ask(
    step: number,
    { signal, compactor, onFallback, tell }: {
      readonly signal: AbortSignal;
      readonly compactor: Compactor;
      readonly onFallback: (fallback: ModelFallback) => void;
      readonly tell: (event: TurnEventBody) => Promise<void>;
    },
  ): Promise<Answer> {
    const { model } = this.#agent;
    for (let isFirst = true;; isFirst = false) {
      let isSilent = true;
      const seq = this.#context.entries.length;
      try {
        const onDelta = (): void => void (isSilent = false);
        return await askModel({ model, request: this.#request(step) }, {
          step,
          seq,
          signal,
          onDelta,
          onFallback,
          tell,
        });
      } catch (error) {
        const isTooLong = error instanceof SelvageError && error.code === "context_length_exceeded";
        if (!isTooLong || !isSilent || !isFirst) throw error;
        this.#learnWindow(error.fields["window"] ?? await compactor.likelyWindow(), compactor);
        if (!(await compactor.refused())) throw error;
      }
    }
  }

  /** A provider with a smaller window than its model claims is believed, for the rest of the session. */
  #learnWindow(window: unknown, compactor: Compactor): void {
    if (typeof window !== "number" || !(window > 0 && window < this.#budget.window)) return;
    try {
      this.#budget = budgetOf(this.#agent, { model: this.#agent.model.id, window });
      compactor.use(this.#budget);
    } catch (error) {
      if (!(error instanceof SelvageError)) throw error;
      // A window too small to work in at all: the forced compaction is tried under the old thresholds.
    }
  }

  #request(step: number): ModelRequest {
    const messages = this.#context.messages(this.#prefix);
    const { maxOutput } = this.#budget;
    return requestOf({ agent: this.#agent, asked: this.#asked, step, messages, maxOutput });
  }
}
