/** What the service is held against: `streamText` of the AI SDK in a Hono app, with the same tool. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { stepCountIs, streamText, tool } from "ai";
import { Hono } from "hono";
import * as z from "zod";
import { resultOf } from "../http/plan.ts";
import { serve } from "../http/serve.ts";

const [url = ""] = Deno.args;

const model = createOpenAICompatible({ name: "double", baseURL: url, includeUsage: true })("m");
const readFile = tool({
  description: "Reads a file",
  inputSchema: z.object({ path: z.string(), size: z.number() }),
  execute: ({ size }) => resultOf(size),
});

const app = new Hono();
app.post("/", async (c) => {
  const { input } = await c.req.json();
  return streamText({
    model,
    messages: [{ role: "user", content: input }],
    tools: { read_file: readFile },
    stopWhen: stepCountIs(1_000),
    abortSignal: c.req.raw.signal,
  }).toUIMessageStreamResponse();
});
serve((request, info) => app.fetch(request, info));
