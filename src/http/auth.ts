/**
 * Who a request comes from.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";

/** Whom a request speaks for. Sessions belong to a tenant and, where there is one, a user. */
export interface Principal {
  /** Tenant. */
  readonly tenant: string;
  /** User of the tenant. */
  readonly user?: string;
}

/** Finds the principal of a request; null means that it has not shown who it is. */
export type Auth = (request: Request) => Principal | null | Promise<Principal | null>;

/** Headers by which a proxy shows itself. */
const PROXY_HEADERS = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "cf-connecting-ip",
];

/** Whether a host name means this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "::1" || hostname === "[::1]" ||
    /^127(\.\d{1,3}){3}$/.test(hostname);
}

/**
 * Lets every request in, on this machine only: a request that came over a proxy or was meant for another host
 * (as after DNS rebinding) is refused with `open_access_refused`.
 *
 * @returns An auth for `createApp()`.
 *
 * @example
 * ```ts
 * import { openAccess } from "@selvage/selvage/http";
 *
 * console.log(openAccess()(new Request("http://localhost:8000/v1/turns"))); // { tenant: "local" }
 * ```
 */
export function openAccess(): (request: Request) => Principal {
  return (request) => {
    const { headers } = request;
    const proxied = PROXY_HEADERS.find((name) => headers.has(name));
    if (proxied !== undefined) {
      throw new SelvageError(
        "open_access_refused",
        `Cannot serve the request without authentication: found the header ${proxied}, wanted a direct request ` +
          "from this machine",
      );
    }
    const host = (headers.get("host") ?? new URL(request.url).host).toLowerCase();
    if (!isLoopback(host.replace(/:\d+$/, ""))) {
      throw new SelvageError(
        "open_access_refused",
        `Cannot serve the request without authentication: found the host ${
          JSON.stringify(host.slice(0, 100))
        }, ` +
          "wanted localhost or 127.0.0.1",
      );
    }
    // A page of another site can make a browser send requests here; it cannot make it hide where it comes from.
    const origin = headers.get("origin");
    if (origin !== null && !isLoopback(hostnameOf(origin))) {
      throw new SelvageError(
        "open_access_refused",
        `Cannot serve the request without authentication: found the origin ${
          JSON.stringify(origin.slice(0, 100))
        }, ` +
          "wanted a page of this machine",
      );
    }
    return { tenant: "local" };
  };
}

function hostnameOf(origin: string): string {
  try {
    return new URL(origin).hostname;
  } catch {
    return "";
  }
}
