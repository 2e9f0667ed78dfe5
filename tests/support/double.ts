/**
 * `deno task double NAME` serves one of the strict doubles on loopback: on a free port, or on `SELVAGE_DOUBLE_PORT`.
 * It answers every request with the number of messages that it was sent.
 */
import { plural } from "../../src/files/words.ts";
import type { ModelRequest } from "../../src/ports.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import { startAnthropicDouble } from "./anthropic_double.ts";
import type { AnyDouble } from "./double_server.ts";
import { startGeminiDouble } from "./gemini_double.ts";
import { startDouble } from "./openai_double.ts";
import { startResponsesDouble } from "./responses_double.ts";

interface Settings {
  readonly script: (request: ModelRequest) => ScriptedReply;
  readonly port: number;
  readonly window: number;
  readonly maxOutput: number;
}

/** Those of the largest known models: whichever is named, the stand-in is to take its limits. */
const LIMITS = { window: 1_000_000, maxOutput: 128_000 };

const DOUBLES: Readonly<Record<string, (settings: Settings) => AnyDouble>> = {
  openai: startDouble,
  responses: startResponsesDouble,
  anthropic: startAnthropicDouble,
  gemini: startGeminiDouble,
};

if (import.meta.main) {
  const [name = "openai"] = Deno.args;
  const start = Object.hasOwn(DOUBLES, name) ? DOUBLES[name] : undefined;
  if (start === undefined) {
    console.error(
      `Cannot start the double ${JSON.stringify(name)}: wanted one of ${Object.keys(DOUBLES).join(", ")}`,
    );
    Deno.exit(2);
  }
  const script: Settings["script"] = ({ messages: { length } }) => ({
    text: `You sent ${plural(length, "message")}.`,
  });
  const port = Number(Deno.env.get("SELVAGE_DOUBLE_PORT") ?? 0);
  console.log(`Listening on ${start({ script, port, ...LIMITS }).url}`);
  console.log(
    "It answers each request with one sentence and calls no tool; `deno task demo` shows one that does.",
  );
}
