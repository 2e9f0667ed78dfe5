/** The AI SDK itself, in the versions that people have, with providers that speak to the doubles. */
import type { Tool } from "../../src/ports.ts";

/** A loop's settings, as far as the tests set them. */
export interface RunSettings {
  readonly model: unknown;
  readonly tools: Readonly<Record<string, unknown>>;
  readonly system?: string;
  readonly prompt?: string;
  readonly messages?: readonly unknown[];
  readonly stopWhen: unknown;
  readonly prepareStep?: unknown;
  readonly abortSignal?: AbortSignal;
  readonly providerOptions?: unknown;
  readonly maxOutputTokens?: number;
  readonly maxRetries?: number;
}

/** What comes of a run. */
export interface RunResult {
  readonly text: string;
  readonly steps: readonly { readonly usage: { readonly inputTokens?: number } }[];
  readonly response: { readonly messages: readonly { readonly role: string; readonly content: unknown }[] };
}

/** The part of the package that the tests use. */
export interface Ai {
  generateText(settings: RunSettings): Promise<RunResult>;
  streamText(settings: RunSettings & { readonly onError?: (event: unknown) => void }): {
    readonly fullStream: AsyncIterable<{ readonly type: string; readonly error?: unknown }>;
    readonly text: PromiseLike<string>;
  };
  stepCountIs(count: number): unknown;
  tool(definition: object): unknown;
  jsonSchema(schema: unknown): unknown;
  readonly ToolLoopAgent: new (settings: object) => {
    generate(input: { readonly prompt: string }): Promise<RunResult>;
  };
}

/** One version, and its providers. */
export interface Version {
  readonly version: string;
  readonly ai: () => Promise<Ai>;
  readonly openai: (baseURL: string, options?: { readonly includeUsage?: boolean }) => Promise<unknown>;
  readonly anthropic: (baseURL: string, model?: string) => Promise<unknown>;
}

/** The versions. */
export const VERSIONS: readonly Version[] = [
  {
    version: "6",
    ai: async () => await import("npm:ai@6.0.326") as unknown as Ai,
    async openai(baseURL, { includeUsage = true } = {}) {
      const { createOpenAICompatible } = await import("npm:@ai-sdk/openai-compatible@2.0.92");
      return createOpenAICompatible({ name: "double", apiKey: "k", baseURL, includeUsage })("m");
    },
    async anthropic(baseURL, model = "m") {
      const { createAnthropic } = await import("npm:@ai-sdk/anthropic@3.0.140");
      return createAnthropic({ apiKey: "k", baseURL: `${baseURL}/v1` })(model);
    },
  },
  {
    version: "7",
    ai: async () => await import("npm:ai@7.0.173") as unknown as Ai,
    async openai(baseURL, { includeUsage = true } = {}) {
      const { createOpenAICompatible } = await import("npm:@ai-sdk/openai-compatible@3.0.92");
      return createOpenAICompatible({ name: "double", apiKey: "k", baseURL, includeUsage })("m");
    },
    async anthropic(baseURL, model = "m") {
      const { createAnthropic } = await import("npm:@ai-sdk/anthropic@4.0.105");
      return createAnthropic({ apiKey: "k", baseURL: `${baseURL}/v1` })(model);
    },
  },
];

/** Tools of ours as a tool set of the AI SDK. */
export function toolSet({ tool, jsonSchema }: Ai, tools: readonly Tool[]): Readonly<Record<string, unknown>> {
  const context = { session: "s", tenant: "t" };
  return Object.fromEntries(tools.map(({ name, description, inputSchema, execute }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema(inputSchema),
      execute: (input: unknown, { abortSignal }: { readonly abortSignal?: AbortSignal }) =>
        execute?.(input, { ...context, signal: abortSignal ?? new AbortController().signal }),
    }),
  ]));
}
