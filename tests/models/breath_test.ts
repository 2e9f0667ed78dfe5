/** Models that never wait for anything leave the rest of the process its turn. */
import assert from "node:assert/strict";
import { aiSdk } from "../../src/models/ai_sdk.ts";
import type { AiSdkStreamPart } from "../../src/models/ai_sdk_types.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { Model } from "../../src/ports.ts";
import type { Json } from "../support/wire_json.ts";
import { outcomeOf, request } from "./_answers.ts";
import { finish } from "./_language.ts";

/** When a stream ends that nothing else has ended. */
const TOO_LONG_MS = 3_000;

/** A model of a package that gives some parts, and then the last of them as fast as it is read. */
function endless(...parts: readonly Json[]): Model {
  const begun = Date.now();
  let at = 0;
  const stream = new ReadableStream<AiSdkStreamPart>({
    pull(controller) {
      if (Date.now() - begun > TOO_LONG_MS) controller.close();
      else controller.enqueue(parts[Math.min(at++, parts.length - 1)] as AiSdkStreamPart & Json);
    },
  });
  return aiSdk({
    specificationVersion: "v4",
    provider: "x",
    modelId: "m",
    doStream: () => Promise.resolve({ stream }),
  }, { maxRetries: 0 });
}

for (const type of ["text-delta", "ping"]) {
  Deno.test(`aiSdk() can be cancelled while a stream gives one ${type} after the other without a pause`, async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort("enough"), 50);
    const { error } = await outcomeOf(endless({ type, id: "1", delta: "x" }), { controller });
    assert.equal(error, "enough");
  });
}

Deno.test("aiSdk() waits but a moment for the end of a stream that goes on behind its finish without a pause", async () => {
  const begun = Date.now();
  const { error } = await outcomeOf(endless(finish(), { type: "ping" }));
  assert.equal(error, undefined);
  assert.ok(Date.now() - begun < TOO_LONG_MS);
});

Deno.test("scripted() leaves others their turn in an answer that takes long to pass on", async () => {
  const calls = Array.from({ length: 4_000 }, (_, n) => ({ name: "get", input: { n } }));
  const model = scripted({ script: () => ({ calls }) });
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  for await (const _ of model.stream(request, new AbortController().signal)) {
    const until = performance.now() + 0.05;
    while (performance.now() < until);
  }
  clearInterval(timer);
  assert.ok(turns >= 3, `found ${turns} turns of others`);
});
