/**
 * The tool `recall` for a loop that the AI SDK runs.
 *
 * @module
 */
import { importMessages } from "../compaction/import.ts";
import { prefixChain } from "../compaction/prefix_chain.ts";
import { RECALL_INPUT, recallTool } from "../loop/recall.ts";
import type { Entry } from "../ports.ts";
import type { LiveLoops } from "./live_loops.ts";
import type { LoopMessage, LoopTool } from "./types.ts";

/** What our own tool gets of a session; it reads none of it. */
const CONTEXT = { session: "", tenant: "", signal: new AbortController().signal };

/**
 * Makes the tool over the loops that are followed.
 *
 * @param loops The loops. What was sent in a step says which of them has called.
 */
export function loopRecall(loops: LiveLoops): LoopTool {
  async function entriesOf(messages: readonly LoopMessage[]): Promise<readonly Entry[]> {
    const loop = loops.find(await prefixChain(messages));
    // A loop that sends its whole history shows all of it here, too.
    return loop?.entries ?? importMessages(messages).entries;
  }
  return {
    description: recallTool(() => []).description,
    inputSchema: RECALL_INPUT,
    async execute(input, { messages }) {
      const entries = await entriesOf(messages);
      const text = await recallTool(() => entries).execute?.(RECALL_INPUT.parse(input), CONTEXT);
      return String(text);
    },
  };
}
