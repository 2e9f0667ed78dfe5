/**
 * Arguments of a call from the text that a model has written. What is no JSON object is kept as it was, under a name
 * by which the loop knows it: such a call is answered with an error that the model can read, and never run.
 *
 * @module
 */
import { isObject, type JsonObject } from "./format.ts";

/** Arguments from their text: an object, whatever a model has made. */
export function parseInput(text: string): JsonObject {
  if (text.trim() === "") return {};
  try {
    const input: unknown = JSON.parse(text);
    return isObject(input) ? input : { unparsed_arguments: text };
  } catch {
    return { unparsed_arguments: text };
  }
}

/** Whether arguments were no JSON object. */
export function isUnparsed(input: unknown): input is { readonly unparsed_arguments: unknown } {
  return isObject(input) && Object.keys(input).join() === "unparsed_arguments";
}

/** Arguments as text; those that were no JSON object, as the model wrote them. */
export function inputText(input: unknown): string {
  const text = isUnparsed(input) ? input.unparsed_arguments : undefined;
  return typeof text === "string" ? text : JSON.stringify(input) ?? "{}";
}
