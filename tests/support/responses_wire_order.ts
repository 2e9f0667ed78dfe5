/** What the Responses service refuses of items together: which come twice, and which miss another. */
import { Refused } from "./responses_refused.ts";
import type { Json } from "./wire_json.ts";

/** What the service can tell of an item that it has made, even where it stores nothing: the content is sealed. */
export interface Issued {
  /** The item as it was sent. */
  readonly json: string;
  /** Id of the reasoning directly before it, where there was one. */
  readonly before: string | null;
  /** Id of the item directly behind it, null at the end. */
  readonly next: string | null;
}

/** Items of tools that the service runs itself. */
const HOSTED = new Set(
  "web_search_call file_search_call code_interpreter_call image_generation_call mcp_list_tools mcp_call"
    .split(" "),
);

/** No item twice, by its id. */
export function checkIds(input: readonly Json[]): void {
  const seen = new Set<unknown>();
  for (const { id } of input) {
    if (id === undefined) continue;
    if (seen.has(id)) {
      throw new Refused(
        `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
        "input",
      );
    }
    seen.add(id);
  }
}

/** Every call has its output somewhere behind it, every output its call before it. */
export function checkPairs(input: readonly Json[]): void {
  const open = new Set<unknown>();
  const calls = new Set<unknown>();
  for (const { call_id, type } of input) {
    if (type === "function_call") {
      if (calls.has(call_id)) throw new Refused(`Duplicate function call id ${call_id}.`, "input");
      calls.add(call_id);
      open.add(call_id);
    } else if (type === "function_call_output" && !open.delete(call_id)) {
      throw new Refused(`No tool call found for function call output with call_id ${call_id}.`, "input");
    }
  }
  for (const call of open) throw new Refused(`No tool output found for function call ${call}.`, "input");
}

/** Reasoning as it was sealed, with what went before it and behind it; the service's own items as they were sent. */
export function checkReasoning(
  input: readonly Json[],
  { isStored, issued }: { readonly issued: ReadonlyMap<string, Issued>; readonly isStored: boolean },
): void {
  for (const [index, item] of input.entries()) {
    const { id, type } = item;
    const known = issued.get(String(id));
    if (type === "reasoning") checkSealed(item, known, isStored);
    if (HOSTED.has(String(type)) && known === undefined) notStored(id);
    const before = input[index - 1];
    if (typeof known?.before === "string" && before?.id !== known.before) {
      throw new Refused(
        `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${known.before}'.`,
        "input",
      );
    }
    if (type === "reasoning" && !isFollowed(known, input[index + 1])) {
      throw new Refused(
        `Item '${id}' of type 'reasoning' was provided without its required following item.`,
        "input",
      );
    }
  }
}

function notStored(id: unknown): never {
  throw new Refused(
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` ` +
      "set to true, or remove this item from your input.",
    "input",
    { status: 404 },
  );
}

function checkSealed(item: Json, known: Issued | undefined, isStored: boolean): void {
  if (typeof item.encrypted_content !== "string" || item.encrypted_content === "") {
    if (known === undefined || !isStored) notStored(item.id);
    return;
  }
  if (known === undefined || JSON.stringify(item) !== known.json) {
    throw new Refused(
      `The encrypted content for item ${item.id} could not be verified. Reason: Encrypted content could not be ` +
        "decrypted or parsed.",
      null,
      { code: "invalid_encrypted_content" },
    );
  }
}

/** Whether what followed the reasoning in its answer follows it again: by its id where it has one. */
function isFollowed(known: Issued | undefined, next: Json | undefined): boolean {
  if (next === undefined || known?.next === null) return false;
  const isOutput = next.role === "assistant" || next.type === "function_call" || next.type === "reasoning" ||
    HOSTED.has(String(next.type));
  return isOutput && (next.id === undefined || next.id === known?.next);
}
