/**
 * What clients of AG-UI send: their messages, and what becomes of them here. All that stands between two messages of
 * the user is one turn, and so one message in the terms of `/api/chat`: the same rules decide where it goes on.
 *
 * @module
 */
import * as z from "zod";
import { wireId } from "../../compaction/context.ts";
import { SelvageError } from "../../core/errors.ts";
import { fileUrl } from "../../core/files.ts";
import type { FilePart, TextPart } from "../../core/message.ts";
import { parseInput } from "../../formats/call_input.ts";
import { isObject } from "../../formats/format.ts";
import type { Approval, CallAnswer } from "../../loop/agent.ts";
import type { PausedCall, ToolSchema } from "../../ports.ts";
import { aguiContent, partsOf, textOf } from "../agui_content.ts";
import { badBody, checkBody } from "../body.ts";
import type { UiPart } from "../encode/ui_parts.ts";
import { sessionId } from "../session_key.ts";
import { clientTools } from "../turn_bodies.ts";
import type { SentMessage } from "./ui_request.ts";

const id = z.string().min(1).max(256);

const message = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), id, content: z.string() }),
  z.looseObject({ role: z.literal("user"), id, content: aguiContent }),
  z.looseObject({
    role: z.literal("assistant"),
    id,
    content: z.string().nullish(),
    toolCalls: z.array(z.looseObject({
      id,
      function: z.looseObject({ name: z.string().min(1).max(256), arguments: z.string() }),
    })).max(10_000).nullish(),
  }),
  z.looseObject({
    role: z.literal("tool"),
    id,
    toolCallId: id,
    content: aguiContent,
    error: z.string().nullish(),
  }),
  z.looseObject({ role: z.literal("reasoning"), id, content: z.string() }),
  z.looseObject({ role: z.literal("activity"), id }),
]);

/** A run. Other fields are the client's own affair. */
export const aguiBody = z.looseObject({
  threadId: sessionId,
  runId: id,
  messages: z.array(message).max(20_000),
  tools: z.array(z.looseObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.looseObject({}).nullish(),
  })).nullish(),
  context: z.array(z.looseObject({ description: z.string(), value: z.string() })).max(1_000).nullish(),
  state: z.unknown().optional(),
  resume: z.array(z.looseObject({
    interruptId: z.string().max(1_000),
    status: z.enum(["resolved", "cancelled"]),
    payload: z.unknown().optional(),
  })).max(1_000).nullish(),
});

/** A run as it was asked for. */
export type AguiRun = z.infer<typeof aguiBody>;
type AguiMessage = z.infer<typeof message>;
type AguiResult = Extract<AguiMessage, { role: "tool" }>;

/** The tools of the frontend. */
export function frontendTools({ tools }: AguiRun): readonly ToolSchema[] {
  const made = (tools ?? []).map(({ name, description, parameters }) => ({
    name,
    description: description ?? "",
    inputSchema: { type: "object", ...parameters },
  }));
  return checkBody({ tools: made }, z.object({ tools: clientTools })).tools;
}

/** What is said to the model in front of everything else: system texts, then what the application tells of itself. */
export function instructionsOf({ messages, context }: AguiRun): string {
  const texts = messages.flatMap((message) =>
    message.role === "system" || message.role === "developer" ? [message.content] : []
  );
  const facts = (context ?? []).map(({ description, value }) => `- ${description}: ${value}`);
  if (facts.length > 0) texts.push(`Context from the application:\n${facts.join("\n")}`);
  return texts.filter((text) => text.trim() !== "").join("\n\n");
}

function isResult(message: AguiMessage): message is AguiResult {
  return message.role === "tool";
}

/** The history as messages of a chat: each turn is one message of the assistant. */
export function chatMessages({ messages }: AguiRun): readonly SentMessage[] {
  // The last one first: the first one is taken from the end.
  const results = Map.groupBy(messages.filter(isResult).reverse(), ({ toolCallId }) => toolCallId);
  const chat: { id: string; role: "user" | "assistant"; parts: UiPart[] }[] = [];
  const answer = (id: string): UiPart[] => {
    const last = chat.at(-1);
    if (last?.role === "assistant") return last.parts;
    const parts: UiPart[] = [];
    chat.push({ id: turnOf(id), role: "assistant", parts });
    return parts;
  };
  for (const message of messages) {
    switch (message.role) {
      case "user":
        chat.push({ id: message.id, role: "user", parts: partsOf(message.content).map(uiPart) });
        break;
      case "reasoning":
        answer(message.id).push({ type: "step-start" }, { type: "reasoning", text: message.content });
        break;
      case "assistant": {
        const parts = answer(message.id);
        // What it thought before belongs to the same step.
        if (parts.at(-1)?.type !== "reasoning") parts.push({ type: "step-start" });
        if ((message.content ?? "") !== "") parts.push({ type: "text", text: message.content });
        for (const call of message.toolCalls ?? []) {
          parts.push(callPart(call, results.get(call.id)?.pop()));
        }
        break;
      }
      case "system":
      case "developer":
      case "tool":
      case "activity":
        break;
      default:
        message satisfies never;
    }
  }
  return chat;
}

/** The turn that a message of ours is of: ids of messages are `<turn>:<step>`, and more behind a dot. */
function turnOf(id: string): string {
  return id.match(/^(.+):\d+(?:\.\w+)?$/s)?.[1] ?? id;
}

function callPart(
  { id, function: { name, arguments: text } }: {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  },
  result: AguiResult | undefined,
): UiPart {
  const call = { type: "dynamic-tool", toolName: name, toolCallId: id, input: parseInput(text) };
  if (result === undefined) return { ...call, state: "input-available" };
  if (typeof result.error === "string") {
    return { ...call, state: "output-error", errorText: result.error || textOf(result.content) };
  }
  return { ...call, state: "output-available", output: textOf(result.content) };
}

function uiPart(part: TextPart | FilePart): UiPart {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "file", mediaType: part.mediaType, url: fileUrl(part) };
}

/** The id of an interrupt that asks whether a call may be run. */
export function interruptId(turn: string, ref: string): string {
  return `${turn}:${wireId(ref)}`;
}

/** The messages behind the last one of the assistant. */
function latestOf({ messages }: AguiRun): AguiRun["messages"] {
  return messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
}

/** Whether a run brings along anything that could answer a call. */
export function hasAnswers(run: AguiRun): boolean {
  return (run.resume ?? []).length > 0 || latestOf(run).some(({ role }) => role === "tool");
}

/**
 * What a run answers of the calls that wait: results of the frontend's tools, at the end of its messages, and what a
 * person has decided.
 *
 * @throws SelvageError `call_not_found` for an interrupt that does not wait, `bad_request` for an answer that is none.
 */
export function answersIn(
  run: AguiRun,
  { turn, pending }: { readonly turn: string; readonly pending: readonly PausedCall[] },
): { readonly results: readonly CallAnswer[]; readonly approvals: readonly Approval[] } {
  const last = latestOf(run);
  const results = pending.flatMap(({ ref, reason }): readonly CallAnswer[] => {
    // A call of a step that began anew has a number behind its id: see `AguiEncoder`.
    const isOf = (id: string): boolean => id.replace(/\.\d+$/, "") === wireId(ref);
    const found = last.findLast((message) => message.role === "tool" && isOf(message.toolCallId));
    if (reason !== "tool" || found?.role !== "tool") return [];
    const { content, error } = found;
    if (typeof error === "string") return [{ ref, error: error || textOf(content) }];
    return [{ ref, output: typeof content === "string" ? content : partsOf(content) }];
  });
  const approvals = (run.resume ?? []).map(({ interruptId: asked, status, payload }, at): Approval => {
    const call = pending.find(({ ref }) => interruptId(turn, ref) === asked);
    if (call === undefined) {
      throw new SelvageError(
        "call_not_found",
        `Cannot answer the interrupt ${JSON.stringify(asked.slice(0, 200))}: nothing waits for it`,
        { fields: { field: `resume.${at}.interruptId` } },
      );
    }
    return { ref: call.ref, ...decisionOf(status === "cancelled" ? false : payload, `resume.${at}.payload`) };
  });
  return { results, approvals };
}

function decisionOf(payload: unknown, field: string): Omit<Approval, "ref"> {
  if (typeof payload === "boolean") return { approved: payload };
  const { approved, reason } = isObject(payload) ? payload : {};
  if (typeof approved !== "boolean") {
    const found = payload === undefined ? "nothing" : JSON.stringify(payload).slice(0, 100);
    throw badBody(field, { found, wanted: "{ approved: true or false, reason? }" });
  }
  return { approved, ...(typeof reason === "string" ? { reason } : {}) };
}
