/**
 * The summarizer that a caller brings, as a model of the loop: what is asked of it, and what counts as an answer, is
 * the same as in turns of our own.
 *
 * @module
 */
import { aiSdk } from "../models/ai_sdk.ts";
import type { AiSdkLanguageModel } from "../models/ai_sdk_types.ts";
import { textOf } from "../compaction/ledger.ts";
import type { Model, ModelEvent, ModelRequest } from "../ports.ts";
import type { Summarize } from "./options.ts";

/** The most tokens of a summarizer's answer. */
const MAX_OUTPUT = 8_000;

/** The answer in the form that is asked for; a function may just as well write a text. */
function asNarrative(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /^[{`]/.test(trimmed) ? text : JSON.stringify({ narrative: trimmed });
}

function functionModel(summarize: Summarize, window: number): Model {
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const prompt = request.messages.map(({ content }) => textOf(content)).join("\n\n");
    const { system, maxOutput } = request;
    const text = await summarize({ system, prompt, maxOutputTokens: maxOutput, abortSignal: signal });
    const message = { role: "assistant" as const, content: asNarrative(String(text)) };
    yield { type: "finish", reason: "stop", message };
  }
  return { id: "summarize", window, maxOutput: MAX_OUTPUT, dialect: "ai-sdk", stream };
}

/**
 * Makes a model of a summarizer.
 *
 * @param summarize A model of the AI SDK, or a function.
 * @param window Tokens that it can hold.
 * @throws {TypeError} For anything else, names of models included: only the AI SDK itself knows what these stand for.
 */
export function summarizerModel(summarize: Summarize | AiSdkLanguageModel, window: number): Model {
  if (typeof summarize === "function") return functionModel(summarize, window);
  if (typeof summarize !== "object" || typeof summarize?.doStream !== "function") {
    throw new TypeError(
      `Cannot use the summarizer: found ${
        JSON.stringify(summarize)
      }, wanted a language model of the AI SDK or a function`,
    );
  }
  return aiSdk(summarize, { window, maxOutput: Math.min(MAX_OUTPUT, Math.floor(window * 0.2)) });
}
