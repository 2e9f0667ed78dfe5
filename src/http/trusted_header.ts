/**
 * Authentication by a proxy in front, which names the user in a header.
 *
 * @module
 */
import { BlockList, isIP } from "node:net";
import type { Auth } from "./auth.ts";

/** Settings of {@link trustedHeader}. */
export interface TrustedHeaderOptions {
  /** Tenant of all users. Default `default`. */
  readonly tenant?: string;
  /** A header that names the tenant, set by the proxy on every request, in place of one for all. */
  readonly tenantHeader?: string;
}

/**
 * Believes a header that names the user, on connections from the given proxies alone. A proxy must set the header on
 * every request, and so replace one that a client has sent.
 *
 * @param name The header.
 * @param proxies Addresses of the proxies: `10.0.0.2`, `::1`, or ranges such as `10.0.0.0/8`.
 * @param options How tenants are told apart.
 * @returns An auth for `createApp()`. It lets nobody in where the server does not tell the peer's address: `app.fetch`
 * has to be called with the `info` of `Deno.serve` as its second argument, as `deno serve` does.
 * @throws TypeError where there is no proxy, or one is no address.
 *
 * @example
 * ```ts
 * import { trustedHeader } from "@selvage/selvage/http";
 *
 * const auth = trustedHeader("x-forwarded-user", ["10.0.0.2"]);
 * const request = new Request("http://selvage.example/", { headers: { "x-forwarded-user": "ada" } });
 * console.log(await auth(request, { peer: "10.0.0.2" })); // { tenant: "default", user: "ada" }
 * console.log(await auth(request, { peer: "10.0.0.3" })); // null
 * ```
 */
export function trustedHeader(
  name: string,
  proxies: readonly string[],
  { tenant = "default", tenantHeader }: TrustedHeaderOptions = {},
): Auth {
  const trusted = new BlockList();
  for (const proxy of proxies) addTo(trusted, proxy);
  if (proxies.length === 0) throw new TypeError("Cannot trust a header: found no proxy, wanted an address");
  return ({ headers }, { peer }) => {
    const family = peer === null ? 0 : isIP(peer);
    if (peer === null || family === 0 || !trusted.check(peer, family === 4 ? "ipv4" : "ipv6")) return null;
    const user = single(headers, name);
    const of = tenantHeader === undefined ? tenant : single(headers, tenantHeader);
    return user === null || of === null ? null : { tenant: of, user };
  };
}

/** A header that was sent once; one that was sent twice is joined by a comma, and one of the two is not the proxy's. */
function single(headers: Headers, name: string): string | null {
  const value = headers.get(name);
  return value === null || value === "" || value.includes(",") ? null : value;
}

function addTo(list: BlockList, proxy: string): void {
  const [, address = "", prefix] = proxy.match(/^([^/]*)(?:\/(\d{1,3}))?$/) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(prefix ?? 0) > (family === 4 ? 32 : 128)) {
    throw new TypeError(
      `Cannot trust a proxy: found ${
        JSON.stringify(proxy.slice(0, 100))
      }, wanted an address or a range such as 10.0.0.0/8`,
    );
  }
  const kind = family === 4 ? "ipv4" : "ipv6";
  if (prefix === undefined) list.addAddress(address, kind);
  else list.addSubnet(address, Number(prefix), kind);
}
