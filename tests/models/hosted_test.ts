/** Settings that all adapters of our own refuse when a model is made. */
import assert from "node:assert/strict";
import { anthropic } from "../../src/models/anthropic.ts";
import type { HostedModelOptions } from "../../src/models/hosted.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import type { Model } from "../../src/ports.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { failureOf, outcomeOf } from "./_answers.ts";

/** Whatever shows who asks: in a header, in the address, or as the key. */
const SECRETS = ["sk-very-secret", "hdr-very-secret", "pass-very-secret", "query-very-secret"];

const MAKERS: readonly ((options: HostedModelOptions) => Model)[] = [anthropic, openaiChat, openaiResponses];

for (const make of MAKERS) {
  Deno.test(`${make.name}() refuses settings that cannot work, and does not quote the key`, () => {
    const wrong = { name: "TypeError", message: /HTTP cannot carry/ };
    assert.throws(() => make({ model: "m", apiKey: "sk-secret\u{1f511}" }), wrong);
    assert.throws(() => make({ model: "m", apiKey: "sk-secret\u{1f511}" }), (error) => {
      return error instanceof Error && !error.message.includes("secret") && error.cause === undefined;
    });
    assert.throws(() => make({ model: "m", headers: { "a b": "c" } }), wrong);
    assert.throws(() => make({ model: "m", baseURL: "localhost" }), { name: "TypeError", message: /no URL/ });
    for (const name of ["window", "maxOutput", "stallMs", "tokenFactor"]) {
      assert.throws(() => make({ model: "m", [name]: 0 }), { name: "RangeError", message: new RegExp(name) });
    }
  });

  Deno.test(`${make.name}() takes what the environment may not have: unset is left out`, async () => {
    const unset = Deno.env.get("NOBODY_SETS_THIS");
    const [wanted, found] = [fakeFetch({ status: 404, reads: [] }), fakeFetch({ status: 404, reads: [] })];
    await outcomeOf(make({ model: "m", fetch: wanted.fetch }));
    await outcomeOf(make({ model: "m", apiKey: unset, baseURL: unset, fetch: found.fetch }));
    assert.deepEqual(found.requests, wanted.requests);
    assert.equal(wanted.requests.length, 1);
  });

  Deno.test(`${make.name}() shows nothing of what shows who asks, and of the address where it is`, async () => {
    const [apiKey = "", header, password, query] = SECRETS;
    const settings: HostedModelOptions = {
      model: "m",
      apiKey,
      baseURL: `http://user:${password}@models.example:8080/v1?api-version=2024-10-21&key=${query}`,
      headers: { "api-key": `Bearer ${header}`, "x-title": "my program" },
      maxRetries: 0,
    };
    const words = `no ${SECRETS.join(", ")} of my program in 2024-10-21`;
    const shown = "no [key], [key], [key], [key] of my program in 2024-10-21";
    const { fetch } = fakeFetch({ status: 400, reads: [JSON.stringify({ error: { message: words } })] });
    const refused = failureOf(await outcomeOf(make({ ...settings, fetch })));
    assert.deepEqual([refused.fields.upstream, refused.fields.origin], [
      shown,
      "http://models.example:8080",
    ]);
    const cause = new TypeError("fetch failed", {
      cause: new Error(
        `error sending request for url (${settings.baseURL}): client error (Connect): ${words}`,
      ),
    });
    const lost = failureOf(await outcomeOf(make({ ...settings, fetch: () => Promise.reject(cause) })));
    assert.equal(
      lost.fields.reason,
      `error sending request for url (http://models.example:8080): client error (Connect): ${shown}`,
    );
  });

  Deno.test(`${make.name}() takes a body of text from a fetch of somebody's own for an answer that did not come`, async () => {
    const body = new ReadableStream({ pull: (controller) => controller.enqueue("data: {}\n\n") });
    const fetch = () => Promise.resolve(new Response(body));
    const { code, cause } = failureOf(await outcomeOf(make({ model: "m", maxRetries: 0, fetch })));
    assert.equal(code, "model_unreachable");
    assert.match(String(cause), /The body gave string, wanted bytes/);
  });

  Deno.test(`${make.name}() tells the operator which path a server does not know, and nothing else of its address`, async () => {
    const { fetch } = fakeFetch({ status: 404, reads: ["404 page not found"] });
    const baseURL = "http://user:pass-very-secret@models.example/proxy/sk-very-secret?key=query-very-secret";
    const model = make({ model: "m", apiKey: "sk-very-secret", baseURL, fetch });
    const { code, message, fields } = failureOf(await outcomeOf(model));
    assert.equal(code, "model_not_found");
    const rest = { anthropic: "v1/messages", openaiChat: "chat/completions", openaiResponses: "responses" };
    assert.equal(fields.reason, `nothing found at /proxy/[key]/${rest[make.name as keyof typeof rest]}`);
    // Anthropic's adapter puts the version there itself.
    const hint = make === anthropic ? "" : "; most servers want a base URL with its /v1";
    assert.equal(message, `Cannot get an answer from m: found HTTP status 404, wanted 200${hint}`);
  });
}

Deno.test("a base URL is not doubted that has a version in it, or whose server knows no such model", async () => {
  for (
    const [baseURL, message] of [
      ["http://models.example/v1", "Not Found"],
      ["http://models.example/v1beta/openai/", "Not Found"],
      ["http://models.example", 'model "m" not found, try pulling it first'],
    ] as const
  ) {
    const { fetch } = fakeFetch({ status: 404, reads: [JSON.stringify({ error: { message } })] });
    const failure = failureOf(await outcomeOf(openaiChat({ model: "m", baseURL, fetch })));
    assert.match(failure.message, /found HTTP status 404, wanted 200$/);
  }
});
