/**
 * The part of AI SDK's loop that compaction needs, as structural types: `streamText`, `generateText` and
 * `ToolLoopAgent` of its versions 6 and 7 fit them as they are.
 *
 * @module
 */

/** A message of the loop, in any form that the AI SDK knows. */
export interface LoopMessage {
  /** `system`, `user`, `assistant` or `tool`. */
  readonly role: string;
  /** Text, or parts. */
  readonly content: unknown;
}

/** A step that the loop has done. */
export interface LoopStep {
  /** What the provider billed for it. */
  readonly usage?: {
    /** Tokens of the request, those read from a cache included. */
    readonly inputTokens?: number | undefined;
    /** Tokens of the answer. */
    readonly outputTokens?: number | undefined;
  };
}

/** What the loop knows before a step. */
export interface StepOptions<M extends LoopMessage = LoopMessage> {
  /** What would be sent. */
  readonly messages: readonly M[];
  /** Steps of this run that are done. */
  readonly steps?: readonly LoopStep[];
  /** Steps of this run that are done, as a number. */
  readonly stepNumber?: number;
  /** The model: an object with a `modelId`, or a name. */
  readonly model?: unknown;
  /** Instructions, where the loop tells them (version 7). */
  readonly instructions?: unknown;
}

/** A schema of arguments, in the form that Standard Schema has for it. */
export interface ArgumentSchema {
  /** The name that the standard gives it. */
  readonly "~standard": {
    /** Of the standard. */
    readonly version: 1;
    /** Who has made it. */
    readonly vendor: string;
    /** Says what arguments mean, or what is wrong with them. */
    readonly validate: (value: unknown) => CheckedArguments | Promise<CheckedArguments>;
  };
}

/** Arguments as a schema reads them, or what is wrong with them. */
export type CheckedArguments =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** A tool of the AI SDK. */
export interface LoopTool {
  /** What it does, for the model. */
  readonly description: string;
  /** What it takes: a zod schema. */
  readonly inputSchema: ArgumentSchema;
  /** Does the work. */
  readonly execute: (
    input: unknown,
    context: { readonly messages: readonly LoopMessage[] },
  ) => Promise<string>;
}

/** What is sent instead. */
export interface PreparedStep<M extends LoopMessage = LoopMessage> {
  /** The messages. */
  messages: M[];
  /** Settings of one provider for this step. */
  providerOptions?: { anthropic: { thinking: { type: "disabled" } } };
}
