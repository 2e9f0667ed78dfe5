/**
 * What requests about turns may say.
 *
 * @module
 */
import * as z from "zod";
import { TOOL_NAME, TOOL_NAME_RULE } from "../compaction/render.ts";
import { isDeeperThan, MAX_DEPTH } from "../loop/depth.ts";
import { mediaType } from "./decode/files.ts";
import { sessionId } from "./session_key.ts";

/** Client tools of one request, and characters of the JSON of all their schemas together. */
const MAX_CLIENT_TOOLS = 64;
const MAX_SCHEMAS = 64 * 1024;

const textPart = z.strictObject({ type: z.literal("text"), text: z.string() });
const filePart = z.strictObject({
  type: z.literal("file"),
  mediaType,
  data: z.string().regex(
    /^(?:https?:\/\/\S+|data:[^\s]+|[A-Za-z0-9+/_-]+={0,2})$/,
    "wanted base64 or an http(s) URL",
  ),
  filename: z.string().max(500).exactOptional(),
});

/** What a user says. */
export const inputBody = z.union([
  z.string(),
  z.array(z.discriminatedUnion("type", [textPart, filePart])).min(1).max(100),
], {
  error: 'wanted text, or 1 to 100 parts { type: "text", text } or { type: "file", mediaType, data }',
});

/** Tools that the client brings along. */
export const clientTools = z.array(z.strictObject({
  name: z.string().regex(TOOL_NAME, `wanted ${TOOL_NAME_RULE}`),
  description: z.string().max(4_096),
  inputSchema: z.looseObject({ type: z.literal("object") }),
})).max(MAX_CLIENT_TOOLS).refine(
  (tools) => tools.every(({ inputSchema }) => !isDeeperThan(inputSchema, MAX_DEPTH)),
  // What comes next goes down with each level.
  { error: `wanted schemas nested at most ${MAX_DEPTH} levels deep`, abort: true },
).refine(
  (tools) => JSON.stringify(tools).length <= MAX_SCHEMAS,
  `wanted at most ${MAX_SCHEMAS} characters of JSON`,
);

/** `POST /v1/turns`. */
export const turnBody = z.strictObject({
  session: sessionId.exactOptional(),
  input: inputBody,
  agent: z.string().max(128).exactOptional(),
  stream: z.boolean().exactOptional(),
  pin: z.boolean().exactOptional(),
  compaction: z.strictObject({
    compactAt: z.number().exactOptional(),
    stopAt: z.number().exactOptional(),
    compactTo: z.number().exactOptional(),
    policy: z.enum(["full", "backward"]).exactOptional(),
  }).exactOptional(),
  onDisconnect: z.enum(["abort", "continue"]).exactOptional(),
  clientTools: clientTools.exactOptional(),
  onPaused: z.enum(["reject", "abort"]).exactOptional(),
  whenBusy: z.enum(["reject", "enqueue"]).exactOptional(),
});

/** `POST /v1/turns/:id/messages`. */
export const messageBody = z.strictObject({ input: inputBody });

const ref = z.string().max(64);
/** Any JSON. A schema of JSON itself would go down with each level; answers that are too deep are refused as such. */
const json = z.unknown();
const result = z.union([
  z.strictObject({ ref, output: json }),
  z.strictObject({ ref, error: json }),
], { error: "wanted { ref, output } or { ref, error }" });

/** `POST /v1/turns/:id/results`. */
export const answerBody = z.strictObject({
  results: z.array(result).max(1_000).exactOptional(),
  approvals: z.array(z.strictObject({
    ref,
    approved: z.boolean(),
    reason: z.string().max(4_096).exactOptional(),
  })).max(1_000).exactOptional(),
  input: inputBody.exactOptional(),
  stream: z.boolean().exactOptional(),
});
