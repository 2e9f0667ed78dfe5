/**
 * The adapter for Messages: Anthropic's models, and the servers that speak their protocol.
 *
 * @module
 */
import { optionsOf, text, yesOrNo } from "../core/options.ts";
import type { Model, ModelEvent, ModelRequest, Usage } from "../ports.ts";
import { anthropicUsage } from "../tokens/usage.ts";
import { MessageAssembler } from "./_assemble_anthropic.ts";
import { noRoom } from "./_errors.ts";
import { exchange } from "./_exchange.ts";
import { finishReason } from "./_finish_anthropic.ts";
import { aNumber, HOSTED, providerTools, requireModelOptions } from "./_options.ts";
import type { AssistantPart } from "./_parts.ts";
import { BINDING_BETA, encodeMessagesBody, MIN_THINKING_TOKENS } from "./_render_anthropic.ts";
import { type HostedModelOptions, type Protocol, readHosted } from "./hosted.ts";

/** Settings of {@link anthropic}. */
export interface AnthropicOptions extends HostedModelOptions {
  /** Sent as `x-api-key`. */
  readonly apiKey?: string | undefined;
  /** With or without `/v1` at its end; its query is kept. Default `https://api.anthropic.com`. */
  readonly baseURL?: string | undefined;
  /**
   * Lets the model think before it answers: in at most `budgetTokens` (from 1,024 on), or as much as it finds
   * right where none are named. Models that take no budget any more never get one. Default: as the model does it.
   */
  readonly thinking?: { readonly budgetTokens?: number };
  /** Version of the protocol. Default `2023-06-01`. */
  readonly version?: string;
  /** Whether to mark tools, system text and messages for the provider's prompt cache. Default true. */
  readonly cache?: boolean;
  /**
   * Tools that the provider runs by itself, in its own form, for example
   * `{ type: "web_search_20250305", name: "web_search" }`. They go before the agent's own.
   */
  readonly providerTools?: readonly Readonly<Record<string, unknown>>[];
}

const rules = optionsOf<AnthropicOptions>({
  ...HOSTED,
  thinking: optionsOf({ budgetTokens: aNumber }),
  version: text,
  cache: yesOrNo,
  providerTools,
}, ["model"]);

/** How often an answer that the provider has paused is asked to go on. */
const MAX_PAUSES = 5;

/** The answer, as far as the provider has come with it. */
interface Answer {
  readonly parts: readonly AssistantPart[];
  /** Calls that we have to answer. */
  readonly calls: number;
  readonly stopReason: string;
  readonly usage: Usage | undefined;
}

/**
 * Makes a model that speaks Messages.
 *
 * Thinking with its signatures and the blocks of tools that the provider runs itself are kept byte for byte in
 * `providerOptions.anthropic` of their parts, and sent back so; reasoning without a signature is left out. An
 * answer that the provider pauses is continued within the same call, five times at most; then it ends as
 * `length`. Its usage is that of the last request, with the output of all: the last input holds what came before.
 *
 * Its `stream` throws `SelvageError`s, each with `fields.retryable` and, where the provider said something,
 * `fields.upstream`: `model_auth`, `model_not_found`, `model_rate_limited`, `context_length_exceeded` (with
 * `fields.window` in tokens where it is named), `model_refused`, `model_unavailable`, `model_unreachable`,
 * `model_bad_response`, `model_stream_error`, `model_stream_cut`, `model_stalled`. A request is sent again by itself
 * only after a rate limit, a server error or a failed connection, and only while no part of its answer was seen.
 * Redirects are not followed: they would carry what was said, and the key, to another place.
 *
 * @param options The model's name, the key and what the model can hold.
 * @returns The model. Nothing is sent before `stream` is called.
 * @throws {TypeError} When an option is unknown or of another kind, the base URL is no URL, or the key or a header
 *   cannot be sent.
 * @throws {RangeError} When a number is out of its range, or the budget for thinking is too small.
 *
 * @example
 * ```ts
 * import { anthropic } from "@selvage/selvage/models";
 *
 * const model = anthropic({ model: "claude-sonnet-4-5", apiKey: "sk-ant-1", thinking: { budgetTokens: 4_096 } });
 * console.log(model.window);
 * ```
 */
export function anthropic(options: AnthropicOptions): Model {
  requireModelOptions(options, rules);
  const { model, cache = true } = options;
  const thinking = thinkingOf(options);
  const hosted = readHosted(options, protocolOf(options));
  const { context, facts, maxOutput, tokenFactor, window } = hosted;
  const binding = new Headers(hosted.headers);
  binding.append("anthropic-beta", BINDING_BETA);
  const bindingHeaders = Object.fromEntries(binding);
  const isBound = facts.thinking === "bound";

  function stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    let before: Answer = { parts: [], calls: 0, stopReason: "", usage: undefined };
    let pauses = 0;
    return exchange(hosted, {
      request() {
        const { bytes, isBinding } = encodeMessagesBody(request, {
          model,
          isBound,
          providerTools: options.providerTools ?? [],
          cache,
          paused: before.parts,
          ...(thinking === undefined ? {} : { thinking }),
        });
        return { body: bytes, ...(isBinding ? { headers: bindingHeaders } : {}) };
      },
      signal,
      assemble: () => new MessageAssembler(context, { calls: before.calls }),
      take(answer) {
        before = join(before, answer);
        const { calls, parts, stopReason } = before;
        // Calls wait for our answer, not the provider's; and nothing at all cannot be continued.
        const goesOn = stopReason === "pause_turn" && calls === 0 && parts.length > 0;
        if (goesOn && pauses++ < MAX_PAUSES) return null;
        if (stopReason === "model_context_window_exceeded" && parts.length === 0) throw noRoom(context);
        return finishOf(before);
      },
    });
  }

  return { id: model, window, maxOutput, dialect: "anthropic", tokenFactor, media: facts.media, stream };
}

/** An answer with what the provider has added to it. */
function join(before: Answer, answer: MessageAssembler): Answer {
  const usage = anthropicUsage(answer.usage);
  const outputTokens = (before.usage?.outputTokens ?? 0) + (usage?.outputTokens ?? 0);
  return {
    parts: [...before.parts, ...answer.parts()],
    calls: before.calls + answer.calls,
    stopReason: answer.stopReason,
    usage: usage === undefined ? before.usage : { ...usage, outputTokens },
  };
}

function finishOf({ calls, parts, stopReason, usage }: Answer): ModelEvent {
  return {
    type: "finish",
    reason: finishReason(stopReason, calls > 0),
    message: { role: "assistant", content: parts },
    ...(usage === undefined ? {} : { usage }),
  };
}

function thinkingOf({ thinking }: AnthropicOptions): number | "adaptive" | undefined {
  if (thinking === undefined) return undefined;
  const { budgetTokens } = thinking;
  if (budgetTokens === undefined) return "adaptive";
  if (budgetTokens >= MIN_THINKING_TOKENS) return budgetTokens;
  throw new RangeError(
    `Cannot make the model: found thinking.budgetTokens ${budgetTokens}, wanted at least ${MIN_THINKING_TOKENS}`,
  );
}

function protocolOf({ apiKey, version = "2023-06-01" }: AnthropicOptions): Protocol {
  return {
    baseURL: "https://api.anthropic.com",
    path: (base) => `${base.replace(/\/v1$/, "")}/v1/messages`,
    headers: { "anthropic-version": version, ...(apiKey === undefined ? {} : { "x-api-key": apiKey }) },
    wanted: { stream: "a stream of message events", ending: "a stop_reason and message_stop" },
  };
}
