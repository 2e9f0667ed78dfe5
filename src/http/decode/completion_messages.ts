/**
 * Messages of Chat Completions in the canonical form.
 *
 * @module
 */
import * as z from "zod";
import { fileOf } from "../../core/files.ts";
import type { AssistantMessage, FilePart, Message, TextPart, ToolResultPart } from "../../core/message.ts";
import { parseInput } from "../../formats/call_input.ts";
import { FILE_CONTENT, fileLink } from "./files.ts";

const text = z.object({ type: z.literal("text"), text: z.string() });
const texts = z.union([z.string(), z.array(text)], { error: 'wanted text, or parts { type: "text", text }' });

const image = z.object({ type: z.literal("image_url"), image_url: z.object({ url: fileLink }) });
const file = z.object({
  type: z.literal("file"),
  file: z.object({
    filename: z.string().max(500).nullish(),
    file_data: z.string({ error: "wanted a data URL: files are kept nowhere here, and have no ids" })
      .regex(FILE_CONTENT, "wanted a data URL in base64"),
  }),
});
const audio = z.object({
  type: z.literal("input_audio"),
  input_audio: z.object({
    data: z.string().regex(/^[A-Za-z0-9+/_=-]+$/, "wanted base64"),
    format: z.enum(["wav", "mp3"]),
  }),
});

const userContent = z.union([z.string(), z.array(z.discriminatedUnion("type", [text, image, file, audio]))], {
  error: "wanted text, or a list of parts: text, image_url, file, input_audio",
});

const refusal = z.object({ type: z.literal("refusal"), refusal: z.string() });

const call = z.object({
  id: z.string().max(200),
  type: z.literal("function").nullish(),
  function: z.object({ name: z.string().max(200), arguments: z.string() }),
});

/** One message of a request. */
export const message = z.discriminatedUnion("role", [
  z.object({ role: z.enum(["system", "developer"]), content: texts }),
  z.object({ role: z.literal("user"), content: userContent }),
  z.object({
    role: z.literal("assistant"),
    content: z.union([z.string(), z.array(z.discriminatedUnion("type", [text, refusal]))], {
      error: "wanted text, or a list of parts: text, refusal",
    }).nullish(),
    refusal: z.string().nullish(),
    tool_calls: z.array(call).max(1_000).nullish(),
    function_call: z.null({ error: "wanted nothing: use tool_calls" }).optional(),
  }),
  z.object({ role: z.literal("tool"), tool_call_id: z.string().max(200), content: texts }),
], { error: "wanted a message with a role of system, developer, user, assistant or tool" });

type Wire = z.output<typeof message>;
type Said<Role> = Extract<Wire, { role: Role }>;

/** The tool of a result whose call is not there: what becomes of it is up to the repair of the history. */
const UNKNOWN = "unknown";

/** Makes canonical messages. Results of one round are one message, and name the tool of their call. */
export function canonicalMessages(wire: readonly Wire[]): readonly Message[] {
  const messages: Message[] = [];
  const names = new Map<string, string>();
  let round: ToolResultPart[] = [];
  for (const said of wire) {
    switch (said.role) {
      case "tool":
        if (messages.at(-1)?.role !== "tool") messages.push({ role: "tool", content: round = [] });
        round.push(resultOf(said, names.get(said.tool_call_id) ?? UNKNOWN));
        break;
      case "assistant":
        for (const { id, function: { name } } of said.tool_calls ?? []) names.set(id, name);
        messages.push({ role: "assistant", content: answerOf(said) });
        break;
      case "user":
        messages.push({ role: "user", content: userContentOf(said) });
        break;
      default:
        messages.push({ role: "system", content: joinTexts(said.content) });
    }
  }
  return messages;
}

function joinTexts(content: string | readonly { readonly text: string }[]): string {
  return typeof content === "string" ? content : content.map((part) => part.text).join("");
}

function resultOf({ content, tool_call_id: toolCallId }: Said<"tool">, toolName: string): ToolResultPart {
  const output = { type: "text" as const, value: joinTexts(content) };
  return { type: "tool-result", toolCallId, toolName, output };
}

function answerOf({ content, refusal: refused, tool_calls: calls }: Said<"assistant">): AssistantMessage[
  "content"
] {
  const said = typeof content === "string"
    ? content
    : (content ?? []).map((part) => part.type === "text" ? part.text : part.refusal).join("");
  const whole = said === "" ? refused ?? "" : said;
  if (calls === null || calls === undefined || calls.length === 0) return whole;
  return [
    ...(whole === "" ? [] : [{ type: "text" as const, text: whole }]),
    ...calls.map(({ id, function: { name, arguments: args } }) => ({
      type: "tool-call" as const,
      toolCallId: id,
      toolName: name,
      input: parseInput(args),
    })),
  ];
}

function userContentOf({ content }: Said<"user">): string | readonly (TextPart | FilePart)[] {
  if (typeof content === "string") return content;
  return content.map((part) => {
    switch (part.type) {
      case "text":
        return { type: "text", text: part.text };
      case "image_url":
        return fileOf(part.image_url.url, "image/*");
      case "file": {
        const { file_data: data, filename } = part.file;
        return {
          ...fileOf(data, "application/octet-stream"),
          ...(typeof filename === "string" ? { filename } : {}),
        };
      }
      case "input_audio":
        return {
          type: "file",
          mediaType: part.input_audio.format === "mp3" ? "audio/mpeg" : "audio/wav",
          data: part.input_audio.data,
        };
    }
  });
}
