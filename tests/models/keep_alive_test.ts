import { equal, match, rejects } from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import { aiSdk } from "../../src/models/ai_sdk.ts";
import type { AiSdkStreamPart } from "../../src/models/ai_sdk_types.ts";
import { anthropic } from "../../src/models/anthropic.ts";
import type { HostedModelOptions } from "../../src/models/hosted.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import type { Model, ModelRequest } from "../../src/ports.ts";
import { ManualClock } from "../support/clock.ts";

const REQUEST: ModelRequest = {
  system: "",
  messages: [{ role: "user", content: "Hi" }],
  tools: [],
  maxOutput: 100,
};

/** What each protocol has to keep a connection alive, and a first piece of an answer. */
const DIALECTS: readonly (readonly [(options: HostedModelOptions) => Model, string, string])[] = [
  [
    openaiChat,
    'data: {"choices":[{"index":0,"delta":{}}]}\n\n',
    'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n',
  ],
  [
    anthropic,
    'event: ping\ndata: {"type":"ping"}\n\n',
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",' +
    '"content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n' +
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text",' +
    '"text":""}}\n\nevent: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{' +
    '"type":"text_delta","text":"x"}}\n\n',
  ],
  [
    openaiResponses,
    'data: {"type":"keepalive","sequence_number":1}\n\n',
    'data: {"type":"response.output_item.added","output_index":0,"item":{"id":"i","type":"message",' +
    '"role":"assistant","content":[]}}\n\ndata: {"type":"response.output_text.delta","output_index":0,' +
    '"content_index":0,"item_id":"i","delta":"x"}\n\n',
  ],
];

for (const [make, filler, piece] of DIALECTS) {
  for (const sent of [": ping\n\n", filler]) {
    Deno.test(`${make.name}() gives up on a provider that sends nothing but ${JSON.stringify(sent)}`, async () => {
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
      const model = make({ model: "m", apiKey: "k", fetch, clock, stallMs: 1_000, maxRetries: 0 });
      const seen: unknown[] = [];
      const failed = rejects(
        async () => {
          for await (const event of model.stream(REQUEST, new AbortController().signal)) seen.push(event);
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
      () => Array.fromAsync(model.stream(REQUEST, stop.signal)),
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
