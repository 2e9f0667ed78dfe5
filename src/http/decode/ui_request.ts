/**
 * What chat clients of the AI SDK send: messages of their UI, and what becomes of them here.
 *
 * @module
 */
import * as z from "zod";
import { wireId } from "../../compaction/context.ts";
import type { FilePart, Message, ProviderOptions, TextPart, ToolOutput } from "../../core/message.ts";
import { isObject } from "../../formats/format.ts";
import type { Approval, CallAnswer } from "../../loop/agent.ts";
import type { ClientNote, PausedCall } from "../../ports.ts";
import { sessionId } from "../session_key.ts";
import type { UiPart } from "../encode/ui_parts.ts";
import { mediaType } from "./files.ts";

const id = z.string().min(1).max(256);

const filePart = z.looseObject({
  type: z.literal("file"),
  mediaType,
  url: z.string().regex(/^(?:https?:\/\/\S+|data:\S+)$/, "wanted an http(s) or data URL"),
  filename: z.string().max(500).optional(),
});

const textPart = z.looseObject({ type: z.literal("text"), text: z.string() });

/** Parts of other kinds come back as they are: what a client keeps is its own affair. */
const anyPart = z.looseObject({
  type: z.string().min(1).max(200).refine(
    (type) => type !== "text" && type !== "file",
    "wanted a text with its text, or a file with its url",
  ),
});

const message = z.looseObject({
  id,
  role: z.enum(["system", "user", "assistant"]),
  parts: z.array(z.union([textPart, filePart, anyPart])).max(20_000),
  metadata: z.unknown().optional(),
});

/** A request of a chat client: its whole history, or the last message alone. Other fields are its own affair. */
export const chatBody = z.looseObject({
  id: sessionId,
  messages: z.array(message).max(20_000).optional(),
  message: message.optional(),
  trigger: z.enum(["submit-message", "regenerate-message"]).optional(),
  messageId: id.nullish(),
  agent: z.string().max(128).optional(),
  onDisconnect: z.enum(["abort", "continue"]).optional(),
  onPaused: z.enum(["reject", "abort"]).optional(),
});

/** A message as it was sent. */
export type SentMessage = z.infer<typeof message>;

/** What a message of the user says to the model. */
export function inputOf({ parts }: SentMessage): string | (TextPart | FilePart)[] {
  const content = parts.flatMap((part): (TextPart | FilePart)[] => {
    if (part.type === "text") return [{ type: "text", text: String(part["text"]) }];
    return part.type === "file" ? [filePartOf(part)] : [];
  });
  const [first] = content;
  return content.length === 1 && first?.type === "text" ? first.text : content;
}

function filePartOf({ mediaType, url, filename }: UiPart): FilePart {
  return {
    type: "file",
    mediaType: String(mediaType),
    data: String(url),
    ...(typeof filename === "string" ? { filename } : {}),
  };
}

/** What of a message the model does not see, and its client wants back. */
export function noteOf({ id, metadata, parts }: SentMessage): ClientNote {
  return {
    id,
    ...(metadata === undefined ? {} : { metadata }),
    ...(parts.every(isPlain) ? {} : { parts }),
  };
}

/** Whether a part comes back whole from what the model sees of it. */
function isPlain(part: UiPart): boolean {
  const known = part.type === "text" ? ["type", "text"] : ["type", "mediaType", "url", "filename"];
  return (part.type === "text" || part.type === "file") &&
    Object.keys(part).every((key) => known.includes(key));
}

/** Name of the tool that a part is a call of; null for any other part. */
function toolOf({ type, toolName }: UiPart): string | null {
  if (type === "dynamic-tool") return typeof toolName === "string" ? toolName : "unknown";
  return type.startsWith("tool-") ? type.slice("tool-".length) : null;
}

/** Whether a message ends with calls: those that wait are in its last step. */
export function hasCalls(message: SentMessage): boolean {
  return (stepsOf(message).at(-1) ?? []).some((part) => toolOf(part) !== null);
}

/** What becomes of a call that the user has left unanswered. */
const GIVEN_UP = "the user has gone on without an answer to it";

/** What the parts of a message answer of the calls that wait. */
export function answersIn(
  { parts }: SentMessage,
  pending: readonly PausedCall[],
): { readonly results: readonly CallAnswer[]; readonly approvals: readonly Approval[] } {
  const results: CallAnswer[] = [];
  const approvals: Approval[] = [];
  for (const { ref } of pending) {
    const part: UiPart | undefined = parts.findLast((part) => part["toolCallId"] === wireId(ref));
    if (part === undefined) continue;
    const { state, output, errorText, approval } = part;
    if (state === "output-available") results.push({ ref, output: output ?? null });
    else if (state === "output-error") results.push({ ref, error: errorText ?? "The call failed" });
    else if (isObject(approval) && typeof approval["approved"] === "boolean") {
      const { approved, reason } = approval;
      approvals.push({ ref, approved, ...(typeof reason === "string" ? { reason } : {}) });
    }
  }
  return { results, approvals };
}

/** Answers to all calls that wait, where the user goes on without some: those are closed, and none of them is run. */
export function withGivenUp(
  { results, approvals }: {
    readonly results: readonly CallAnswer[];
    readonly approvals: readonly Approval[];
  },
  pending: readonly PausedCall[],
): { readonly results: readonly CallAnswer[]; readonly approvals: readonly Approval[] } {
  const known = new Set([...results, ...approvals].map(({ ref }) => ref));
  const left = pending.filter(({ ref }) => !known.has(ref));
  const of = (wanted: PausedCall["reason"]) => left.filter(({ reason }) => reason === wanted);
  return {
    results: [...results, ...of("tool").map(({ ref }) => ({ ref, error: GIVEN_UP }))],
    approvals: [
      ...approvals,
      ...of("approval").map(({ ref }) => ({ ref, approved: false, reason: GIVEN_UP })),
    ],
  };
}

/** A message of a model, and the index of the sent one that it comes of. */
export interface MadeMessage {
  readonly from: number;
  readonly message: Message;
}

/** Sent messages as those of a model: an answer becomes one message a step, and one with its results. */
export function modelMessages(sent: readonly SentMessage[]): readonly MadeMessage[] {
  return sent.flatMap((message, from): MadeMessage[] => {
    switch (message.role) {
      case "system":
        return [{ from, message: { role: "system", content: textOf(message) } }];
      case "user":
        return [{ from, message: { role: "user", content: inputOf(message) } }];
      case "assistant":
        return stepsOf(message).flatMap(stepMessages).map((message) => ({ from, message }));
      default:
        return message.role satisfies never;
    }
  });
}

function textOf({ parts }: SentMessage): string {
  return parts.map((part) => part.type === "text" ? String(part["text"]) : "").join("");
}

function stepsOf({ parts }: SentMessage): readonly (readonly UiPart[])[] {
  const steps: UiPart[][] = [[]];
  for (const part of parts) {
    if (part.type === "step-start") steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps.filter((step) => step.length > 0);
}

type AssistantPart = Exclude<Extract<Message, { role: "assistant" }>["content"], string>[number];

function stepMessages(parts: readonly UiPart[]): readonly Message[] {
  const content: AssistantPart[] = [];
  const results: Extract<AssistantPart, { type: "tool-result" }>[] = [];
  for (const part of parts) {
    const { providerMetadata } = part;
    const options = isObject(providerMetadata)
      ? { providerOptions: providerMetadata as ProviderOptions }
      : {};
    const toolName = toolOf(part);
    if (part.type === "text") content.push({ type: "text", text: String(part["text"]), ...options });
    else if (part.type === "reasoning") {
      content.push({ type: "reasoning", text: String(part["text"] ?? ""), ...options });
    } else if (part.type === "file") {
      content.push(filePartOf(part));
    } else if (toolName !== null && part["state"] !== "input-streaming") {
      const toolCallId = String(part["toolCallId"]);
      const isProviders = part["providerExecuted"] === true;
      const input = part["input"] ?? part["rawInput"] ?? {};
      content.push({
        type: "tool-call",
        toolCallId,
        toolName,
        input,
        ...(isProviders ? { providerExecuted: true } : {}),
      });
      const output = outputOf(part);
      if (output === null) continue;
      (isProviders ? content : results).push({ type: "tool-result", toolCallId, toolName, output });
    }
  }
  if (content.length === 0) return [];
  const answer: Message = { role: "assistant", content };
  return results.length === 0 ? [answer] : [answer, { role: "tool", content: results }];
}

function outputOf({ state, output, errorText, approval }: UiPart): ToolOutput | null {
  switch (state) {
    case "output-available":
      return typeof output === "string"
        ? { type: "text", value: output }
        : { type: "json", value: output ?? null };
    case "output-error":
      return { type: "error-text", value: String(errorText ?? "The call failed") };
    case "output-denied": {
      const reason = isObject(approval) ? approval["reason"] : undefined;
      return { type: "execution-denied", ...(typeof reason === "string" ? { reason } : {}) };
    }
    default:
      return null;
  }
}
