/**
 * Models.
 *
 * @module
 */
export { anthropic, type AnthropicOptions } from "./anthropic.ts";
export { clerk } from "./clerk.ts";
export { fallback } from "./fallback.ts";
export type { HostedModelOptions } from "./hosted.ts";
export { openaiChat, type OpenAIChatOptions } from "./openai_chat.ts";
export { openaiResponses, type OpenAIResponsesOptions } from "./openai_responses.ts";
export {
  type Script,
  scripted,
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedReply,
} from "./scripted.ts";
