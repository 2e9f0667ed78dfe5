/**
 * Models.
 *
 * @module
 */
export { aiSdk, type AiSdkOptions } from "./ai_sdk.ts";
export type { AiSdkCallOptions, AiSdkLanguageModel, AiSdkStreamPart } from "./ai_sdk_types.ts";
export { anthropic, type AnthropicOptions } from "./anthropic.ts";
export { clerk } from "./clerk.ts";
export { fallback, type FallbackOptions } from "./fallback.ts";
export type { HostedModelOptions } from "./hosted.ts";
export { keepResponses } from "./keep_responses.ts";
export { openaiChat, type OpenAIChatOptions } from "./openai_chat.ts";
export { openaiResponses, type OpenAIResponsesOptions } from "./openai_responses.ts";
export {
  type Script,
  scripted,
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedReply,
} from "./scripted.ts";
