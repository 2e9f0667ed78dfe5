/** A client of one turn: reads frames as bytes, loses its stream, comes again, and remembers all it was told. */
import type { Server } from "./_pool.ts";

/** One event as it came. */
export interface Seen {
  readonly id: string;
  readonly event: string;
  // deno-lint-ignore no-explicit-any -- the shape of the data is what the checks look at
  readonly data: any;
  /** The whole frame. */
  readonly raw: string;
}

/** How a stream ended. */
export type StreamEnd = "finished" | "ended" | "broken";

/** One entry of `/messages`. */
export interface LoggedEntry {
  readonly ref: string;
  readonly seq: number;
  readonly turn: string;
  readonly kind: "user" | "assistant" | "result";
  readonly step?: number;
  readonly call?: string;
  readonly status?: string;
  readonly message?: unknown;
  readonly output?: { readonly type: string; readonly value: unknown };
  readonly calls?: readonly { readonly ref: string; readonly input: { readonly key?: string } }[];
}

/** Number of an event in its turn. */
export function numberOf(id: string): number {
  return Number(id.slice(id.lastIndexOf(":") + 1));
}

function parseFrame(raw: string): Seen | null {
  const [, id, event, data] = raw.match(/^id: (.*)\nevent: (.*)\ndata: (.*)$/s) ?? [];
  if (id === undefined || event === undefined || data === undefined) return null;
  return { id, event, data: JSON.parse(data), raw };
}

/**
 * Reads a stream of events to its end.
 *
 * @param response The stream.
 * @param onSeen Told of each event; false ends the reading.
 */
export async function readEvents(
  response: Response,
  onSeen: (seen: Seen) => boolean | void,
): Promise<StreamEnd> {
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error("The response has no body");
  const decoder = new TextDecoder();
  let text = "";
  let end: StreamEnd = "ended";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return end;
      text += decoder.decode(value, { stream: true });
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      for (const raw of parts) {
        const seen = parseFrame(raw);
        if (seen === null) continue;
        if (seen.event === "turn.finished") end = "finished";
        if (onSeen(seen) === false) return end;
      }
    }
  } catch {
    // The server has died, or the reading was cancelled.
    return end === "finished" ? end : "broken";
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Sends a request; null where the server died before it answered. */
export async function send(server: Server, path: string, init: RequestInit = {}): Promise<Response | null> {
  try {
    return await fetch(`${server.url}${path}`, init);
  } catch {
    return null;
  }
}

/** Sends a request and reads a JSON answer; null where the server died meanwhile. */
export async function sendJson(
  server: Server,
  path: string,
  init: RequestInit = {},
  // deno-lint-ignore no-explicit-any -- problems and documents alike
): Promise<{ readonly status: number; readonly body: any } | null> {
  const response = await send(server, path, init);
  try {
    return response === null ? null : { status: response.status, body: await response.json() };
  } catch {
    return null;
  }
}

/** The log of a session; empty where there is no session yet, null where the server died. */
export async function readLog(server: Server, session: string): Promise<readonly LoggedEntry[] | null> {
  const entries: LoggedEntry[] = [];
  for (let from: number | null = 0; from !== null;) {
    const page = await sendJson(server, `/v1/sessions/${session}/messages?from=${from}`);
    if (page === null) return null;
    if (page.status === 404) return [];
    if (page.status !== 200) throw new Error(`Cannot read ${session}: ${JSON.stringify(page.body)}`);
    entries.push(...page.body.entries);
    from = page.body.next;
  }
  return entries;
}

/** All events of a turn as the store tells them; null where the server died or has none. */
export async function readWhole(server: Server, turn: string): Promise<readonly Seen[] | null> {
  const response = await send(server, `/v1/turns/${turn}/events`);
  if (response?.status !== 200) {
    await response?.body?.cancel();
    return null;
  }
  const seen: Seen[] = [];
  return await readEvents(response, (event) => void seen.push(event)) === "broken" ? null : seen;
}
