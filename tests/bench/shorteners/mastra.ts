/** Mastra: a processor that limits the tokens of a request. */
import { TokenLimiterProcessor } from "@mastra/core/processors";
import type { ModelMessage } from "ai";
import { fromModel, toModel } from "./ai_sdk.ts";
import { bySystem, type ChatMessage, type Question, total } from "./chat.ts";

/** The processor as far as it is used: its hook directly before the model is called. */
type Limiter = {
  processLLMRequest(request: { readonly prompt: readonly ModelMessage[] }): Promise<
    { readonly prompt: readonly ModelMessage[] } | undefined
  >;
};

/** `TokenLimiterProcessor`, which counts system messages, and by its own estimate. */
export async function limit({ messages, budget }: Question): Promise<readonly ChatMessage[]> {
  const [system] = bySystem(messages);
  const limiter = new TokenLimiterProcessor({ limit: budget + total(system) }) as unknown as Limiter;
  const done = await limiter.processLLMRequest({ prompt: toModel(messages) });
  return done === undefined ? messages : fromModel(done.prompt);
}
