/**
 * Runs what others have for shortening a transcript: one JSON document a line in, one out. A process of its own, with
 * its own configuration and lock file, so that nothing of it comes near the project's dependencies.
 */
import { prune } from "./ai_sdk.ts";
import type { Question, Way } from "./chat.ts";
import * as langchain from "./langchain.ts";
import { limit } from "./mastra.ts";
import * as strands from "./strands.ts";

const WAYS: Readonly<Record<string, Way>> = {
  "AI SDK `pruneMessages`": prune,
  "LangChain `summarizationMiddleware`": langchain.summarise,
  "LangChain `ClearToolUsesEdit`": langchain.clear,
  "LangChain `trimMessages`": langchain.trim,
  "Mastra `TokenLimiterProcessor`": limit,
  "Strands `SummarizingConversationManager`": strands.summarise,
  "Strands `SlidingWindowConversationManager`": strands.slide,
};

const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
const write = (answer: unknown): void => console.log(JSON.stringify(answer));
// The first line says which ways there are.
write(Object.keys(WAYS));
let rest = "";
for await (const chunk of lines) {
  rest += chunk;
  for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
    const question: Question & { readonly way: string } = JSON.parse(rest.slice(0, end));
    rest = rest.slice(end + 1);
    const start = performance.now();
    let answer: unknown;
    try {
      const messages = await WAYS[question.way]?.(question);
      answer = { messages, milliseconds: performance.now() - start };
    } catch (error) {
      answer = { error: String(error), milliseconds: performance.now() - start };
    }
    write(answer);
  }
}
