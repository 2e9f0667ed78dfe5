/** Frames that begin with the name of their event, as Messages and Responses have them. */
import type { Json } from "./wire_json.ts";

/** An event in its frame, the blank line included. */
export function event(data: Json): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
