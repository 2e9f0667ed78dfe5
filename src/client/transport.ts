/**
 * Requests, tried again where that can help and does no harm.
 *
 * @module
 */
import {
  aClock,
  aFunction,
  byName,
  number,
  optionsOf,
  orFunction,
  requireOptions,
  rule,
  type Rules,
  secret,
  text,
  whole,
} from "../core/options.ts";
import { systemClock } from "../loop/clock.ts";
import type { Clock } from "../ports.ts";
import { type ReadOptions, startOfText, wholeText } from "./body.ts";
import { ClientError } from "./error.ts";
import { Tries } from "./tries.ts";

/** Characters that are read of what says why something was refused. */
const MAX_PROBLEM = 1024 * 1024;

/** The `fetch` that a client calls. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Where the service is, and how it is talked to. */
export interface ClientOptions {
  /** Address of the service, with the path that it is mounted at: `https://example.com/agent`. */
  readonly url: string;
  /** A key of the service, sent as `Authorization: Bearer`. Default none. */
  readonly apiKey?: string | undefined;
  /** Further headers; a function is asked before each try, so that a token may be a new one. */
  readonly headers?:
    | Readonly<Record<string, string>>
    | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);
  /** Default: the `fetch` of the platform. */
  readonly fetch?: Fetch;
  /** What time is measured by. Default: the machine's. */
  readonly clock?: Clock;
  /** Gives numbers from 0 to below 1, for the jitter between tries. Default `Math.random`. */
  readonly random?: () => number;
  /** Tries in a row that may come to nothing, the first among them. Default 8. */
  readonly maxTries?: number;
  /** Milliseconds without a byte after which a stream counts as broken; the service is never silent for over ten seconds. Default 30,000. */
  readonly stallMs?: number;
  /** Milliseconds that a response may take to begin. Default 60,000. */
  readonly timeoutMs?: number;
}

const MS = number("milliseconds, over 0", { least: Number.MIN_VALUE });
const RULES: Rules<ClientOptions> = {
  url: rule(
    "the address of the service",
    (value) => value instanceof URL || typeof value === "string" && value !== "",
  ),
  apiKey: secret(text),
  headers: secret(orFunction(byName("headers by name", secret(text)))),
  fetch: aFunction,
  clock: aClock,
  random: aFunction,
  maxTries: whole("a whole number of tries, 1 or more", { least: 1 }),
  stallMs: MS,
  timeoutMs: MS,
};
const rules = optionsOf(RULES, ["url"]);

/** What is asked of the service. */
export interface Asked {
  /** Default `GET`. */
  readonly method?: "GET" | "POST" | "DELETE";
  /** The body, as JSON. */
  readonly body?: unknown;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
  /** Tries in a row that may come to nothing. Default: those of the client. */
  readonly maxTries?: number;
}

/** A key that makes a request, sent twice, the same one. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** One way to the service. */
export class Transport {
  readonly clock: Clock;
  readonly maxTries: number;
  readonly random: () => number;
  readonly #url: string;
  /** Where that is, in words, without what a URL may hold of secrets. */
  readonly #place: string;
  readonly #fetch: Fetch;
  readonly #headers: NonNullable<ClientOptions["headers"]>;
  readonly #own: Readonly<Record<string, string>>;
  readonly #stallMs: number;
  readonly #timeoutMs: number;

  /** Makes it; throws a TypeError for an option that is unknown, missing or of the wrong kind. */
  constructor(options: ClientOptions) {
    requireOptions("make the client", options, rules);
    this.#url = String(options.url).replace(/\/+$/, "");
    this.#place = URL.canParse(this.#url) ? ` to ${new URL(this.#url).origin}` : "";
    // Called as a function of nothing: browsers refuse it as a method of something else.
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#headers = options.headers ?? {};
    this.#own = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? Math.random;
    this.maxTries = Math.max(1, options.maxTries ?? 8);
    this.#stallMs = options.stallMs ?? 30_000;
    this.#timeoutMs = options.timeoutMs ?? 60_000;
  }

  /** How a body is read. */
  reading(signal: AbortSignal | undefined): ReadOptions {
    return { clock: this.clock, stallMs: this.#stallMs, signal };
  }

  /**
   * Asks once.
   *
   * @returns A response with a status below 300; its body is still to be read.
   * @throws ClientError for anything else; the reason of the signal.
   */
  async ask(path: string, { method = "GET", body, headers = {}, signal }: Asked = {}): Promise<Response> {
    signal?.throwIfAborted();
    const more = typeof this.#headers === "function" ? await this.#headers() : this.#headers;
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const begun = new AbortController();
    this.clock.sleep(this.#timeoutMs, begun.signal).then(
      () =>
        stop.abort(
          new ClientError("stalled", `Cannot ${method} ${path}: no answer in ${this.#timeoutMs} ms`),
        ),
      () => {},
    );
    let response: Response;
    try {
      response = await this.#fetch(`${this.#url}${path}`, {
        method,
        headers: {
          ...this.#own,
          ...more,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: stop.signal,
      });
    } catch (cause) {
      if (stop.signal.aborted) throw stop.signal.reason;
      throw new ClientError(
        "network",
        `Cannot ${method} ${path}: found no connection${this.#place}, or it broke off; wanted a service that answers there`,
        { cause },
      );
    } finally {
      begun.abort();
      signal?.removeEventListener("abort", onAbort);
    }
    if (response.ok) return response;
    throw await this.#errorOf(response, { action: `${method} ${path}`, signal });
  }

  /** Asks, and again where that may help. */
  try(path: string, asked: Asked = {}): Promise<Response> {
    return this.again(asked, () => this.ask(path, asked));
  }

  /**
   * Asks for one JSON value, and again where that may help.
   *
   * @throws ClientError; the reason of the signal.
   */
  json<T>(path: string, asked: Asked = {}): Promise<T> {
    return this.again(asked, async () => {
      const response = await this.ask(path, asked);
      return this.#parse(await wholeText(response, this.reading(asked.signal)), response.status) as T;
    });
  }

  /** Does something that asks once, and again where that may help. */
  async again<T>(
    { maxTries, signal }: Pick<Asked, "maxTries" | "signal">,
    once: () => Promise<T>,
  ): Promise<T> {
    const tries = new Tries(this, maxTries);
    for (;;) {
      try {
        return await once();
      } catch (error) {
        if (!(error instanceof ClientError)) throw error;
        await tries.after(error, signal);
      }
    }
  }

  #parse(text: string, status: number): unknown {
    try {
      return text === "" ? null : JSON.parse(text);
    } catch (cause) {
      const found = JSON.stringify(text.slice(0, 80));
      throw new ClientError("bad_answer", `Cannot read the answer: found ${found}, wanted JSON`, {
        cause,
        status,
      });
    }
  }

  async #errorOf(
    response: Response,
    { action, signal }: { readonly action: string; readonly signal: AbortSignal | undefined },
  ): Promise<ClientError> {
    const { status, headers } = response;
    const text = await startOfText(response, { ...this.reading(signal), maxLength: MAX_PROBLEM });
    const wait = retryAfter(headers.get("retry-after"), this.clock.now());
    const waits = wait === null ? {} : { retryAfterMs: wait };
    let problem: unknown = null;
    try {
      problem = JSON.parse(text);
    } catch {
      // What stands before the service answers in its own ways.
    }
    if (typeof problem === "object" && problem !== null && "code" in problem) {
      const { type: _type, title: _title, status: _status, code, detail, ...fields } = problem as Record<
        string,
        unknown
      >;
      return new ClientError(String(code), String(detail ?? code), {
        status,
        fields: { ...fields, ...waits },
      });
    }
    return new ClientError("bad_answer", `Cannot ${action}: found status ${status} and no problem document`, {
      status,
      fields: waits,
    });
  }
}

/** Milliseconds that a `Retry-After` asks for: seconds, or a date. */
function retryAfter(value: string | null, now: number): number | null {
  if (value === null || value.trim() === "") return null;
  if (/^\d+(?:\.\d+)?$/.test(value.trim())) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
