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
  /** Tells the parts apart. */
  readonly type: "text";
  /** The text. */
  readonly text: string;
  /** Settings of one provider, kept byte for byte. */
  readonly providerOptions?: ProviderOptions;
}

/** A file: an image, a document, audio. `data` is base64 or a URL. */
export interface FilePart {
  /** Tells the parts apart. */
  readonly type: "file";
  /** IANA media type, for example `image/png`. */
  readonly mediaType: string;
  /** Base64 of the content, or a URL. */
  readonly data: string;
  /** Name of the file, where it has one. */
  readonly filename?: string;
  /** Settings of one provider, kept byte for byte. */
  readonly providerOptions?: ProviderOptions;
}

/** What a model thought before it answered; a signature travels in `providerOptions`. */
export interface ReasoningPart {
  /** Tells the parts apart. */
  readonly type: "reasoning";
  /** The text. */
  readonly text: string;
  /** Settings of one provider, kept byte for byte. */
  readonly providerOptions?: ProviderOptions;
}

/** A request of the model to run a tool. */
export interface ToolCallPart {
  /** Tells the parts apart. */
  readonly type: "tool-call";
  /** Ties the result to its call. */
  readonly toolCallId: string;
  /** Name of the tool. */
  readonly toolName: string;
  /** Parsed JSON arguments. */
  readonly input: unknown;
  /** True where the provider runs the tool itself and answers inside the same message. */
  readonly providerExecuted?: boolean;
  /** Settings of one provider, kept byte for byte. */
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
  /** Tells the parts apart. */
  readonly type: "tool-result";
  /** Ties the result to its call. */
  readonly toolCallId: string;
  /** Name of the tool. */
  readonly toolName: string;
  /** What the tool answered. */
  readonly output: ToolOutput;
  /** Settings of one provider, kept byte for byte. */
  readonly providerOptions?: ProviderOptions;
}

/** Instructions of the application. */
export interface SystemMessage {
  /** Tells the messages apart. */
  readonly role: "system";
  /** The text, or the parts. */
  readonly content: string;
  /** Settings of one provider, kept byte for byte. */
  readonly providerOptions?: ProviderOptions;
}

/** What a person said. */
export interface UserMessage {
  /** Tells the messages apart. */
  readonly role: "user";
  /** The text, or the parts. */
  readonly content: string | readonly (TextPart | FilePart)[];
  /** Settings of one provider, kept byte for byte. */
  readonly providerOptions?: ProviderOptions;
}

/** What the model said in one step. */
export interface AssistantMessage {
  /** Tells the messages apart. */
  readonly role: "assistant";
  /** The text, or the parts. */
  readonly content: string | readonly (TextPart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart)[];
  /** Settings of one provider, kept byte for byte. */
  readonly providerOptions?: ProviderOptions;
}

/** Results of tool calls. */
export interface ToolMessage {
  /** Tells the messages apart. */
  readonly role: "tool";
  /** The text, or the parts. */
  readonly content: readonly ToolResultPart[];
  /** Settings of one provider, kept byte for byte. */
  readonly providerOptions?: ProviderOptions;
}

/** One message of a transcript. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
