/**
 * The agent inside a Hono app of your own, under a prefix, with a tool of your own. `useChat` finds it at
 * `/agent/api/chat` (`examples/use_chat.tsx`), any client of OpenAI at `/agent/v1`.
 *
 *     deno run --allow-net=127.0.0.1 --allow-env=PORT examples/hono_app.ts
 */
import { createApp, defineTool, memoryStore, scripted } from "@selvage/selvage";
import { Hono } from "hono";
import * as z from "zod";

const time = defineTool({
  name: "time",
  description: "The time in a place",
  input: z.object({ place: z.string() }),
  execute: ({ place }) => `It is noon in ${place}.`,
});

// In place of a model: `openaiChat({ model: "gpt-5", apiKey })`, `anthropic({ … })`, or any model of the AI SDK.
const model = scripted({
  script: ({ messages }) =>
    messages.at(-1)?.role === "user"
      ? { text: "Let me see.", calls: [{ name: "time", input: { place: "Oslo" } }] }
      : { text: "Noon, in Oslo." },
});

const agent = createApp({
  agents: { default: { model, tools: [time], system: "Be brief." } },
  store: memoryStore(),
});

const site = new Hono();
site.get("/", (c) => c.text("A site with an agent"));
site.route("/agent", agent);

Deno.serve({ hostname: "127.0.0.1", port: Number(Deno.env.get("PORT") ?? 8000) }, site.fetch);
