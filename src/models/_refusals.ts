/** Why a provider has refused a request, as far as its answer tells: in our own words, for the operator. Private to the adapters. */
import type { UpstreamError } from "./_errors.ts";

/** Codes of OpenAI, Groq, Azure and Mistral for a name that they do not know. */
const MODEL_CODE = /model_not_found|invalid_model|DeploymentNotFound/i;

// OpenAI, xAI, Groq, vLLM, Ollama, Gemini, LM Studio and DeepSeek ("… does not exist", "… not found"), Anthropic
// ("model: claude-x"), OpenRouter and Mistral. A path that is not known may have "models" in it: no model is meant.
const MODEL_WORDS = new RegExp(
  [
    String.raw`^model: \S`,
    String.raw`(?<![/\w])models?\b.{0,200}?\b(?:not found|not exist)`,
    String.raw`\bnot a valid model\b`,
    String.raw`\b(?:unknown|invalid|no such) model\b`,
  ].join("|"),
  "is",
);

/** Of services that answer a key which they do not know as a request that does not fit: Gemini and xAI. */
const KEY_WORDS = /\b(?:incorrect|invalid) API key|\bAPI key not valid/i;

/** The statuses under which services tell of a model that they do not know, or not for this key. */
const MODEL_STATUSES: readonly number[] = [400, 403, 404, 422];

/** Says whether a provider tells that it knows no such model. */
export function isUnknownModel(
  status: number,
  { code, message, type }: Pick<UpstreamError, "code" | "message" | "type">,
): boolean {
  return MODEL_STATUSES.includes(status) &&
    (MODEL_CODE.test(`${code} ${type}`) || MODEL_WORDS.test(message));
}

/** What the operator has to look at; nothing where the answer does not tell. */
export function whyRefused(status: number, error: UpstreamError): string | undefined {
  if (isUnknownModel(status, error)) return "the provider knows no such model, or not for this key";
  if (status === 401) return "the provider refused the key, or found none";
  if (status === 403) return "the provider refused the key, or what was asked with it";
  return status === 400 && KEY_WORDS.test(error.message) ? "the provider refused the key" : undefined;
}
