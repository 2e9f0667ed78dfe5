/**
 * What a language model is to the loop: one request, one stream of events with a terminal marker.
 *
 * @module
 */
import type { SelvageError } from "../core/errors.ts";
import type { AssistantMessage, Message, ProviderOptions } from "../core/message.ts";
import type { ModelSettings } from "../core/settings.ts";
import type { Usage } from "../core/usage.ts";
import type { ToolSchema } from "./tool.ts";

/** Why a model call ended. */
export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter";

/** One request to a model. */
export interface ModelRequest {
  /** Instructions; empty where there are none. */
  readonly system: string;
  /** The transcript, oldest first. */
  readonly messages: readonly Message[];
  /** Tools the model may call. */
  readonly tools: readonly ToolSchema[];
  /** The most tokens that the answer may take. */
  readonly maxOutput: number;
  /** How the model is to answer. Default: as it does by itself. */
  readonly settings?: ModelSettings;
}

/** A model that could not answer a request, and the one that is asked in its place. */
export interface ModelFallback {
  /** Id of the model that could not answer. */
  readonly from: string;
  /** Id of the model that is asked now. */
  readonly to: string;
  /** What went wrong. Its fields say where and why; they are for the operator, not for clients. */
  readonly error: SelvageError;
}

/**
 * What a model streams. `finish` is the terminal marker: it is sent once, last, and only when the provider
 * itself has said that the message is complete. A stream that ends without it throws instead.
 */
export type ModelEvent =
  | { readonly type: "text.delta"; readonly text: string }
  | { readonly type: "reasoning.delta"; readonly text: string }
  | {
    readonly type: "tool.input.delta";
    /** Index of the call in the message, from 0. */
    readonly call: number;
    readonly name: string;
    readonly delta: string;
  }
  | {
    /** The text or reasoning that was streamed last is whole, where the provider says so before the message is. */
    readonly type: "part.end";
    readonly kind: "text" | "reasoning";
    /** What the provider says of it, a signature for example. */
    readonly providerOptions?: ProviderOptions;
  }
  | {
    /** The arguments of a call are whole, where the provider says so before the message is. */
    readonly type: "tool.input.end";
    /** Index of the call in the message, from 0. */
    readonly call: number;
  }
  | {
    /** Nothing of an answer has come, and another model is asked. */
    readonly type: "fallback";
    readonly fallback: ModelFallback;
  }
  | {
    readonly type: "finish";
    readonly reason: FinishReason;
    /** The whole message. Arguments that are not a JSON object are kept as `{ unparsed_arguments: text }`. */
    readonly message: AssistantMessage;
    readonly usage?: Usage;
    /** Id of the model that has answered, where that is another one than was asked. */
    readonly model?: string;
    /** That model's {@link Model.tokenFactor}: what it bills is not in the tokens of the model that was asked. */
    readonly tokenFactor?: number;
    /** That model's {@link Model.dialect}, which tells its provider. */
    readonly dialect?: Dialect;
  };

/** Which rules a provider lays on a transcript. */
export type Dialect = "openai-chat" | "openai-responses" | "anthropic" | "ai-sdk" | "scripted";

/** A language model. */
export interface Model {
  /** The name that events and logs show. */
  readonly id: string;
  /** Tokens of request and answer together that the model can hold. */
  readonly window: number;
  /** The most tokens that one answer can have. */
  readonly maxOutput: number;
  /** Rules that the provider lays on a transcript. */
  readonly dialect: Dialect;
  /** Billed tokens for one `o200k_base` token of text; learned where a provider differs. Default 1. */
  readonly tokenFactor?: number;
  /** How the provider prices images. Default `unknown`: a flat price. */
  readonly media?: "openai-tiles" | "openai-patches" | "anthropic" | "gemini" | "unknown";
  /**
   * Streams one answer. Throws a `SelvageError` with a `model_*` code when the provider refuses, fails or
   * breaks off; aborting the signal ends the upstream request at once.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
