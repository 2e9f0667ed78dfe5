/**
 * The events of a turn as one connection brings them.
 *
 * @module
 */
import type { TurnEvent } from "../loop/events.ts";
import { type ReadOptions, readText } from "./body.ts";
import { ClientError } from "./error.ts";
import { SseParser } from "./sse.ts";

/**
 * Reads the events of a response.
 *
 * @param response What is to be a stream of events.
 * @param options How its body is read, and the id of the last event that was seen: those up to it are left out.
 * @throws ClientError `bad_answer` for what is no stream of events; else as `readText()`.
 */
export async function* readEvents(
  response: Response,
  { after, ...reading }: ReadOptions & { readonly after: string | null },
): AsyncGenerator<TurnEvent, void> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream")) {
    await response.body?.cancel();
    throw new ClientError("bad_answer", `Cannot read the turn: found ${type || "no type"}, wanted a stream`, {
      status: response.status,
    });
  }
  const parser = new SseParser();
  let last = after;
  for await (const text of readText(response, reading)) {
    for (const { id, event, data } of parser.push(text)) {
      if (!isAfter(id, last)) continue;
      if (id !== "") last = id;
      yield { ...bodyOf(data), type: event, id } as TurnEvent;
    }
  }
}

/**
 * An error of no turn that passes is a refusal, told by a stream that was there already: a service that goes down tells
 * it to those that wait for their session.
 *
 * @throws ClientError with the status that a refusal would have had.
 */
export function requireBegun(event: TurnEvent): void {
  if (event.type !== "error" || event.id !== "" || !event.retryable) return;
  throw new ClientError(event.code, event.message, { status: 503, fields: { retryable: true } });
}

/** Whether an event comes behind another of its turn; numbers rise, with gaps. */
function isAfter(id: string, last: string | null): boolean {
  const [, turn, number] = id.match(/^(.*):(\d+)$/s) ?? [];
  // What is told of a turn that could not begin has no number.
  if (turn === undefined) return true;
  const [, lastTurn, seen] = last?.match(/^(.*):(\d+)$/s) ?? [];
  return turn !== lastTurn || Number(number) > Number(seen);
}

function bodyOf(data: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(data);
    if (typeof body === "object" && body !== null) return body as Record<string, unknown>;
  } catch {
    // Told below.
  }
  throw new ClientError(
    "bad_answer",
    `Cannot read the turn: found the event ${JSON.stringify(data.slice(0, 80))}, wanted a JSON object`,
  );
}
