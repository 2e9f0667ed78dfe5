/**
 * Who a request comes from.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { listOf, optionsOf, requireOptions, text } from "../core/options.ts";

/** Whom a request speaks for. Sessions belong to a tenant and, where there is one, a user. */
export interface Principal {
  /** Tenant. */
  readonly tenant: string;
  /** User of the tenant. */
  readonly user?: string;
}

/** What is known of a request beside itself. */
export interface AuthContext {
  /** Address of the machine at the other end of the connection; null where the server does not tell. */
  readonly peer: string | null;
  /** Takes why somebody is not let in, for the log alone: whoever asks learns nothing of it. */
  readonly onRefused?: (cause: string) => void;
}

/** Finds the principal of a request; null means that it has not shown who it is. */
export interface Auth {
  /** Says who it is. */
  (request: Request, context: AuthContext): Principal | null | Promise<Principal | null>;
  /** What a request is to show, in words for whoever has sent one that does not. Default: nothing is said of it. */
  readonly wanted?: string;
}

/** Headers by which a proxy shows itself: those of the standards, `X-Forwarded-*`, and those of well-known services. */
const PROXY_HEADER =
  /^(?:forwarded|via|x-forwarded(?:-.+)?|x-original-.+|x-real-ip|(?:cf-connecting|true-client|fly-client|x-client|x-cluster-client)-ip)$/;

/** Characters of the names of a tenant and a user: they become parts of keys in stores. */
const MAX_NAME = 256;

/** Whether a host name or an address means this machine. */
export function isLoopback(hostname: string): boolean {
  const plain = hostname.replace(/^::ffff:/i, "");
  if (plain === "localhost" || plain === "::1" || plain === "[::1]") return true;
  // A name of four larger numbers is no address, and so might be somebody's.
  return /^127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/.test(plain);
}

/** Settings of {@link openAccess}. */
export interface OpenAccessOptions {
  /** Origins of other sites whose pages may call, for example `https://app.example`. Default none. */
  readonly origins?: readonly string[];
}

const rules = optionsOf<OpenAccessOptions>({ origins: listOf("a list of origins", text) });

/**
 * Lets every request in, on this machine only: one from another machine, one that came over a proxy, one that was
 * meant for another host (as after DNS rebinding) and one from a page of another site is refused with
 * `open_access_refused`.
 *
 * @param options Pages of other sites that may call.
 * @returns An auth for `createApp()`.
 * @throws TypeError where an option is unknown or of another kind.
 *
 * @example
 * ```ts
 * import { openAccess } from "@selvage/selvage/http";
 *
 * const request = new Request("http://localhost:8000/v1/turns");
 * console.log(await openAccess()(request, { peer: "127.0.0.1" })); // { tenant: "local" }
 * ```
 */
export function openAccess(options: OpenAccessOptions = {}): Auth {
  requireOptions("make openAccess()", options, rules);
  const { origins = [] } = options;
  return (request, { peer }) => {
    const { headers } = request;
    if (peer !== null && !isLoopback(peer)) {
      throw refused(`the address ${peer}`, "a request from this machine");
    }
    const proxied = [...headers.keys()].find((name) => PROXY_HEADER.test(name));
    if (proxied !== undefined) {
      throw refused(`the header ${proxied}`, "a direct request from this machine");
    }
    // Both: a request that names a whole URL is meant for that one, whatever its header says.
    const asked = URL.canParse(request.url) ? new URL(request.url).host : "";
    for (const host of [asked, (headers.get("host") ?? asked).toLowerCase()]) {
      if (!isLoopback(host.replace(/:\d+$/, ""))) {
        throw refused(`the host ${quoted(host)}`, "localhost or 127.0.0.1");
      }
    }
    // Requests have this header when they come over a network; one that a program makes for itself has none.
    if (peer === null && headers.has("host")) {
      throw refused(
        "no address of the caller",
        "the second argument of the server's handler passed on, as in app.fetch(request, info)",
      );
    }
    // A page of another site can make a browser send requests here; it cannot make it hide where it comes from.
    const origin = headers.get("origin");
    if (origin !== null && !origins.includes(origin) && !isLoopback(hostnameOf(origin))) {
      throw refused(`the origin ${quoted(origin)}`, "a page of this machine");
    }
    return { tenant: "local" };
  };
}

function refused(found: string, wanted: string): SelvageError {
  return new SelvageError(
    "open_access_refused",
    `Cannot serve the request without authentication: found ${found}, wanted ${wanted}`,
  );
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

function hostnameOf(origin: string): string {
  try {
    return new URL(origin).hostname;
  } catch {
    return "";
  }
}

/**
 * Asks one auth after the other; the first that knows who it is decides.
 *
 * @param auths Auths, in the order in which they are asked.
 * @returns An auth for `createApp()`.
 *
 * @example
 * ```ts
 * import { anyOf, apiKeys, trustedHeader } from "@selvage/selvage/http";
 *
 * const auth = anyOf(apiKeys({ acme: "a-long-random-key-of-acme" }), trustedHeader("x-user", ["10.0.0.0/8"]));
 * const request = new Request("http://selvage.example/", { headers: { "x-user": "ada" } });
 * console.log(await auth(request, { peer: "10.0.0.7" })); // { tenant: "default", user: "ada" }
 * ```
 */
export function anyOf(...auths: readonly Auth[]): Auth {
  const wanted = [...new Set(auths.flatMap((auth) => auth.wanted === undefined ? [] : [auth.wanted]))].join(
    ", or ",
  );
  const first: Auth = async (request, context) => {
    for (const auth of auths) {
      const principal = await auth(request, context);
      if (principal !== null) return principal;
    }
    return null;
  };
  return wanted === "" ? first : Object.assign(first, { wanted });
}

/**
 * Finds out who a request comes from, by an auth that somebody else may have written.
 *
 * @param auth What decides.
 * @param request The request.
 * @param context What is known beside it.
 * @throws SelvageError `unauthorized` where it does not show who it comes from, or by a name that is none.
 */
export async function authenticate(
  auth: Auth,
  { request, context }: { readonly request: Request; readonly context: AuthContext },
): Promise<Principal> {
  const principal = await auth(request, context);
  if (
    principal !== null && isName(principal.tenant) && (principal.user === undefined || isName(principal.user))
  ) {
    const { tenant, user } = principal;
    return { tenant, ...(user === undefined ? {} : { user }) };
  }
  // The same sentence for a key that is wrong and for none: nobody learns from it which keys there are.
  const wanted = auth.wanted === undefined ? "" : `, wanted ${auth.wanted}`;
  // RFC 6750, section 3.1: who sent a token learns that another is wanted; who sent none learns of no error.
  const isRefused = bearerOf(request.headers) !== null;
  throw new SelvageError(
    "unauthorized",
    `Cannot serve the request: it does not show who it comes from${wanted}`,
    isRefused ? { fields: { headers: { "www-authenticate": 'Bearer error="invalid_token"' } } } : {},
  );
}

/** The token of `Authorization: Bearer TOKEN`; null where there is none. */
export function bearerOf(headers: Headers): string | null {
  return headers.get("authorization")?.match(/^bearer +(\S+)$/i)?.[1] ?? null;
}

function isName(text: unknown): boolean {
  return typeof text === "string" && text !== "" && text.length <= MAX_NAME;
}
