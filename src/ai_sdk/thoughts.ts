/**
 * Thoughts that Claude has signed, at the beginning of the answer in progress.
 *
 * @module
 */
import type { LoopMessage } from "./types.ts";

/** Whether a message is one of the user's: Claude's answer begins behind the last of them. */
function isPrompt({ role }: LoopMessage): boolean {
  return role === "user";
}

/** Whether an answer begins with a thought that Claude has signed. */
function beginsWithThought({ content }: LoopMessage): boolean {
  const [first] = Array.isArray(content) ? content : [];
  return first?.type === "reasoning" && first.providerOptions?.anthropic !== undefined;
}

/**
 * Whether the answer in progress began with a thought of Claude's that is no longer sent.
 *
 * @param history All messages.
 * @param shown The messages to send.
 */
export function lacksThought(history: readonly LoopMessage[], shown: readonly LoopMessage[]): boolean {
  const [began, begins] = [history, shown].map((messages) => {
    const first = messages.slice(messages.findLastIndex(isPrompt) + 1).find(({ role }) =>
      role === "assistant"
    );
    return first !== undefined && beginsWithThought(first);
  });
  return began === true && begins === false;
}
