/**
 * What models that are reached over HTTP have in common, by us or by a package: their settings, checked once.
 *
 * @module
 */
import { systemClock } from "../loop/clock.ts";
import type { Clock } from "../ports.ts";
import { type ModelFacts, modelFacts } from "../tokens/models.ts";
import type { ErrorContext } from "./_errors.ts";

/** Settings of every model that is reached over HTTP. */
export interface HostedModelOptions {
  /** The model's name at the provider. */
  readonly model: string;
  /** Shows the provider who asks. */
  readonly apiKey?: string | undefined;
  /** Where the provider is; its query is kept. */
  readonly baseURL?: string | undefined;
  /** Tokens of request and answer together that the model can hold; default by name, 32,000 for unknown ones. */
  readonly window?: number;
  /** The most tokens of one answer, reasoning included; default by name, 4,000 for unknown ones. */
  readonly maxOutput?: number;
  /** Further request headers; they win over the adapter's own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Used in place of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds of silence after which an answer counts as stalled, or ten times that with nothing of it; default 60,000. */
  readonly stallMs?: number;
  /** Time for stalls and retries; default the real one. */
  readonly clock?: Clock;
  /** How often a request is sent again before anything of its answer was seen; default 2. */
  readonly maxRetries?: number;
  /** Billed tokens for one `o200k_base` token of text, until bills teach better; default by name. */
  readonly tokenFactor?: number;
}

/** What one protocol adds to the settings. Private to the adapters. */
export interface Protocol {
  /** Where requests go by default. */
  readonly baseURL: string;
  /** The endpoint's path for that of a base URL, which does not end in a slash. */
  readonly path: (base: string) => string;
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  /** What messages say was wanted of a response. */
  readonly wanted: ErrorContext["wanted"];
}

/** Settings of any provider's model that were found to be possible. Private to the adapters. */
export interface Settings {
  readonly clock: Clock;
  readonly stallMs: number;
  readonly maxRetries: number;
  readonly window: number;
  readonly maxOutput: number;
  readonly tokenFactor: number;
  readonly facts: ModelFacts;
  readonly context: ErrorContext;
}

/** Settings of a model that we speak to ourselves. Private to the adapters. */
export interface Hosted extends Settings {
  readonly url: URL;
  /** As plain fields: `fetch` reads them faster than it does `Headers`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Looked up late: an embedder may replace the global one after the model was made. */
  readonly fetch: () => typeof globalThis.fetch;
}

/**
 * Checks the settings of a model and fills in what is known of it. Private to the adapters.
 *
 * @throws {TypeError} When the base URL is no URL or the key or a header cannot be sent.
 * @throws {RangeError} When a number is out of its range.
 */
export function readHosted(options: HostedModelOptions, protocol: Protocol): Hosted {
  const url = endpoint(options.baseURL ?? protocol.baseURL, protocol);
  const settings = readSettings(options, protocol.wanted);
  return {
    ...settings,
    context: { ...settings.context, origin: url.origin, path: url.pathname },
    url,
    headers: requestHeaders({ ...protocol.headers, ...options.headers }),
    fetch: () => options.fetch ?? globalThis.fetch,
  };
}

/**
 * Checks what does not depend on where a model is. Private to the adapters.
 *
 * @throws {RangeError} When a number is out of its range.
 */
export function readSettings(options: HostedModelOptions, wanted: ErrorContext["wanted"]): Settings {
  const { clock = systemClock, maxRetries = 2, model } = options;
  const facts = modelFacts(model);
  return {
    clock,
    maxRetries: countOf("maxRetries", maxRetries),
    stallMs: positive("stallMs", options.stallMs ?? 60_000),
    window: positive("window", options.window ?? facts.window),
    maxOutput: positive("maxOutput", options.maxOutput ?? facts.maxOutput),
    tokenFactor: positive("tokenFactor", options.tokenFactor ?? facts.factor),
    facts,
    context: {
      action: `Cannot get an answer from ${model}`,
      wanted,
      secrets: secretsOf(options),
    },
  };
}

/** Names of headers and of parameters of an address whose values show who asks. */
const TELLING = /auth|cookie|credential|key|passw|secret|signature|token/i;

/** Shorter values keep nothing out, and stand in many a text. */
const MIN_SECRET_CHARS = 8;

/** What no error may repeat, longest first: one may be a part of another. */
function secretsOf({ apiKey = "", baseURL = "", headers = {} }: HostedModelOptions): readonly string[] {
  const url = URL.parse(baseURL);
  const named = [...Object.entries(headers), ...url?.searchParams ?? []]
    .filter(([name]) => TELLING.test(name))
    // Behind the name of a scheme stands what is secret.
    .flatMap(([, value]) => [value, value.replace(/^\S+\s+/, "")]);
  const long = [...named, url?.password ?? ""].filter(({ length }) => length >= MIN_SECRET_CHARS);
  return [...new Set([apiKey, ...long])].filter((secret) => secret !== "")
    .sort((one, other) => other.length - one.length);
}

function positive(name: string, value: number): number {
  if (value > 0) return value;
  throw new RangeError(`Cannot make the model: found ${name} ${value}, wanted a positive number`);
}

/** Zero will do; what is no number would never be reached. */
function countOf(name: string, value: number): number {
  if (value >= 0) return value;
  throw new RangeError(`Cannot make the model: found ${name} ${value}, wanted zero or more`);
}

function endpoint(baseURL: string, protocol: Protocol): URL {
  if (!URL.canParse(baseURL)) {
    throw new TypeError(
      `Cannot make the model: found a baseURL that is no URL, wanted one like ${protocol.baseURL}`,
    );
  }
  const url = new URL(baseURL);
  url.pathname = protocol.path(url.pathname.replace(/\/+$/, ""));
  return url;
}

function requestHeaders(given: Readonly<Record<string, string>>): Hosted["headers"] {
  const headers = new Headers({ accept: "text/event-stream", "content-type": "application/json" });
  try {
    for (const [name, value] of Object.entries(given)) headers.set(name, value);
  } catch {
    // The original error quotes the value, which may be the key.
    throw new TypeError(
      "Cannot make the model: found an API key or a header that HTTP cannot carry, wanted printable ASCII",
    );
  }
  return Object.fromEntries(headers);
}
