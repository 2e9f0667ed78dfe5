/**
 * Models in an order of preference, as one model.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Model, ModelEvent, ModelRequest } from "../ports.ts";

/**
 * Makes one model out of several: where the first cannot answer, the next is asked. A request moves on only as long
 * as nothing of an answer has come; a request that is too long for a model is not a failure of it, and is told.
 *
 * @param models The models, the preferred one first; at least one.
 * @returns A model with the smallest window and output limit of all, so that a request fits whichever answers. It goes
 *   by the name of the first; each answer in the log says which one it came from.
 * @throws TypeError when there is none.
 *
 * @example
 * ```ts
 * import { fallback, openaiChat } from "@selvage/selvage/models";
 *
 * const baseURL = "http://127.0.0.1:11434/v1";
 * const model = fallback([openaiChat({ model: "large", baseURL }), openaiChat({ model: "small", baseURL })]);
 * console.log(model.id); // large
 * ```
 */
export function fallback(models: readonly Model[]): Model {
  const [first] = models;
  if (first === undefined) {
    throw new TypeError("Cannot make a model with fallbacks: found no model, wanted at least one");
  }
  return {
    ...first,
    window: Math.min(...models.map(({ window }) => window)),
    maxOutput: Math.min(...models.map(({ maxOutput }) => maxOutput)),
    tokenFactor: Math.max(...models.map(({ tokenFactor = 1 }) => tokenFactor)),
    stream: (request, signal) => streamOfFirst(models, { request, signal }),
  };
}

async function* streamOfFirst(
  models: readonly Model[],
  { request, signal }: { readonly request: ModelRequest; readonly signal: AbortSignal },
): AsyncGenerator<ModelEvent, void> {
  for (const [index, model] of models.entries()) {
    const events = model.stream(request, signal)[Symbol.asyncIterator]();
    let next: IteratorResult<ModelEvent>;
    try {
      next = await events.next();
    } catch (error) {
      if (index === models.length - 1 || signal.aborted || !isFailure(error)) throw error;
      continue;
    }
    try {
      for (; next.done !== true; next = await events.next()) yield byName(next.value, model.id);
    } finally {
      await events.return?.();
    }
    return;
  }
}

/** The end of an answer says who has answered: the innermost of models within models. */
function byName(event: ModelEvent, model: string): ModelEvent {
  return event.type === "finish" ? { model, ...event } : event;
}

/** Whether an error speaks of the model and not of the request. */
function isFailure(error: unknown): boolean {
  return error instanceof SelvageError && error.code.startsWith("model_");
}
