/**
 * Authentication by signed tokens of an identity provider.
 *
 * @module
 */
import type { errors, JWTPayload, JWTVerifyGetKey } from "jose";
import { SelvageError } from "../core/errors.ts";
import { once } from "../core/once.ts";
import {
  aClock,
  aName,
  anything,
  byName,
  listOf,
  number,
  optionsOf,
  requireOptions,
  type Rule,
  rule,
  text,
} from "../core/options.ts";
import { isObject } from "../formats/format.ts";
import type { Clock } from "../ports.ts";
import { type Auth, bearerOf } from "./auth.ts";

/** Settings of {@link jwt}. */
export interface JwtOptions {
  /** URL of the provider's JSON Web Key Set, or the set itself. */
  readonly jwks: string | URL | { readonly keys: readonly Readonly<Record<string, unknown>>[] };
  /** Who must have issued a token. */
  readonly issuer: string | readonly string[];
  /** Whom a token must be meant for. */
  readonly audience: string | readonly string[];
  /** Signatures that are taken. Default RS256, PS256, ES256 and EdDSA; those with a shared secret never are. */
  readonly algorithms?: readonly string[];
  /** Seconds by which clocks may differ, and for which a token is good behind its expiry: 0 to 3600. Default 30. */
  readonly clockTolerance?: number;
  /** The claim that names the tenant, for example `org_id`. Default `iss`: each issuer is a tenant. */
  readonly tenantClaim?: string;
  /** The claim that names the user. Default `sub`. */
  readonly userClaim?: string;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

const ofKeys = optionsOf<{ readonly keys: unknown }>({
  keys: listOf("a list of keys", byName("a JSON Web Key", anything)),
}, ["keys"]);
/** What else a set holds is passed over, as RFC 7517 wants it. */
const keySet: Rule = (value) => ofKeys(isObject(value) ? { keys: value["keys"] } : value);
const keysURL = rule("the address of a set of keys, or the set", (value) => URL.canParse(String(value)));
// What is empty, as a variable that is not set, would keep everybody out, and say nothing.
const oneOrMore = rule("text, or a list of texts, none of them empty", (value) => {
  const names: readonly unknown[] = [value].flat();
  return names.length > 0 && names.every((name) => typeof name === "string" && name !== "");
});

// A token of anybody would do where issuer or audience were left out by mistake.
const rules = optionsOf<JwtOptions>({
  jwks: (value) => (typeof value === "string" || value instanceof URL ? keysURL : keySet)(value),
  issuer: oneOrMore,
  audience: oneOrMore,
  algorithms: listOf("a list of names of algorithms", text),
  clockTolerance: number("seconds, 0 to 3600", { least: 0, most: 3_600 }),
  tenantClaim: aName,
  userClaim: aName,
  clock: aClock,
}, ["jwks", "issuer", "audience"]);

const ASYMMETRIC = /^(?:[RPE]S(?:256|384|512)|EdDSA|Ed25519|ML-DSA-(?:44|65|87))$/;

/** Milliseconds for which a set of keys is used without asking for it again, and within which it must come. */
const KEYS_FRESH_MS = 600_000;
const KEYS_TIMEOUT_MS = 5_000;

/** An answer that is of no use is not read, and holds no connection. */
async function fetchKeys(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.status !== 200) await response.body?.cancel();
  return response;
}

/** What is wrong with a claim, and what it was: of a token whose signature is right, so that nobody made it up. */
function claimCause({ message, claim, payload }: errors.JWTClaimValidationFailed): string {
  const found = payload[claim];
  return /^unexpected/.test(message) && found !== undefined
    ? `${message}: ${JSON.stringify(found)}`
    : message;
}

/**
 * Lets in whoever shows a JSON Web Token (`Authorization: Bearer TOKEN`) that is signed by a key of the set, of the
 * right issuer and audience, with an expiry. Keys that come from a URL are held for ten minutes, and asked for again,
 * at most every thirty seconds, when a token names one that is not among them, as after a rotation.
 *
 * @param options Keys, issuer, audience, and which claims name tenant and user.
 * @returns An auth for `createApp()`. It throws `auth_unavailable` where the keys cannot be had.
 * @throws TypeError where an option is unknown, missing or of another kind, and for an algorithm that is not asymmetric.
 *
 * @example
 * ```ts
 * import { jwt } from "@selvage/selvage/http";
 *
 * const auth = jwt({
 *   jwks: "https://login.example/.well-known/jwks.json",
 *   issuer: "https://login.example/",
 *   audience: "selvage",
 *   tenantClaim: "org_id",
 * });
 * console.log(await auth(new Request("http://selvage.example/"), { peer: null })); // null
 * ```
 */
export function jwt(options: JwtOptions): Auth {
  requireOptions("check tokens", options, rules);
  const { jwks, issuer, audience, clockTolerance = 30, tenantClaim = "iss", userClaim = "sub", clock } =
    options;
  const algorithms = [...options.algorithms ?? ["RS256", "PS256", "ES256", "EdDSA"]];
  const unfit = algorithms.find((name) => !ASYMMETRIC.test(name));
  if (unfit !== undefined || algorithms.length === 0) {
    throw new TypeError(
      `Cannot check tokens: found the algorithm ${unfit ?? "none"}, wanted an asymmetric one`,
    );
  }
  const url = typeof jwks === "string" || jwks instanceof URL ? new URL(jwks) : null;
  const verifier = once(async () => {
    const { createLocalJWKSet, createRemoteJWKSet, customFetch, errors, jwtVerify } = await import("jose");
    const keys: JWTVerifyGetKey = url === null
      ? createLocalJWKSet(structuredClone(jwks) as Parameters<typeof createLocalJWKSet>[0])
      : createRemoteJWKSet(url, {
        cacheMaxAge: KEYS_FRESH_MS,
        timeoutDuration: KEYS_TIMEOUT_MS,
        [customFetch]: fetchKeys,
      });
    return async (token: string, onRefused: (cause: string) => void): Promise<JWTPayload | null> => {
      try {
        const { payload } = await jwtVerify(token, keys, {
          issuer: [issuer].flat(),
          audience: [audience].flat(),
          algorithms,
          clockTolerance,
          requiredClaims: ["exp"],
          ...(clock === undefined ? {} : { currentDate: new Date(clock.now()) }),
        });
        return payload;
      } catch (error) {
        // What is wrong with a token is the affair of whoever sent it; keys that cannot be had are not.
        const isOurs = !(error instanceof errors.JOSEError) || error instanceof errors.JWKSTimeout ||
          error instanceof errors.JWKSInvalid || error.constructor === errors.JOSEError;
        const message = error instanceof Error ? error.message : String(error);
        if (!isOurs) {
          onRefused(error instanceof errors.JWTClaimValidationFailed ? claimCause(error) : message);
          return null;
        }
        onRefused(`keys of ${url === null ? "the set" : url.origin + url.pathname}: ${message}`);
        throw new SelvageError(
          "auth_unavailable",
          "Cannot check the token: the keys of the identity provider cannot be had at the moment",
          { cause: error },
        );
      }
    };
  });

  const check: Auth = async ({ headers }, { onRefused = () => {} }) => {
    const token = bearerOf(headers);
    // What has no two dots is no such token: an API key, for another auth.
    if (token === null || token.split(".").length !== 3) {
      onRefused("no token");
      return null;
    }
    const payload = await (await verifier())(token, onRefused);
    if (payload === null) return null;
    const [tenant, user] = [payload[tenantClaim], payload[userClaim]];
    if (typeof tenant === "string" && typeof user === "string") return { tenant, user };
    onRefused(`no text in the claim "${typeof tenant === "string" ? userClaim : tenantClaim}"`);
    return null;
  };
  return Object.assign(check, { wanted: "a token that is valid here as `Authorization: Bearer TOKEN`" });
}
