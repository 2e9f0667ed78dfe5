/**
 * The adapter for language models of the AI SDK: any provider that has a package for it.
 *
 * @module
 */
import type { SelvageError } from "../core/errors.ts";
import type { ProviderOptions } from "../core/message.ts";
import { anything, byName, hasMethods, optionsOf, rule, yesOrNo } from "../core/options.ts";
import { wellFormed } from "../core/well_formed.ts";
import type { JsonObject } from "../formats/format.ts";
import { Breath, DELTAS } from "../loop/breath.ts";
import type { Model, ModelEvent, ModelRequest, ToolSchema } from "../ports.ts";
import type { AiSdkCallOptions, AiSdkLanguageModel, AiSdkStreamPart } from "./ai_sdk_types.ts";
import { PartAssembler } from "./_assemble_sdk.ts";
import { streamCut } from "./_errors.ts";
import { HOSTED, providerTools, requireModelOptions } from "./_options.ts";
import { PromptRenderer } from "./_prompt_sdk.ts";
import { isRetried, retryDelay } from "./_retry.ts";
import { sdkSettings } from "./_settings.ts";
import { isUnsupported, sdkFailure } from "./_sdk_errors.ts";
import { readOut, watched } from "./_wait.ts";
import { type HostedModelOptions, readSettings } from "./hosted.ts";

/** Settings of {@link aiSdk}. */
export interface AiSdkOptions extends Omit<HostedModelOptions, "model" | "baseURL" | "fetch"> {
  /** Settings of the provider for every request, as its package documents them. */
  readonly providerOptions?: ProviderOptions;
  /** Tools that the provider runs by itself, in the form of the interface. They go before the agent's own. */
  readonly providerTools?: readonly Readonly<Record<string, unknown>>[];
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Kept out of every error, should the provider repeat it. */
  readonly apiKey?: string;
  /**
   * True where results of tools are nothing but text at the provider: files in them are then told of, not sent, and
   * errors are marked by a word. Default: true where the provider's name ends in `.chat` or `.completion`.
   */
  readonly plainResults?: boolean;
}

const aLanguageModel = rule(
  "a language model of the AI SDK, as a provider's package makes it",
  (value) =>
    hasMethods(value, ["doStream"]) &&
    ["provider", "modelId"].every((name) => typeof Reflect.get(Object(value), name) === "string"),
);
const { model: _, baseURL: __, fetch: ___, ...shared } = HOSTED;
const rules = optionsOf<AiSdkOptions>({
  ...shared,
  providerOptions: byName("settings by provider", byName("settings by name", anything)),
  providerTools,
  plainResults: yesOrNo,
});

/**
 * Makes a model of a language model of the AI SDK, in version 2, 3 or 4 of its provider interface.
 *
 * Signatures and what else the provider leaves with a part are kept in its `providerOptions` and sent back so. No
 * answer is taken as whole before the provider has said that it is: an `error` part, the finish reason `interrupted`
 * or `error`, and an end without a finish are failures, whatever calls came before. Files that the package cannot send
 * are told of instead; links are passed on as they are. An answer that the provider pauses ends as `length`.
 *
 * Give the provider the `fetch` of {@link keepResponses}: without it Deno 2.9.6 may lose an abort while the package
 * waits for the beginning of the stream. OpenAI-compatible providers report usage only with `includeUsage: true`.
 * `@ai-sdk/anthropic` adds a budget for thinking to the limit of the answer: give a `window` that is smaller by it.
 *
 * Its `stream` throws `SelvageError`s, each with `fields.retryable` and, where the provider said something,
 * `fields.upstream`: `model_auth`, `model_not_found`, `model_rate_limited`, `context_length_exceeded` (with
 * `fields.window` in tokens where it is named), `model_refused`, `model_unavailable`, `model_unreachable`,
 * `model_bad_response`, `model_stream_error`, `model_stream_cut`, `model_stalled`. It is asked again by itself only
 * after a rate limit, a server error or a failed connection, and only while no part of the answer was seen.
 *
 * @param languageModel What a package for the AI SDK has made.
 * @param options What the model can hold, and what to send with each request.
 * @returns The model. Nothing is sent before `stream` is called.
 * @throws {TypeError} When it is no language model, an option is unknown or of another kind, or the interface has
 *   another version.
 * @throws {RangeError} When a number is out of its range.
 *
 * @example
 * ```ts
 * import { aiSdk, keepResponses } from "@selvage/selvage/models";
 *
 * // import { createAnthropic } from "@ai-sdk/anthropic";
 * // const languageModel = createAnthropic({ apiKey, fetch: keepResponses() })("claude-sonnet-4-5");
 * const languageModel = {
 *   specificationVersion: "v4",
 *   provider: "example",
 *   modelId: "m",
 *   doStream: () => Promise.resolve({ stream: ReadableStream.from([{ type: "finish" }]) }),
 * };
 * const model = aiSdk(languageModel, { window: 200_000, maxOutput: 8_000 });
 * console.log(model.id, typeof keepResponses());
 * ```
 */
export function aiSdk(languageModel: AiSdkLanguageModel, options: AiSdkOptions = {}): Model {
  requireModelOptions(languageModel, aLanguageModel);
  const { modelId, provider, specificationVersion: version } = languageModel;
  if (!/^v[234]$/.test(version)) {
    throw new TypeError(
      `Cannot make the model: found version ${version} of the provider interface, wanted v2, v3 or v4`,
    );
  }
  requireModelOptions(options, rules);
  const { headers, providerOptions } = options;
  const { clock, context, facts, maxOutput, maxRetries, stallMs, tokenFactor, window } = readSettings(
    { ...options, model: modelId },
    { stream: "a stream of the AI SDK's parts", ending: "a finish" },
  );
  const from = `${provider}/${modelId}`;
  const prompts = new PromptRenderer({
    version,
    from,
    hasPlainResults: options.plainResults ?? /\.(chat|completion)$/.test(provider),
  });

  function callOptions(request: ModelRequest): AiSdkCallOptions {
    const tools = [...options.providerTools ?? [], ...request.tools.map(functionTool)];
    return {
      prompt: prompts.render(request),
      maxOutputTokens: request.maxOutput,
      ...(tools.length === 0 ? {} : { tools }),
      ...sdkSettings(request.settings ?? {}, tools.length > 0),
      ...(providerOptions === undefined ? {} : { providerOptions }),
      ...(headers === undefined ? {} : { headers }),
    };
  }

  /** Asks once. */
  async function* ask(call: AiSdkCallOptions, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    signal.throwIfAborted();
    const answer = new PartAssembler(context, { clock, from });
    const opening = openStream(languageModel, call);
    const watch = watched({
      context,
      clock,
      stallMs,
      signal,
      stop: opening.stop,
      broken: (cause) => sdkFailure(cause, { ...context, begun: answer.begun, now: clock.now() }),
    });
    try {
      const reader = await watch.wait(opening.open);
      // A stream may have its parts at once, and no end: neither a signal nor a timer would come to anything.
      const breath = new Breath(DELTAS);
      while (!answer.done) {
        const { done, value } = await watch.wait(() => reader.read());
        if (done) throw streamCut(context);
        answer.part(value);
        const events = answer.drain();
        if (events.length > 0) watch.progress();
        yield* events;
        if (answer.failure !== undefined) throw answer.failure;
        if (breath.isDue()) await breath.pause();
      }
      await readOut(async () => (await watch.wait(() => reader.read())).done, watch);
      signal.throwIfAborted();
      yield answer.finish();
    } finally {
      watch.close();
      // Also where the consumer leaves early: the provider then stops writing, and billing.
      opening.stop();
    }
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    for (let attempt = 0;;) {
      let begun = false;
      let failure: SelvageError;
      try {
        for await (const event of ask(callOptions(request), signal)) {
          begun = true;
          yield event;
        }
        return;
      } catch (error) {
        if (begun) throw error;
        if (isUnsupported(error) && prompts.describeFiles(request.messages)) continue;
        if (attempt >= maxRetries || !isRetried(error)) throw error;
        failure = error;
      }
      await clock.sleep(retryDelay(failure, attempt++), signal);
    }
  }

  return { id: modelId, window, maxOutput, dialect: "ai-sdk", tokenFactor, media: facts.media, stream };
}

/** A stream that is opened and read such that it can be ended at any moment, whatever the model's package does. */
function openStream(languageModel: AiSdkLanguageModel, call: AiSdkCallOptions): {
  readonly open: () => Promise<ReadableStreamDefaultReader<AiSdkStreamPart>>;
  readonly stop: () => void;
} {
  const request = new AbortController();
  const stopped = Promise.withResolvers<never>();
  // Nobody may be waiting when it comes.
  stopped.promise.catch(() => undefined);
  let reader: ReadableStreamDefaultReader<AiSdkStreamPart> | undefined;

  async function begin(): Promise<ReadableStreamDefaultReader<AiSdkStreamPart>> {
    const { stream } = await languageModel.doStream({ ...call, abortSignal: request.signal });
    reader = stream.getReader();
    // Opened too late.
    if (request.signal.aborted) stop();
    return reader;
  }

  function stop(): void {
    // The signal alone is not enough: see keepResponses(). The reader's rejection tells of a stream that has failed.
    request.abort();
    stopped.reject(request.signal.reason);
    reader?.cancel().catch(() => undefined);
  }

  return { open: () => Promise.race([begin(), stopped.promise]), stop };
}

function functionTool({ description, inputSchema, name }: ToolSchema): JsonObject {
  const given = description === "" ? {} : { description };
  return wellFormed({ type: "function", name, ...given, inputSchema });
}
