/** Settings that all adapters of our own refuse when a model is made. */
import assert from "node:assert/strict";
import { anthropic } from "../../src/models/anthropic.ts";
import type { HostedModelOptions } from "../../src/models/hosted.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import type { Model } from "../../src/ports.ts";

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
}
