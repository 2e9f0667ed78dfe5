/**
 * Authentication by API keys.
 *
 * @module
 */
import { once } from "../core/once.ts";
import { byName, listOf, requireOptions, type Rule, secret, text } from "../core/options.ts";
import { type Auth, bearerOf } from "./auth.ts";

/** Characters that a key has at least: a short one could be guessed. */
const MIN_KEY = 16;

const HASH = /^sha256:([0-9a-f]{64})$/;

const keyList = listOf("a key, or a list of keys", secret(text));
const oneOrMore: Rule = (value) => typeof value === "string" ? null : keyList(value);
const keysByTenant = secret(byName("keys by the names of their tenants", oneOrMore));

/**
 * Lets in whoever shows a key, as `Authorization: Bearer KEY` or `X-Api-Key: KEY`. Keys are held as their SHA-256
 * hashes and compared in a time that does not depend on them.
 *
 * @param keys Keys by the name of their tenant: one or several, each of at least 16 characters, or as
 * `sha256:` and 64 hexadecimal digits, what `deno task key` prints.
 * @returns An auth for `createApp()`.
 * @throws TypeError for what are no keys, a key that is too short, a hash that is none, and where there is no key at all.
 *
 * @example
 * ```ts
 * import { apiKeys } from "@selvage/selvage/http";
 *
 * const auth = apiKeys({ acme: ["the-old-key-of-acme", "the-new-key-of-acme"] });
 * const request = new Request("http://selvage.example/", { headers: { "x-api-key": "the-new-key-of-acme" } });
 * console.log(await auth(request, { peer: null })); // { tenant: "acme" }
 * ```
 */
export function apiKeys(keys: Readonly<Record<string, string | readonly string[]>>): Auth {
  requireOptions("use API keys", keys, keysByTenant);
  const all = Object.entries(keys).flatMap(([tenant, found]) =>
    [found].flat().map((key) => ({ tenant, key: requireKey(tenant, key) }))
  );
  if (all.length === 0) throw new TypeError("Cannot use API keys: found none, wanted at least one");
  const known = once(() =>
    Promise.all(all.map(async ({ tenant, key }) => ({ tenant, hash: await hashOf(key) })))
  );
  const check: Auth = async ({ headers }) => {
    const shown = bearerOf(headers) ?? headers.get("x-api-key");
    if (shown === null) return null;
    const hash = await digest(shown);
    let tenant: string | null = null;
    // All of them, whether or not one has matched.
    for (const one of await known()) if (isSame(one.hash, hash)) tenant = one.tenant;
    return tenant === null ? null : { tenant };
  };
  return Object.assign(check, {
    wanted: "a key of the service as `Authorization: Bearer KEY` or `X-Api-Key: KEY`",
  });
}

/**
 * Makes what {@link apiKeys} takes in place of a key.
 *
 * @param key The key.
 * @returns `sha256:` and 64 hexadecimal digits.
 *
 * @example
 * ```ts
 * import { hashKey } from "@selvage/selvage/http";
 *
 * console.log((await hashKey("the-new-key-of-acme")).slice(0, 11)); // sha256:a31d
 * ```
 */
export async function hashKey(key: string): Promise<string> {
  return `sha256:${(await digest(key)).toHex()}`;
}

function requireKey(tenant: string, key: string): string {
  const isFit = key.startsWith("sha256:") ? HASH.test(key) : key.length >= MIN_KEY && !/\s/.test(key);
  if (isFit) return key;
  throw new TypeError(
    `Cannot use a key of ${tenant}: found ${key.length} characters, ` +
      `wanted at least ${MIN_KEY} without a space, or sha256: and 64 hexadecimal digits`,
  );
}

async function hashOf(key: string): Promise<Uint8Array> {
  const hex = key.match(HASH)?.[1];
  return hex === undefined ? await digest(key) : Uint8Array.fromHex(hex);
}

async function digest(key: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
}

/** Compares every byte, whatever the ones before were. */
function isSame(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (const [i, byte] of a.entries()) difference |= byte ^ (b[i] ?? 0);
  return difference === 0;
}
