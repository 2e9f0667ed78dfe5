/**
 * What the service tells of its work: one entry for each request and for the begin and end of each turn.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { aFunction, oneOf, optionsOf, requireOptions } from "../core/options.ts";
import type { TurnEvent } from "../loop/events.ts";
import { isFault, isStoreFault } from "../loop/store_fault.ts";
import type { Clock, ModelFallback, SessionKey } from "../ports.ts";

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

const rules = optionsOf<LineLogOptions>({
  level: oneOf(...ORDER),
  format: oneOf("json", "text"),
  write: aFunction,
  now: aFunction,
});

/**
 * Makes a log of lines.
 *
 * @param options Least level, format, and where lines go.
 * @throws TypeError where an option is unknown or of another kind.
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
  requireOptions("make the log", options, rules);
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

/** What {@link turnTeller} needs to know of a turn. */
export interface TellOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly key: SessionKey;
  readonly turn: string;
  readonly request?: string;
  /** Whether texts are told, too. */
  readonly hasContent: boolean;
  readonly input?: unknown;
  /** Whether another process has left the turn, and this one goes on with it. */
  readonly isTakenOver?: boolean;
}

/** Tells of one turn. */
export interface TurnTeller {
  /** Shown each event: tells of the turn's begin, its calls, its errors and its end. */
  readonly tell: (event: TurnEvent) => void;
  /** Shown each error before the event that clients get of it: tells what that leaves out. */
  readonly onError: (error: unknown) => void;
  /** Shown each model that could not answer: tells which one is asked instead, and why. */
  readonly onFallback: (fallback: ModelFallback) => void;
}

/** Where and why a model has failed, by the names of the log; what its provider says may repeat what a user said. */
function failureFacts({ fields }: SelvageError, hasContent: boolean): Readonly<Record<string, unknown>> {
  const { origin, reason, status, upstream } = fields;
  return { origin, status, cause: reason, ...(hasContent ? { upstream } : {}) };
}

/** Makes what tells of a turn. */
export function turnTeller(
  { log, clock, key: { tenant, user, session }, turn, request, hasContent, input, isTakenOver = false }:
    TellOptions,
): TurnTeller {
  const begun = clock.now();
  let text = "";
  let isToTell = isTakenOver;
  /** What is known of the error whose event is to come. */
  let failure: Readonly<Record<string, unknown>> = {};

  /** What is told of an event; null for nothing, as of nearly all of them. */
  function factsOf(event: TurnEvent): Partial<LogEntry> & Pick<LogEntry, "level"> | null {
    switch (event.type) {
      case "turn.started": {
        const { agent, model } = event;
        return { level: "info", agent, model, ...(hasContent ? { input } : {}) };
      }
      case "text.delta":
        if (hasContent) text += event.text;
        return null;
      case "tool.call":
        return hasContent ? { level: "info", name: event.name, input: event.input } : null;
      case "tool.result": {
        const { step, ref, name, status, ms, output } = event;
        const facts = { name, status, ms, ...(hasContent ? { output } : {}) };
        // What a tool throws is shown to the model, and ends nothing: whoever runs the service learns of it here.
        if (status === "error") return { level: "info", event: "tool.failed", step, ref, ...facts };
        return { level: hasContent ? "info" : "debug", ...facts };
      }
      case "compaction": {
        const { phase, reason, method } = event;
        return { level: "debug", phase, reason, method };
      }
      case "turn.paused":
        return { level: "info", reason: event.reason, ms: clock.now() - begun };
      case "error":
        return { level: "warn", event: "turn.error", code: event.code, ...failure };
      case "turn.finished": {
        const { reason, model, steps, usage } = event;
        const ms = clock.now() - begun;
        return { level: "info", reason, model, steps, usage, ms, ...(hasContent ? { text } : {}) };
      }
      default:
        return null;
    }
  }

  const of = { request, tenant, user, session, turn };
  return {
    tell(event) {
      if (isToTell) {
        isToTell = false;
        const step = "step" in event ? { step: event.step } : {};
        log({ level: "warn", event: "turn.taken_over", ...of, ...step });
      }
      const facts = factsOf(event);
      if (facts !== null) log({ event: event.type, ...of, ...facts });
    },
    onError(error) {
      const isOurs = error instanceof SelvageError;
      failure = isOurs ? failureFacts(error, hasContent) : {};
      if (isFault(error)) log({ level: "error", event: "fault", ...of, stack: stackOf(error) });
    },
    onFallback({ from, to, error }) {
      const { code } = error;
      log({
        level: "warn",
        event: "model.fallback",
        ...of,
        from,
        to,
        code,
        ...failureFacts(error, hasContent),
      });
    },
  };
}

/** A fault of the service, as its log has it. */
export function stackOf(fault: unknown): string {
  if (isStoreFault(fault)) return `${fault.stack}\ncaused by: ${stackOf(fault.cause)}`;
  return fault instanceof Error ? fault.stack ?? fault.message : String(fault);
}

/** Makes what is told of a turn that its process had left, and that was closed rather than gone on with. */
export function closedTeller(
  log: Log | undefined,
  { tenant, user, session }: SessionKey,
): (turn: string) => void {
  return (turn) => log?.({ level: "warn", event: "turn.closed", tenant, user, session, turn });
}
