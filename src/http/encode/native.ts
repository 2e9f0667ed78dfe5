/**
 * The native protocol: every turn event as it is.
 *
 * @module
 */
import type { TurnEvent } from "../../loop/events.ts";

/** One event as an SSE frame: its id, where it has one, its type as the event name, the rest as JSON. */
export function encodeNative({ id, type, ...data }: TurnEvent): string {
  return `${id === "" ? "" : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A whole turn as one JSON document. */
export interface TurnDocument {
  readonly turn: string;
  readonly session: string;
  readonly agent: string;
  /** The model that gave the last answer; before there is one, the one that is asked first. */
  readonly model: string;
  /** Why it ended; `paused` where it waits for answers, `suspended` where it goes on elsewhere. */
  readonly reason: string;
  /** The calls that wait, where it is paused. */
  readonly pending?: readonly unknown[];
  /** Text of the last step. */
  readonly text: string;
  readonly steps: number;
  readonly usage: unknown;
  readonly calls: readonly unknown[];
  readonly compactions: readonly unknown[];
  /** The last reading of the meter. */
  readonly context: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly retryable: boolean };
}

/** Which turn it is: what its first event tells is not told again to those who read on from a pause. */
export interface FoldedPlace {
  readonly turn: string;
  readonly session: string;
  readonly agent?: string;
  readonly model?: string;
}

/** Folds the events of a turn into one document. */
export async function foldTurn(
  events: AsyncIterable<TurnEvent>,
  { turn, session, agent = "", model = "" }: FoldedPlace = { turn: "", session: "" },
): Promise<TurnDocument> {
  let document: TurnDocument = {
    turn,
    session,
    agent,
    model,
    reason: "suspended",
    text: "",
    steps: 0,
    usage: null,
    calls: [],
    compactions: [],
    context: null,
  };
  const calls = new Map<string, Record<string, unknown>>();
  const compactions: unknown[] = [];
  for await (const { id: _, ...event } of events) {
    switch (event.type) {
      case "turn.started": {
        const { turn, session, agent, model } = event;
        document = { ...document, turn, session, agent, model };
        break;
      }
      case "step.started":
        document = { ...document, text: "" };
        break;
      case "text.delta":
        document = { ...document, text: document.text + event.text };
        break;
      case "tool.call": {
        const { ref, step, name, input } = event;
        calls.set(ref, { ref, step, name, input });
        break;
      }
      case "tool.result": {
        const { ref, step, name, status, output, shortened, ms } = event;
        // A call that waited was told before the pause.
        calls.set(ref, { ...calls.get(ref) ?? { ref, step, name }, status, output, shortened, ms });
        break;
      }
      case "context": {
        const { type: _, ...context } = event;
        document = { ...document, context };
        break;
      }
      case "compaction": {
        const { type: _, ...compaction } = event;
        compactions.push(compaction);
        break;
      }
      case "turn.paused": {
        const { pending, usage, steps, model = document.model } = event;
        document = { ...document, model, reason: "paused", pending, usage, steps };
        break;
      }
      case "turn.finished": {
        const { reason, usage, steps, model = document.model } = event;
        const { pending: _, ...rest } = document;
        document = { ...rest, model, reason, usage, steps };
        break;
      }
      case "error": {
        const { code, message, retryable } = event;
        document = { ...document, error: { code, message, retryable } };
        break;
      }
      case "reasoning.delta":
      case "tool.input.delta":
      case "user.message":
      case "tool.progress":
      case "tool.input.end":
      case "part.end":
      case "part":
        break;
      default:
        event satisfies never;
    }
  }
  return { ...document, calls: [...calls.values()], compactions };
}
