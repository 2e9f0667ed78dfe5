/**
 * Authentication by a proxy in front, which names the user in a header.
 *
 * @module
 */
import type { BlockList } from "node:net";
import { once } from "../core/once.ts";
import { aName, listOf, optionsOf, requireOptions, rule } from "../core/options.ts";
import type { Auth } from "./auth.ts";

/** Settings of {@link trustedHeader}. */
export interface TrustedHeaderOptions {
  /** Tenant of all users. Default `default`. */
  readonly tenant?: string;
  /** A header that names the tenant, set by the proxy on every request, in place of one for all. */
  readonly tenantHeader?: string;
}

const aHeader = rule(
  "the name of a header",
  (value) => typeof value === "string" && /^[\w!#$%&'*+.^`|~-]+$/.test(value),
);
const rules = optionsOf<TrustedHeaderOptions>({ tenant: aName, tenantHeader: aHeader });
const needed = optionsOf<{ readonly name: string; readonly proxies: readonly string[] }>({
  name: aHeader,
  proxies: listOf(
    "a list of addresses",
    rule(
      "an address or a range such as 10.0.0.0/8",
      (value) => typeof value === "string" && proxyOf(value) !== null,
    ),
  ),
}, ["name", "proxies"]);

/** A kind of addresses, as `BlockList` calls it. */
type Family = "ipv4" | "ipv6";

/** An address, or those of a range. */
interface Proxy {
  readonly address: string;
  readonly family: Family;
  readonly prefix: number | null;
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
 * @throws TypeError where the header has no name, there is no proxy, one is no address, or an option is unknown or of
 * another kind.
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
  options: TrustedHeaderOptions = {},
): Auth {
  requireOptions("trust a header", { name, proxies }, needed);
  requireOptions("trust a header", options, rules);
  const { tenant = "default", tenantHeader } = options;
  const trusted = proxies.flatMap((proxy) => proxyOf(proxy) ?? []);
  if (trusted.length === 0) throw new TypeError("Cannot trust a header: found no proxy, wanted an address");
  const list = once(() => listProxies(trusted));
  return async ({ headers }, { peer, onRefused = () => {} }) => {
    const family = familyOf(peer ?? "");
    if (peer === null || family === null || !(await list()).check(peer, family)) {
      onRefused(`a connection from ${peer ?? "an address that the server does not tell"}, not of a proxy`);
      return null;
    }
    const user = single(headers, name);
    const of = tenantHeader === undefined ? tenant : single(headers, tenantHeader);
    if (user !== null && of !== null) return { tenant: of, user };
    onRefused(`the proxy has not set the header ${user === null ? name : tenantHeader} once`);
    return null;
  };
}

/** A header that was sent once; one that was sent twice is joined by a comma, and one of the two is not the proxy's. */
function single(headers: Headers, name: string): string | null {
  const value = headers.get(name);
  return value === null || value === "" || value.includes(",") ? null : value;
}

/** The kind of an address, in the one form that the system writes it in; null where it is none. */
function familyOf(text: string): Family | null {
  if (/^[\d.]+$/.test(text)) return URL.parse(`http://${text}/`)?.hostname === text ? "ipv4" : null;
  return /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]/`) ? "ipv6" : null;
}

/** The addresses that a text names; null where it names none. */
function proxyOf(text: string): Proxy | null {
  const [, address = "", prefix] = text.match(/^([^/]*)(?:\/(\d{1,3}))?$/) ?? [];
  const family = familyOf(address);
  if (family === null || Number(prefix ?? 0) > (family === "ipv4" ? 32 : 128)) return null;
  return { address, family, prefix: prefix === undefined ? null : Number(prefix) };
}

/** Who is trusted. `node:net` is loaded here: it brings a good part of Node along, and few need it. */
async function listProxies(proxies: readonly Proxy[]): Promise<BlockList> {
  const { BlockList } = await import("node:net");
  const list = new BlockList();
  for (const { address, family, prefix } of proxies) {
    if (prefix === null) list.addAddress(address, family);
    else list.addSubnet(address, prefix, family);
  }
  return list;
}
