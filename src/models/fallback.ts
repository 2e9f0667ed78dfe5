/**
 * Models in an order of preference, as one model.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { AssistantMessage, Message } from "../core/message.ts";
import { aClock, listOf, number, optionsOf, requireOptions } from "../core/options.ts";
import { aModel } from "../loop/agent_options.ts";
import { systemClock } from "../loop/clock.ts";
import type { Clock, Model, ModelEvent, ModelRequest } from "../ports.ts";

/** The models of one that is made of several: within another such model they stand for themselves. */
const members = new WeakMap<Model, readonly Model[]>();

/** The key in `providerOptions` of signed reasoning under which stands who has written it. */
const NOTE = "selvage";

const someModels = listOf("a list of models", aModel);

/** Milliseconds for which a model that could not answer is asked last. */
const REST_MS = 60_000;

/** Settings of a model with fallbacks. */
export interface FallbackOptions {
  /** Milliseconds for which a model that could not answer is asked last; 0: each request begins with the first. Default 60,000. */
  readonly restMs?: number;
  /** Where the time comes from. */
  readonly clock?: Clock;
}

const theOptions = optionsOf<FallbackOptions>({
  restMs: number("milliseconds, from 0", { least: 0 }),
  clock: aClock,
});

/** How files are priced, the dearest first: what holds for any of the models is at least that. */
const DEAREST = ["anthropic", "openai-patches", "unknown", "openai-tiles", "gemini"] as const;

/**
 * Makes one model out of several: where the first cannot answer, the next is asked. A request moves on only as long
 * as nothing of an answer has come; a request that is too long for a model is not a failure of it, and is told. A key
 * that is refused or a name that is not known is one: each time a model is passed over, an event `fallback` says why,
 * which comes to the operator by `onFallback` of `runTurn()`, and in the service's log. Who was passed over is asked last
 * for a minute (`restMs`): a model that hangs holds up one step, not each of them, and the provider's cache of the one
 * that answers is used. After that the first is asked first again.
 *
 * Which one will answer is not known before it does, so the context is measured by the strictest rule of all: the
 * smallest window and output limit, the most tokens for a text, the highest price of a file; a bill counts as what it
 * would have come to at the dearest of them. Reasoning that a provider has signed goes back to the model that has
 * written it, and to no other.
 *
 * @param models The models, the preferred one first; at least one.
 * @param options How long a model that could not answer is asked last.
 * @returns A model by the name and dialect of the first; each answer in the log says which one it came from.
 * @throws TypeError when there is none, or something else among them.
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
export function fallback(models: readonly Model[], options: FallbackOptions = {}): Model {
  requireOptions("make a model with fallbacks", models, someModels);
  requireOptions("make a model with fallbacks", options, theOptions);
  const { restMs = REST_MS, clock = systemClock } = options;
  const all = models.flatMap((model) => members.get(model) ?? [model]);
  const [first] = all;
  if (first === undefined) {
    throw new TypeError("Cannot make a model with fallbacks: found no model, wanted at least one");
  }
  const asked = all.map((model): Asked => ({
    model,
    name: nameOf(model),
    shown: new WeakMap(),
    failedAt: -Infinity,
  }));
  const made: Model = {
    ...first,
    window: Math.min(...all.map(({ window }) => window)),
    maxOutput: Math.min(...all.map(({ maxOutput }) => maxOutput)),
    tokenFactor: Math.max(...all.map(({ tokenFactor = 1 }) => tokenFactor)),
    media: DEAREST.find((family) => all.some(({ media = "unknown" }) => media === family)) ?? "unknown",
    stream: (request, signal) =>
      streamOfFirst(byRest(asked, { now: clock.now(), restMs }), {
        request,
        signal,
        onFailure: (one) => one.failedAt = clock.now(),
      }),
  };
  members.set(made, all);
  return made;
}

/** A model among others. */
interface Asked {
  readonly model: Model;
  readonly name: string;
  /** Messages as this model gets them, where it gets others: the same each time, since adapters know them again. */
  readonly shown: WeakMap<Message, Message>;
  /** When it could not answer last, in milliseconds since the epoch. */
  failedAt: number;
}

/** Those that may be asked in their order, then those that have just failed in theirs. */
function byRest(
  asked: readonly Asked[],
  { now, restMs }: { readonly now: number; readonly restMs: number },
): readonly Asked[] {
  // A clock that was set back lets nobody rest for longer.
  const isResting = ({ failedAt }: Asked): boolean => failedAt <= now && now < failedAt + restMs;
  return [...asked.filter((one) => !isResting(one)), ...asked.filter(isResting)];
}

/** One id may be served in several dialects. */
function nameOf({ dialect, id }: Model): string {
  return `${dialect} ${id}`;
}

async function* streamOfFirst(
  asked: readonly Asked[],
  { request, signal, onFailure }: {
    readonly request: ModelRequest;
    readonly signal: AbortSignal;
    readonly onFailure: (one: Asked) => void;
  },
): AsyncGenerator<ModelEvent, void> {
  for (const [index, one] of asked.entries()) {
    const events = one.model.stream(requestFor(one, request), signal)[Symbol.asyncIterator]();
    let next: IteratorResult<ModelEvent>;
    try {
      // One that is itself made of several says so of them; nothing of an answer has come by that.
      while ((next = await events.next()).done !== true && next.value.type === "fallback") yield next.value;
    } catch (error) {
      if (signal.aborted || !isFailure(error)) throw error;
      onFailure(one);
      const to = asked[index + 1]?.model.id;
      if (to === undefined) throw error;
      yield { type: "fallback", fallback: { from: one.model.id, to, error } };
      continue;
    }
    try {
      for (; next.done !== true; next = await events.next()) yield named(next.value, one);
    } finally {
      await events.return?.();
    }
    return;
  }
}

/** The end of an answer says who has answered, and by which measure it is billed. */
function named(event: ModelEvent, { model: { id, tokenFactor = 1, dialect }, name }: Asked): ModelEvent {
  if (event.type !== "finish") return event;
  return { model: id, tokenFactor, dialect, ...event, message: noted(event.message, name) };
}

/** An answer whose signed reasoning says who has written it. */
function noted(message: AssistantMessage, by: string): AssistantMessage {
  if (typeof message.content === "string") return message;
  const content = message.content.map((part) => {
    if (part.type !== "reasoning" || part.providerOptions === undefined) return part;
    const note = { ...part.providerOptions[NOTE], by };
    return { ...part, providerOptions: { ...part.providerOptions, [NOTE]: note } };
  });
  return { ...message, content };
}

/** The request without what another model has signed: to this one that is a forgery. */
function requestFor(one: Asked, request: ModelRequest): ModelRequest {
  const messages = request.messages.map((message) => messageFor(one, message));
  return messages.every((message, at) => message === request.messages[at])
    ? request
    : { ...request, messages };
}

function messageFor({ name, shown }: Asked, message: Message): Message {
  if (message.role !== "assistant" || typeof message.content === "string") return message;
  const known = shown.get(message);
  if (known !== undefined) return known;
  const content = message.content.filter((part) => {
    const by = part.type === "reasoning" ? part.providerOptions?.[NOTE]?.["by"] : undefined;
    return by === undefined || by === name;
  });
  const made = content.length === message.content.length ? message : { ...message, content };
  shown.set(message, made);
  return made;
}

/** Whether an error speaks of the model and not of the request. */
function isFailure(error: unknown): error is SelvageError {
  return error instanceof SelvageError && error.code.startsWith("model_");
}
