/**
 * Models.
 *
 * @module
 */
export { anthropic, type AnthropicOptions } from "./anthropic.ts";
export { clerk } from "./clerk.ts";
export { openaiChat, type OpenAIChatOptions } from "./openai_chat.ts";
export {
  type Script,
  scripted,
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedReply,
} from "./scripted.ts";
