import { deepEqual, doesNotMatch, equal, match, ok, rejects, throws } from "node:assert/strict";
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { anyOf, createApp, jwt, type JwtOptions, type LogEntry } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";

const clock = new ManualClock();
const NOW = Math.floor(clock.now() / 1_000);
const CLAIMS = { iss: "https://login.example/", aud: "selvage", sub: "ada", exp: NOW + 60 };

interface Signer {
  readonly key: CryptoKey;
  readonly jwk: Record<string, unknown>;
}

async function makeSigner(kid: string, alg = "ES256"): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  return { key: privateKey, jwk: { ...await exportJWK(publicKey), kid, alg } };
}

function sign(
  claims: JWTPayload,
  { key, jwk }: Signer,
  header: Record<string, string> = {},
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({
    alg: String(jwk["alg"]),
    kid: String(jwk["kid"]),
    ...header,
  })
    .sign(key);
}

const ours = await makeSigner("ours");
const rsa = await makeSigner("rsa", "RS256");
const theirs = await makeSigner("ours");
const secret = new TextEncoder().encode("a secret that is long enough for HS256");

const OPTIONS: JwtOptions = {
  jwks: { keys: [ours.jwk, rsa.jwk] },
  issuer: "https://login.example/",
  audience: "selvage",
  clock,
};

function ask(token: string, options: Partial<JwtOptions> = {}, auth = jwt({ ...OPTIONS, ...options })) {
  const headers = { authorization: `Bearer ${token}` };
  return Promise.resolve(auth(new Request("http://selvage.example/", { headers }), { peer: null }));
}

const IN: readonly (readonly [string, Promise<string>])[] = [
  ["a token", sign(CLAIMS, ours)],
  ["one of another key of the set", sign(CLAIMS, rsa)],
  ["one for several audiences", sign({ ...CLAIMS, aud: ["other", "selvage"] }, ours)],
  ["one that has expired within the tolerance", sign({ ...CLAIMS, exp: NOW - 29 }, ours)],
  ["one whose time begins within the tolerance", sign({ ...CLAIMS, nbf: NOW + 29 }, ours)],
];
for (const [name, token] of IN) {
  Deno.test(`jwt() lets in ${name}`, async () => {
    deepEqual(await ask(await token), { tenant: "https://login.example/", user: "ada" });
  });
}

Deno.test("jwt() passes over what a set of keys holds beside them, as its standard wants it", async () => {
  const jwks = { keys: [ours.jwk], issued_at: 1 };
  deepEqual(await ask(await sign(CLAIMS, ours), { jwks }), { tenant: CLAIMS.iss, user: "ada" });
});

const OUT: readonly (readonly [string, Promise<string> | string])[] = [
  ["one of another signer under the same name", sign(CLAIMS, theirs)],
  ["one of a key that nobody knows", sign(CLAIMS, { ...ours, jwk: { ...ours.jwk, kid: "none" } })],
  ["one that has expired", sign({ ...CLAIMS, exp: NOW - 31 }, ours)],
  ["one that is not yet good", sign({ ...CLAIMS, nbf: NOW + 31 }, ours)],
  ["one that never expires", sign({ iss: CLAIMS.iss, aud: CLAIMS.aud, sub: "ada" }, ours)],
  ["one of another issuer", sign({ ...CLAIMS, iss: "https://evil.example/" }, ours)],
  ["one for another audience", sign({ ...CLAIMS, aud: "other" }, ours)],
  ["one for no audience", sign({ iss: CLAIMS.iss, sub: "ada", exp: CLAIMS.exp }, ours)],
  ["one without a subject", sign({ iss: CLAIMS.iss, aud: CLAIMS.aud, exp: CLAIMS.exp }, ours)],
  ["one without a signature", new UnsecuredJWT(CLAIMS).encode()],
  [
    "one that is signed by a shared secret",
    new SignJWT(CLAIMS).setProtectedHeader({ alg: "HS256", kid: "ours" }).sign(secret),
  ],
  ["three words", "not.a.token"],
  ["an API key", "slv_abcdefghijklmnop"],
  ["nothing but dots", ".."],
];
for (const [name, token] of OUT) {
  Deno.test(`jwt() does not let in ${name}`, async () => {
    equal(await ask(await token), null);
  });
}

const WHY: readonly (readonly [string, Promise<string> | string, RegExp])[] = [
  ["has expired", sign({ ...CLAIMS, exp: NOW - 31 }, ours), /"exp" claim timestamp check failed/],
  [
    "is for another audience",
    sign({ ...CLAIMS, aud: "other" }, ours),
    /unexpected "aud" claim value: "other"/,
  ],
  [
    "is of another issuer, by a stroke",
    sign({ ...CLAIMS, iss: "https://login.example" }, ours),
    /unexpected "iss" claim value: "https:\/\/login\.example"/,
  ],
  [
    "has no expiry",
    sign({ iss: CLAIMS.iss, aud: CLAIMS.aud, sub: "ada" }, ours),
    /missing required "exp" claim/,
  ],
  ["is of another signer", sign(CLAIMS, theirs), /signature verification failed/],
  [
    "has no subject",
    sign({ iss: CLAIMS.iss, aud: CLAIMS.aud, exp: CLAIMS.exp }, ours),
    /no text in the claim "sub"/,
  ],
  ["is none", "slv_abcdefghijklmnop", /no token/],
];
for (const [name, token, cause] of WHY) {
  Deno.test(`jwt() tells the log alone why it lets nobody in whose token ${name}`, async () => {
    const entries: LogEntry[] = [];
    const app = createApp({
      agents: { default: { model: scripted({ script: () => ({ text: "Hi." }) }) } },
      store: memoryStore(),
      auth: anyOf(jwt(OPTIONS)),
      log: (entry) => void entries.push(entry),
    });
    const shown = await token;
    const headers = { authorization: `Bearer ${shown}` };
    const response = await app.request("/v1/sessions", { headers });
    equal(response.status, 401);
    doesNotMatch(await response.text(), cause);
    match(String(entries[0]?.["cause"]), cause);
    // The token is a key like any other.
    for (const part of shown.split(".")) ok(!JSON.stringify(entries).includes(part), part);
  });
}

Deno.test("jwt() takes tenant and user from the claims that are named", async () => {
  const token = await sign({ ...CLAIMS, org_id: "acme", email: "ada@acme.example" }, ours);
  const claims = { tenantClaim: "org_id", userClaim: "email" };
  deepEqual(await ask(token, claims), { tenant: "acme", user: "ada@acme.example" });
  equal(await ask(await sign(CLAIMS, ours), claims), null, "a token without them");
});

Deno.test("jwt() takes only the algorithms that are listed, and none with a shared secret", async () => {
  equal(await ask(await sign(CLAIMS, rsa), { algorithms: ["ES256"] }), null);
  for (const algorithms of [[], ["HS256"], ["none"], ["ES256", "HS512"]]) {
    throws(() => jwt({ ...OPTIONS, algorithms }), TypeError, algorithms.join());
  }
});

/** Keys that can be changed, served over loopback. */
function serveKeys(answer: () => Response) {
  let asked = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    asked++;
    return answer();
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/keys`,
    get asked() {
      return asked;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("jwt() asks for the keys once, and again for a key that is new to it", async () => {
  let keys = [ours.jwk];
  await using served = serveKeys(() => Response.json({ keys }));
  const auth = jwt({ ...OPTIONS, jwks: served.url });
  const token = await sign(CLAIMS, ours);
  for (let i = 0; i < 5; i++) deepEqual((await ask(token, {}, auth))?.user, "ada");
  equal(served.asked, 1);
  // Within the cool-down a flood of unknown names brings no flood of requests.
  keys = [rsa.jwk];
  for (let i = 0; i < 5; i++) equal(await ask(await sign(CLAIMS, rsa), {}, auth), null);
  equal(served.asked, 1);
  // After a rotation a service that starts knows the new keys only.
  const later = jwt({ ...OPTIONS, jwks: served.url });
  deepEqual((await ask(await sign(CLAIMS, rsa), {}, later))?.user, "ada");
  equal(await ask(token, {}, later), null);
});

Deno.test("jwt() says that it cannot check, where the keys cannot be had", async () => {
  const token = await sign(CLAIMS, ours);
  for (
    const [answer, cause] of [
      [() => new Response("no", { status: 500 }), /Expected 200 OK/],
      [() => new Response("no keys"), /Failed to parse/],
      [() => Response.json({ keys: "none" }), /malformed/],
    ] as const
  ) {
    await using served = serveKeys(answer);
    await rejects(ask(token, { jwks: served.url }), { code: "auth_unavailable" });
    const entries: LogEntry[] = [];
    const app = createApp({
      agents: { default: { model: scripted({ script: () => ({ text: "Hi." }) }) } },
      store: memoryStore(),
      auth: jwt({ ...OPTIONS, jwks: served.url }),
      log: (entry) => void entries.push(entry),
    });
    const response = await app.request("/v1/sessions", { headers: { authorization: `Bearer ${token}` } });
    match(String(entries[0]?.["cause"]), cause);
    ok(String(entries[0]?.["cause"]).includes(served.url), "it says where the keys were asked for");
    equal(response.status, 503);
    equal(response.headers.get("retry-after"), "5");
    equal((await response.json()).code, "auth_unavailable");
  }
  await rejects(ask(token, { jwks: "http://127.0.0.1:1/keys" }), { code: "auth_unavailable" });
});
