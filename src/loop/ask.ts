/**
 * One call of the model: its deltas as events, and its whole answer in a form that the log can hold.
 *
 * @module
 */
import { isOwnCall } from "../compaction/render.ts";
import { SelvageError } from "../core/errors.ts";
import type { AssistantMessage } from "../core/message.ts";
import { isObject } from "../formats/format.ts";
import type { Model, ModelEvent, ModelFallback, ModelRequest } from "../ports.ts";
import { billOf } from "../tokens/usage.ts";
import { abortable } from "./abortable.ts";
import { isDeeperThan, MAX_DEPTH } from "./depth.ts";
import type { TurnEventBody } from "./events.ts";

/** The answer of a model. */
export type Answer = Extract<ModelEvent, { type: "finish" }>;

/** What {@link askModel} needs beside model and request. */
export interface AskOptions {
  readonly step: number;
  /** Number that the answer's entry will have. */
  readonly seq: number;
  /** Ends the call at once, whatever the model does. */
  readonly signal: AbortSignal;
  /** Called before each delta. */
  readonly onDelta: () => void;
  /** Tells whoever follows the turn. */
  readonly tell: (event: TurnEventBody) => Promise<void>;
  /** Called for each model that is passed over. */
  readonly onFallback: (fallback: ModelFallback) => void;
}

/**
 * Streams one answer.
 *
 * @param call The model and what it is asked.
 * @param options Place of the answer, and the signal.
 * @returns The whole answer, once the model has marked its end.
 * @throws SelvageError `model_stream_cut` when the stream ends before that, `model_bad_response` when the answer
 *   is none; whatever the model throws; the signal's reason.
 */
export async function askModel(
  { model, request }: { readonly model: Model; readonly request: ModelRequest },
  { step, seq, signal, onDelta, onFallback, tell }: AskOptions,
): Promise<Answer> {
  for await (const event of abortable(model.stream(request, signal), signal)) {
    switch (event.type) {
      case "finish": {
        const answer = answerOf(event);
        for (const part of wholeParts(answer, step)) await tell(part);
        return answer;
      }
      case "tool.input.delta": {
        const { type, call, name, delta } = event;
        onDelta();
        await tell({ type, step, call, ref: `e${seq}.${call}`, name, delta });
        break;
      }
      case "text.delta":
      case "reasoning.delta":
        onDelta();
        await tell({ type: event.type, step, text: event.text });
        break;
      case "part.end": {
        const { type, kind, providerOptions } = event;
        onDelta();
        await tell({
          type,
          step,
          kind,
          ...(providerOptions === undefined ? {} : { metadata: providerOptions }),
        });
        break;
      }
      case "tool.input.end":
        onDelta();
        await tell({ type: event.type, step, call: event.call, ref: `e${seq}.${event.call}` });
        break;
      case "fallback":
        onFallback(event.fallback);
        break;
      default:
        event satisfies never;
    }
  }
  signal.throwIfAborted();
  throw new SelvageError(
    "model_stream_cut",
    "Cannot finish the step: the model's stream ended in the middle",
    { fields: { retryable: true } },
  );
}

/** Parts that are not streamed: files, and what the provider has run itself. */
function* wholeParts({ message: { content } }: Answer, step: number): Iterable<TurnEventBody> {
  if (typeof content === "string") return;
  for (const part of content) {
    const isStreamed = part.type === "text" || part.type === "reasoning" || isOwnCall(part);
    if (!isStreamed) yield { type: "part", step, part };
  }
}

/** The answer as JSON has it: what is shown now is what a restart will show, and nobody else can change it. */
function answerOf({ type, reason, message, usage, model, tokenFactor, dialect }: Answer): Answer {
  const own = copyOf(message);
  const bill = billOf(usage);
  if (!isAssistant(own)) {
    throw new SelvageError(
      "model_bad_response",
      "Cannot take the model's answer: found no message of the assistant with parts of known kinds",
      { fields: { retryable: true } },
    );
  }
  return {
    type,
    reason,
    message: withObjects(own),
    ...(bill === undefined ? {} : { usage: bill }),
    ...(typeof model === "string" && model !== "" ? { model } : {}),
    ...(isFactor(tokenFactor) ? { tokenFactor } : {}),
    ...(typeof dialect === "string" ? { dialect } : {}),
  };
}

/** The message with arguments that are objects, as providers take them back; what else a model makes stays as text. */
function withObjects(message: AssistantMessage): AssistantMessage {
  if (typeof message.content === "string") return message;
  const content = message.content.map((part) => {
    if (part.type !== "tool-call") return part;
    if (isDeeperThan(part.input, MAX_DEPTH)) {
      return { ...part, input: { unparsed_arguments: `nested more than ${MAX_DEPTH} levels deep` } };
    }
    return isObject(part.input)
      ? part
      : { ...part, input: { unparsed_arguments: JSON.stringify(part.input) } };
  });
  return { ...message, content };
}

function copyOf(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value) ?? "null");
  } catch {
    // Not JSON, and so not a message: the caller says that.
    return null;
  }
}

function isAssistant(value: unknown): value is AssistantMessage {
  if (typeof value !== "object" || value === null || !("role" in value) || value.role !== "assistant") {
    return false;
  }
  const content = "content" in value ? value.content : undefined;
  return typeof content === "string" || (Array.isArray(content) && content.every(isPart));
}

function isPart(part: Record<string, unknown> | null): boolean {
  switch (part?.["type"]) {
    case "text":
    case "reasoning":
      return typeof part["text"] === "string";
    case "file":
      return typeof part["data"] === "string" && typeof part["mediaType"] === "string";
    case "tool-call":
      return typeof part["toolCallId"] === "string" && typeof part["toolName"] === "string" &&
        "input" in part;
    case "tool-result":
      return typeof part["toolCallId"] === "string" && typeof part["output"] === "object";
    default:
      return false;
  }
}

function isFactor(factor: number | undefined): factor is number {
  return factor !== undefined && factor > 0 && factor < Infinity;
}
