/** Frames of the Responses protocol, for tests that write a stream by hand. */
import { event } from "./event_frames.ts";
import type { Json } from "./wire_json.ts";

/** A piece of text of the first item. */
export function text(
  delta: string,
  place: Json = { item_id: "msg_1", output_index: 0, content_index: 0 },
): string {
  return event({ type: "response.output_text.delta", ...place, delta });
}

/** The start of an item. */
export function added(output_index: unknown, item: Json): string {
  return event({ type: "response.output_item.added", output_index, item });
}

/** The end of an item. */
export function closed(output_index: unknown, item: Json): string {
  return event({ type: "response.output_item.done", output_index, item });
}

/** A piece of arguments. */
export function input(place: Json, delta: string): string {
  return event({ type: "response.function_call_arguments.delta", ...place, delta });
}

/** A call as it is begun. */
export function call(id: string, more: Json = {}): Json {
  return { id: `fc_${id}`, type: "function_call", call_id: id, name: "get", arguments: "", ...more };
}

/** The event that ends a response. */
export function ending(response: Json = {}): string {
  const status = response.status ?? "completed";
  return event({ type: `response.${status}`, response: { status, output: [], ...response } });
}
