/**
 * The built-in tool that reads the log: nothing that a compaction has taken out of the view is out of reach.
 *
 * @module
 */
import * as z from "zod";
import { originalText, pageOf, parseRef, type Ref, searchOriginals } from "../compaction/originals.ts";
import { callsOf } from "../compaction/render.ts";
import type { Entry, Tool } from "../ports.ts";
import type { ReadyAgent } from "./agent.ts";
import { ownTools } from "./tool_set.ts";
import { defineTool } from "./tools.ts";

/** Its name. A tool of the agent's own that is called the same takes its place. */
export const RECALL = "recall";

/** Characters of a page, and refs of a search, where none are asked for. */
const PAGE = 6_000;
const MAX_PAGE = 100_000;
const HITS = 20;
const MAX_HITS = 200;

/** What the tool is asked. */
export const RECALL_INPUT = z.object({
  ref: z.string().max(40).describe("e41, e41.0 or e3..e17").optional(),
  search: z.string().min(1).max(500).describe("any case, * is anything in a line").optional(),
  offset: z.number().int().min(0).optional(),
  limit: z.number().int().min(1).max(MAX_PAGE).optional(),
});

const DESCRIPTION =
  "Reads originals of this conversation: by ref (a message, a call with its whole result, a " +
  "range), in pages of characters; with search, where a text stands in it, or without a ref in everything.";

function refOf(text: string): Ref {
  const ref = parseRef(text);
  if (ref !== null) return ref;
  throw new TypeError(`found the ref ${JSON.stringify(text)}, wanted one such as e41, e41.0 or e3..e17`);
}

function missing(ref: string, entries: readonly Entry[]): TypeError {
  return new TypeError(`found nothing at ${ref}, wanted a ref from e0 to e${entries.length - 1}`);
}

/** Tells the tool's own calls and results from others: what they hold stands elsewhere. */
function ownOf(entries: readonly Entry[]): (entry: Entry) => boolean {
  const own = new Set(
    entries.flatMap((entry) => callsOf(entry).flatMap(({ ref, name }) => name === RECALL ? [ref] : [])),
  );
  return (entry) => {
    if (entry.kind === "result") return own.has(entry.call);
    const calls = callsOf(entry);
    return calls.length > 0 && calls.every(({ ref }) => own.has(ref));
  };
}

function recall(entries: readonly Entry[], asked: z.infer<typeof RECALL_INPUT>): string {
  const { search, offset = 0 } = asked;
  const ref = asked.ref === undefined ? null : refOf(asked.ref);
  const original = ref === null ? null : originalText(entries, ref);
  if (ref !== null && original === null) throw missing(asked.ref ?? "", entries);
  if (search === undefined) {
    if (original === null) throw new TypeError("found neither ref nor search, wanted one of them or both");
    const page = pageOf(original, { offset, limit: asked.limit ?? PAGE });
    const rest = page.end < page.total ? `; offset ${page.end} goes on` : "";
    return `[${asked.ref}: characters ${page.offset} to ${page.end} of ${page.total}${rest}]\n${page.text}`;
  }
  const limit = Math.min(asked.limit ?? HITS, MAX_HITS);
  const where = asked.ref ?? "the log";
  const { hits, searchedTo } = searchOriginals(entries, {
    search,
    ref,
    skip: ownOf(entries),
    most: offset + limit,
  });
  const shown = hits.slice(offset);
  const rest = hits.length === offset + limit ? `; offset ${hits.length} goes on` : "";
  const seen = searchedTo === null || rest !== "" ? "" : `; searched to e${searchedTo} only`;
  const lines = shown.map(({ ref, at, times, text }) =>
    `${ref} at ${at}${times > 1 ? ` and ${times - 1} more` : ""}: ${text}`
  );
  const found = shown.length === 0 ? "nothing" : `${shown.length} found`;
  return [`[${JSON.stringify(search)} in ${where}: ${found}${rest}${seen}]`, ...lines].join("\n");
}

/** The tool without a log. Made once: its JSON Schema costs as much as a step. */
const NO_LOG: Tool = {
  ...defineTool({
    name: RECALL,
    description: DESCRIPTION,
    input: RECALL_INPUT,
    verbatimArgs: ["ref", "search"],
    // Nothing is changed by it: a call that a crash cut off is made again.
    sideEffect: "none",
    execute: (asked) => recall([], asked),
  }),
  // What was recalled stands in the log already: a ledger that copied it would grow with each look back.
  digest: (text) => text.slice(0, text.indexOf("\n") + 1 || undefined).trimEnd().slice(0, 300),
};

/** Makes the tool over a log that may grow. */
export function recallTool(entries: () => readonly Entry[]): Tool {
  return { ...NO_LOG, execute: (asked) => recall(entries(), asked as z.infer<typeof RECALL_INPUT>) };
}

/** Whether an agent's model is offered the built-in tool. */
export function hasRecall({ recall = true, tools }: ReadyAgent): boolean {
  return recall && !ownTools(tools).some(({ name }) => name === RECALL);
}

/**
 * All tools of an agent, the built-in one last.
 *
 * @param agent The agent.
 * @param log The log that the built-in tool reads; without it the tools can only be told about.
 */
export function toolsOf(agent: ReadyAgent, log?: () => readonly Entry[]): readonly Tool[] {
  const tools = ownTools(agent.tools);
  if (!hasRecall(agent)) return tools;
  return [...tools, log === undefined ? NO_LOG : recallTool(log)];
}
