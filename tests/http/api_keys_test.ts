import { deepEqual, equal, throws } from "node:assert/strict";
import { anyOf, apiKeys, hashKey } from "../../src/http/mod.ts";

const OLD = "the-old-key-of-acme";
const NEW = "the-new-key-of-acme";
const BETA = "the-only-key-of-beta";

function ask(auth: ReturnType<typeof apiKeys>, headers: Record<string, string>) {
  return Promise.resolve(auth(new Request("http://selvage.example/", { headers }), { peer: null }));
}

const CASES: readonly (readonly [string, Record<string, string>, string | null])[] = [
  ["a bearer key", { authorization: `Bearer ${OLD}` }, "acme"],
  ["the scheme in any case", { authorization: `bEARER  ${NEW}` }, "acme"],
  ["a key header", { "x-api-key": NEW }, "acme"],
  ["a key that is held as a hash", { "x-api-key": BETA }, "beta"],
  ["a key header beside another scheme", { authorization: "Basic YTpi", "x-api-key": OLD }, "acme"],
  ["no key", {}, null],
  ["another key", { "x-api-key": "the-old-key-of-acm" }, null],
  ["a key and more", { "x-api-key": `${OLD}x` }, null],
  ["another scheme", { authorization: `Basic ${OLD}` }, null],
  ["two keys in one", { authorization: `Bearer ${OLD} ${NEW}` }, null],
  ["an empty key", { authorization: "Bearer ", "x-api-key": "" }, null],
  ["the name of a tenant", { "x-api-key": "acme" }, null],
];
for (const [name, headers, tenant] of CASES) {
  Deno.test(`apiKeys() ${tenant === null ? "lets nobody in" : "knows a tenant"} by ${name}`, async () => {
    const auth = apiKeys({ acme: [OLD, NEW], beta: await hashKey(BETA) });
    deepEqual(await ask(auth, headers), tenant === null ? null : { tenant });
  });
}

Deno.test("apiKeys() takes a hash for no key: whoever reads the environment cannot use it", async () => {
  const hash = await hashKey(BETA);
  const auth = apiKeys({ beta: hash });
  for (const shown of [hash, hash.slice("sha256:".length)]) {
    equal(await ask(auth, { "x-api-key": shown }), null);
  }
});

Deno.test("apiKeys() refuses keys that could be guessed, hashes that are none, and no keys", () => {
  for (
    const key of [
      "",
      "short",
      "fifteen-letters",
      "with a space in it",
      "sha256:abc",
      `sha256:${"g".repeat(64)}`,
    ]
  ) {
    throws(() => apiKeys({ acme: key }), { name: "TypeError", message: /Cannot use a key of acme/ }, key);
  }
  throws(() => apiKeys({}), TypeError);
  throws(() => apiKeys({ acme: [] }), TypeError);
});

Deno.test("anyOf() asks one after the other until somebody is known", async () => {
  const auth = anyOf(apiKeys({ acme: OLD }), () => ({ tenant: "guest" }));
  deepEqual(await ask(auth, { "x-api-key": OLD }), { tenant: "acme" });
  deepEqual(await ask(auth, {}), { tenant: "guest" });
  equal(await ask(anyOf(apiKeys({ acme: OLD })), {}), null);
});
