/** How long adapters wait for a provider that only keeps the connection alive. */
import { equal, match, ok, rejects } from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { aiSdk } from "../../src/models/ai_sdk.ts";
import type { AiSdkStreamPart } from "../../src/models/ai_sdk_types.ts";
import { ManualClock } from "../support/clock.ts";
import { isEnd, request } from "./_answers.ts";
import { DIALECTS } from "./_dialects.ts";

/** What each protocol has to keep a connection alive. */
const FILLERS: Readonly<Record<string, string>> = {
  "openaiChat()": 'data: {"choices":[{"index":0,"delta":{}}]}\n\n',
  "anthropic()": 'event: ping\ndata: {"type":"ping"}\n\n',
  "openaiResponses()": 'data: {"type":"keepalive","sequence_number":1}\n\n',
};

for (const { isSdk, model: make, name, wire } of DIALECTS) {
  if (isSdk) continue;
  const piece = wire.text("x");
  const filler = FILLERS[name];
  ok(filler !== undefined, `What keeps a connection of ${name} alive is missing here`);
  for (const sent of [": ping\n\n", filler]) {
    Deno.test(`${name} gives up on a provider that sends nothing but ${JSON.stringify(sent)}`, async () => {
      const clock = new ManualClock();
      const begun = clock.now();
      let isOpen = true;
      const encoder = new TextEncoder();
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
        async pull(controller) {
          await clock.sleep(500);
          // A piece of the answer on the way begins the time anew.
          if (isOpen) controller.enqueue(encoder.encode(clock.now() - begun === 8_000 ? piece : sent));
        },
        cancel: () => void (isOpen = false),
      }, { highWaterMark: 0 });
      const fetch = () =>
        Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
      const model = await make({ fetch, clock, stallMs: 1_000 });
      const seen: unknown[] = [];
      const failed = rejects(
        async () => {
          for await (const event of model.stream(request, new AbortController().signal)) {
            if (!isEnd(event)) seen.push(event);
          }
        },
        (error) => {
          match(String(error), /without a part of the answer, wanted one/);
          return error instanceof SelvageError && error.code === "model_stalled";
        },
      );
      await clock.advance(17_000);
      equal(isOpen, true);
      await clock.advance(3_000);
      await failed;
      equal(isOpen, false);
      equal(seen.length, 1);
    });
  }
}

const DELTA = { type: "text-delta", id: "t", delta: "x" };
const RAW = { type: "raw", rawValue: {} };
const PARTS: readonly (readonly [string, AiSdkStreamPart, boolean])[] = [
  ["goes on with one whose answer takes as long", DELTA, false],
  ["gives up on one that sends no part of an answer", RAW, true],
];

for (const [says, part, isOver] of PARTS) {
  Deno.test(`aiSdk() ${says}`, async () => {
    const clock = new ManualClock();
    let isOpen = true;
    const stream = new ReadableStream<AiSdkStreamPart>({
      async pull(controller) {
        await clock.sleep(500);
        if (isOpen) controller.enqueue(part);
      },
      cancel: () => void (isOpen = false),
    }, { highWaterMark: 0 });
    const doStream = () => Promise.resolve({ stream });
    const language = { specificationVersion: "v4", provider: "p", modelId: "m", doStream } as const;
    const model = aiSdk(language, { clock, stallMs: 1_000, maxRetries: 0 });
    const stop = new AbortController();
    const failed = rejects(
      () => Array.fromAsync(model.stream(request, stop.signal)),
      isOver ? { code: "model_stalled" } : { name: "AbortError" },
    );
    await clock.advance(30_000);
    equal(isOpen, !isOver);
    stop.abort();
    await clock.advance(1_000);
    await failed;
    equal(isOpen, false);
  });
}
