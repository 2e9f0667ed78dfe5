/**
 * The canonical message: structurally the AI SDK's `ModelMessage`, declared here so that the core depends on
 * nothing. Fields that the core does not know (`providerOptions` and the like) travel with it untouched.
 *
 * @module
 */

/** Opaque settings of one provider, kept byte for byte. */
export type ProviderOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A run of plain text. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
}

/** A file: an image, a document, audio. `data` is base64 or a URL. */
export interface FilePart {
  readonly type: "file";
  /** IANA media type, for example `image/png`. */
  readonly mediaType: string;
  readonly data: string;
  readonly filename?: string;
  readonly providerOptions?: ProviderOptions;
}

/** What a model thought before it answered; a signature travels in `providerOptions`. */
export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly providerOptions?: ProviderOptions;
}

/** A request of the model to run a tool. */
export interface ToolCallPart {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  /** Parsed JSON arguments. */
  readonly input: unknown;
  /** True where the provider runs the tool itself and answers inside the same message. */
  readonly providerExecuted?: boolean;
  readonly providerOptions?: ProviderOptions;
}

/** The outcome of a tool call in the shape the AI SDK gives it. */
export type ToolOutput =
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "json"; readonly value: unknown }
  | { readonly type: "error-text"; readonly value: string }
  | { readonly type: "error-json"; readonly value: unknown }
  | { readonly type: "execution-denied"; readonly reason?: string }
  | { readonly type: "content"; readonly value: readonly (TextPart | FilePart)[] };

/** The answer to a tool call. */
export interface ToolResultPart {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly output: ToolOutput;
  readonly providerOptions?: ProviderOptions;
}

/** Instructions of the application. */
export interface SystemMessage {
  readonly role: "system";
  readonly content: string;
  readonly providerOptions?: ProviderOptions;
}

/** What a person said. */
export interface UserMessage {
  readonly role: "user";
  readonly content: string | readonly (TextPart | FilePart)[];
  readonly providerOptions?: ProviderOptions;
}

/** What the model said in one step. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: string | readonly (TextPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart)[];
  readonly providerOptions?: ProviderOptions;
}

/** Results of tool calls. */
export interface ToolMessage {
  readonly role: "tool";
  readonly content: readonly ToolResultPart[];
  readonly providerOptions?: ProviderOptions;
}

/** One message of a transcript. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
