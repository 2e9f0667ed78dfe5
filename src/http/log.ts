/**
 * What the service tells of its work: one entry for each request and for the begin and end of each turn.
 *
 * @module
 */
import type { TurnEvent } from "../loop/events.ts";
import type { Clock, SessionKey } from "../ports.ts";

/** How much an entry matters. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** One entry. Keys and headers are never in it, what somebody said only where that was asked for. */
export interface LogEntry {
  /** How much it matters. */
  readonly level: LogLevel;
  /** What has happened, for example `request`, `turn.started`, `turn.finished`. */
  readonly event: string;
  /** Further facts, by name. */
  readonly [fact: string]: unknown;
}

/** Takes entries. */
export type Log = (entry: LogEntry) => void;

const ORDER: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Settings of {@link lineLog}. */
export interface LineLogOptions {
  /** The least that is written. Default `info`. */
  readonly level?: LogLevel;
  /** `json`: one JSON object a line (default); `text`: for people. */
  readonly format?: "json" | "text";
  /** Writes a line. Default: standard error. */
  readonly write?: (line: string) => void;
  /** Default: the machine's clock. */
  readonly now?: () => number;
}

/**
 * Makes a log of lines.
 *
 * @param options Least level, format, and where lines go.
 *
 * @example
 * ```ts
 * import { lineLog } from "@selvage/selvage/http";
 *
 * const log = lineLog({ format: "text", write: console.log, now: () => 0 });
 * log({ level: "info", event: "request", path: "/healthz", status: 200 });
 * // 1970-01-01T00:00:00.000Z info request path=/healthz status=200
 * ```
 */
export function lineLog(options: LineLogOptions = {}): Log {
  const { level = "info", format = "json", write = console.error, now = Date.now } = options;
  return (entry) => {
    if (ORDER.indexOf(entry.level) < ORDER.indexOf(level)) return;
    const { level: found, event, ...facts } = entry;
    const at = new Date(now()).toISOString();
    write(format === "json" ? JSON.stringify({ at, level: found, event, ...facts }) : textOf(at, entry));
  };
}

function textOf(at: string, { level, event, ...facts }: LogEntry): string {
  const shown = Object.entries(facts).filter(([, value]) => value !== undefined).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    // A line stays a line, and one fact does not look like two.
    return `${name}=${/^[^\s"=\p{C}]+$/u.test(text) ? text : JSON.stringify(text)}`;
  });
  return [at, level, event, ...shown].join(" ");
}

/** What {@link tellTurn} needs beside the events. */
export interface TellOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly key: SessionKey;
  readonly request?: string;
  /** Whether texts are told, too. */
  readonly hasContent: boolean;
  readonly input?: unknown;
}

/** Passes on the events of a turn, and tells of its begin, its errors and its end. */
export async function* tellTurn(
  events: AsyncGenerator<TurnEvent, void>,
  { log, clock, key: { tenant, user, session }, request, hasContent, input }: TellOptions,
): AsyncGenerator<TurnEvent, void> {
  const begun = clock.now();
  let text = "";
  for await (const event of events) {
    const turn = event.id.slice(0, event.id.lastIndexOf(":"));
    const facts = { request, tenant, user, session, turn };
    switch (event.type) {
      case "turn.started": {
        const { agent, model } = event;
        log({ level: "info", event: event.type, ...facts, agent, model, ...(hasContent ? { input } : {}) });
        break;
      }
      case "text.delta":
        if (hasContent) text += event.text;
        break;
      case "tool.call":
        if (hasContent) {
          log({ level: "info", event: event.type, ...facts, name: event.name, input: event.input });
        }
        break;
      case "tool.result": {
        const { name, status, ms } = event;
        const content = hasContent ? { output: event.output } : {};
        log({
          level: hasContent ? "info" : "debug",
          event: event.type,
          ...facts,
          name,
          status,
          ms,
          ...content,
        });
        break;
      }
      case "compaction": {
        const { phase, reason, method } = event;
        log({ level: "debug", event: event.type, ...facts, phase, reason, method });
        break;
      }
      case "turn.paused":
        log({ level: "info", event: event.type, ...facts, reason: event.reason, ms: clock.now() - begun });
        break;
      case "error":
        log({ level: "warn", event: "turn.error", ...facts, code: event.code });
        break;
      case "turn.finished": {
        const { reason, steps, usage } = event;
        const ms = clock.now() - begun;
        log({
          level: "info",
          event: event.type,
          ...facts,
          reason,
          steps,
          usage,
          ms,
          ...(hasContent ? { text } : {}),
        });
        break;
      }
    }
    yield event;
  }
}
