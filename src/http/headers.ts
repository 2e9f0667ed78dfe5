/**
 * Headers that every response has: what a browser may do with it, and who may read it.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";

/** What an answer to a program may do in a browser: nothing. */
const API_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/**
 * What a page of the service may do: what comes from the service itself, and pictures out of data. No script or style
 * is inline, nothing is framed, no form is sent.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Headers that pages of other sites may read. */
const EXPOSED = [
  "x-request-id",
  "ratelimit",
  "ratelimit-policy",
  "retry-after",
  "idempotency-replayed",
  "x-vercel-ai-ui-message-stream",
  "www-authenticate",
];

/** Headers that pages of other sites may send. */
const ALLOWED = [
  "authorization",
  "x-api-key",
  "content-type",
  "accept",
  "idempotency-key",
  "last-event-id",
  "x-request-id",
  "cache-control",
  "user-agent",
  "x-selvage-session",
  // What OpenAI's own clients send beside these.
  "openai-organization",
  "openai-project",
  ...[
    "arch",
    "async",
    "helper-method",
    "lang",
    "os",
    "package-version",
    "retry-count",
    "runtime",
    "runtime-version",
    "timeout",
  ]
    .map((name) => `x-stainless-${name}`),
];

/** Sets what keeps a browser from doing more with a response than it should. A route's own headers stay. */
export function secureHeaders(): MiddlewareHandler {
  return async (c, next) => {
    await next();
    const { headers } = c.res;
    const isPage = headers.get("content-type")?.startsWith("text/html") === true;
    // What is said with a 304 replaces what a browser was told of the page that it has.
    if (c.res.status !== 304) {
      setOnce(headers, "content-security-policy", isPage ? PAGE_POLICY : API_POLICY);
    }
    setOnce(headers, "x-content-type-options", "nosniff");
    setOnce(headers, "referrer-policy", "no-referrer");
    setOnce(headers, "cross-origin-resource-policy", "same-origin");
    if (isPage) setOnce(headers, "cross-origin-opener-policy", "same-origin");
  };
}

function setOnce(headers: Headers, name: string, value: string): void {
  if (!headers.has(name)) headers.set(name, value);
}

/**
 * Lets pages of the listed origins call, with credentials, and those of no other.
 *
 * @param origins Origins such as `https://app.example`.
 * @throws TypeError for what is no origin, `*` among it: a list that lets in everybody is none.
 */
export function allowOrigins(origins: readonly string[]): MiddlewareHandler {
  for (const origin of origins) {
    if (!isOrigin(origin)) {
      throw new TypeError(
        `Cannot allow ${JSON.stringify(origin.slice(0, 100))}: wanted an origin such as https://app.example`,
      );
    }
  }
  return cors({
    origin: (origin) => origins.includes(origin) ? origin : null,
    allowMethods: ["GET", "POST", "DELETE"],
    allowHeaders: [...ALLOWED],
    exposeHeaders: [...EXPOSED],
    credentials: true,
    maxAge: 600,
  });
}

/** Whether a text is an origin as browsers send it. */
export function isOrigin(text: string): boolean {
  try {
    return new URL(text).origin === text && !text.includes("*");
  } catch {
    return false;
  }
}
