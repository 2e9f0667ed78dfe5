/** Options of the service for the tests with chat clients: an obedient model, and tools that pause a turn. */
import * as z from "zod";
import { plural } from "../../src/files/words.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { scripted, type ScriptedReply } from "../../src/models/scripted.ts";
import { outputText } from "../../src/tokens/measure.ts";
import { lastWish, STEPS } from "./_scripts.ts";

/** Milliseconds between two words of an answer that takes its time. */
const WORD_MS = 15;

const tools = [
  defineTool({
    name: "read",
    description: "Reads a text",
    input: z.object({ n: z.number() }),
    execute: ({ n }) => `text ${n} `.repeat(200),
  }),
  defineTool({ name: "ask", description: "Asks the person", input: z.object({ q: z.string() }) }),
  defineTool({
    name: "remove",
    description: "Removes a file",
    input: z.object({ path: z.string() }),
    needsApproval: () => true,
    execute: ({ path }) => `removed ${path}`,
  }),
];

let step = 0;
let isSlow = false;

const model = scripted({
  window: 10_000,
  maxOutput: 1_000,
  script: ({ messages }): ScriptedReply => {
    const wish = lastWish(messages);
    const last = messages.at(-1);
    isSlow = wish.includes("slowly");
    if (wish.includes("fail")) throw new Error("secret internal detail");
    if (wish.includes("work")) {
      if (last?.role === "user" && messages.length < 4) step = 0;
      return step++ < STEPS ? { text: `Step ${step}.`, calls: [{ name: "read", input: { n: step } }] } : {
        reasoning: "That was all.",
        text: "All the work is done.",
      };
    }
    if (last?.role === "tool") {
      return { text: `I see: ${last.content.map(({ output }) => outputText(output)).join(" and ")}` };
    }
    if (wish.includes("ask")) return { text: "Hm.", calls: [{ name: "ask", input: { q: "Why?" } }] };
    if (wish.includes("remove")) return { calls: [{ name: "remove", input: { path: "a.txt" } }] };
    if (isSlow) return { text: Array.from({ length: 100 }, (_, n) => `word${n}`).join(" ") };
    return { text: `You sent ${plural(messages.length, "message")}.` };
  },
  pause: () => isSlow ? new Promise((resolve) => setTimeout(resolve, WORD_MS)) : Promise.resolve(),
});

export default { agents: { default: { model, tools, maxSteps: 40 } } };
