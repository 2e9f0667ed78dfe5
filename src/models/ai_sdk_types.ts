/**
 * The part of AI SDK's provider interface that {@link aiSdk} uses, as structural types: models of its versions 2, 3
 * and 4 fit them as they are.
 *
 * @module
 */
import type { ProviderOptions } from "../core/message.ts";

/** One part of a stream. */
export interface AiSdkStreamPart {
  /** Tells the parts apart. */
  readonly type: string;
}

/** What a language model is asked. */
export interface AiSdkCallOptions {
  /** The messages. */
  readonly prompt: readonly object[];
  /** The most tokens of the answer. */
  readonly maxOutputTokens?: number;
  /** Tools, those that the provider runs included. */
  readonly tools?: readonly object[];
  /** Settings of the provider. */
  readonly providerOptions?: ProviderOptions;
  /** Further request headers. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Ends the request. */
  readonly abortSignal?: AbortSignal;
}

/** A language model as packages for the AI SDK make it. */
export interface AiSdkLanguageModel {
  /** Version of the interface: `v2`, `v3` or `v4`. */
  readonly specificationVersion: string;
  /** Name of the provider, for example `anthropic.messages`. */
  readonly provider: string;
  /** The model's name at the provider. */
  readonly modelId: string;
  /** Asks the model. */
  doStream(options: AiSdkCallOptions): PromiseLike<{ readonly stream: ReadableStream<AiSdkStreamPart> }>;
}
