/**
 * A model service that misbehaves, seen from a client: an `error` event with a code, the session usable
 * afterwards, every call in the log paired.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import * as z from "zod";
import { createApp } from "../../src/http/mod.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import type { Script } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { type Fault, startDouble } from "../support/openai_double.ts";
import { parseFrames } from "../support/sse.ts";

const echo = defineTool({
  name: "echo",
  description: "Says it again",
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
});

/** Two parallel calls, then an answer. */
const script: Script = ({ messages }) =>
  messages.at(-1)?.role === "tool"
    ? { text: "Both heard, one after the other, in the order of the calls." }
    : { calls: [{ name: "echo", input: { text: "a" } }, { name: "echo", input: { text: "b" } }] };

const FAULTS: readonly (readonly [string, Fault, string])[] = [
  ["answers 401", { status: 401 }, "model_auth"],
  ["answers 404", { status: 404 }, "model_not_found"],
  ["answers 418", { status: 418 }, "model_refused"],
  ["answers 429 for ever", { status: 429, headers: { "retry-after": "0" } }, "model_rate_limited"],
  ["answers 500 for ever", { status: 500 }, "model_unavailable"],
  ["closes the connection in mid-stream", { cutAfter: 2 }, "model_stream_cut"],
  ["sends garbage", { garbageAfter: 2 }, "model_bad_response"],
  ["sends an error in mid-stream", { errorFrameAfter: 2 }, "model_stream_error"],
];

// The fault hits either the first step or the one after the tools have run.
for (const at of [1, 2] as const) {
  for (const [name, fault, code] of FAULTS) {
    Deno.test(`a turn survives a model service that ${name} at step ${at}`, async () => {
      let isBroken = true;
      await using double = await startDouble({
        script,
        faults: (_, body) => {
          const step = JSON.stringify(body).includes('"role":"tool"') ? 2 : 1;
          return isBroken && step === at ? fault : undefined;
        },
      });
      let now = 0;
      const clock = {
        now: () => now,
        // Back-off takes no time; the timers that guard against silence, and those of the journal, never fire.
        sleep: (ms: number, signal?: AbortSignal) =>
          ms < 3_000 && ms !== 1_000 && ms !== 250
            ? Promise.resolve(void (now += ms))
            : new Promise<void>((_, reject) => {
              signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
            }),
      };
      const app = createApp({
        agents: { default: { model: openaiChat({ model: "m", baseURL: double.url, clock }), tools: [echo] } },
        store: memoryStore(),
        clock,
      });
      const post = async () => {
        const body = JSON.stringify({ input: "go", session: "s" });
        return parseFrames(await (await app.request("/v1/turns", { method: "POST", body })).text());
      };
      const broken = await post();
      deepEqual(broken.slice(-2).map((frame) => frame.event), ["error", "turn.finished"]);
      equal(broken.at(-2)?.data.code, code);
      equal(broken.at(-1)?.data.reason, "error");
      isBroken = false;
      const whole = await post();
      equal(whole.at(-1)?.data.reason, "stop");
      const { entries } = await (await app.request("/v1/sessions/s/messages")).json();
      const calls = entries.flatMap((entry: { calls?: { ref: string }[] }) =>
        entry.calls?.map((call) => call.ref) ?? []
      );
      const results = entries.flatMap((entry: { call?: string }) =>
        entry.call === undefined ? [] : [entry.call]
      );
      ok(calls.length >= 2);
      deepEqual([...results].sort(), [...calls].sort());
      deepEqual(double.violations, []);
    });
  }
}
