/** What stands in a request where a protocol has no place for something. Private to the adapters. */
/** What a tool's result says where the output is empty: several servers refuse empty content. */
export const NO_OUTPUT = "(no output)";

/** What an assistant message says where nothing that can be sent is left of it. */
export const NO_ANSWER = "(no answer)";

/** What a user message says where nothing that can be sent is left of it. */
export const NO_TEXT = "(no text)";

/** Says whether a text has nothing to read in it. */
export function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** Stands in front of files that are all of a result. */
export const FILES_ALONE = "The output is what follows:";
