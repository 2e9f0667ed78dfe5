/** What the model says in the tests with real clients: it decides on nothing but the request. */
import type { Message } from "../../src/core/message.ts";
import type { Script, ScriptedReply } from "../../src/models/scripted.ts";

/** Steps of the long turn. */
export const STEPS = 20;

/** Settings under which the long turn is compacted. */
export const SMALL_WINDOW = { SELVAGE_WINDOW: "10000", SELVAGE_MAX_OUTPUT: "1000" };

/** What the model says to anything else. */
export const HELLO = "Hello from the other side.";

/** A tool of the client. */
export const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather in a city",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
} as const;

/** Text of the last result of a tool; null where something else comes last. */
function lastResult(messages: readonly Message[]): string | null {
  const last = messages.at(-1);
  if (last?.role !== "tool") return null;
  return last.content.map(({ output }) => output.type === "text" ? output.value : "").join(" and ");
}

/** What the user has said last. */
export function lastWish(messages: readonly Message[]): string {
  const content = messages.findLast(({ role }) => role === "user")?.content ?? "";
  return typeof content === "string"
    ? content
    : content.map((part) => part.type === "text" ? part.text : "").join("");
}

/**
 * A model that does as it is told: `work` takes twenty steps with a tool of the service, `weather` asks the client's
 * tool (and one of the service in the same step), anything else is answered.
 */
export function obedient(): Script {
  let step = 0;
  return ({ messages, tools }): ScriptedReply => {
    const wish = lastWish(messages);
    const result = lastResult(messages);
    if (wish.includes("work")) {
      if (result === null && messages.length <= 2) step = 0;
      const path = `archive/0${step % 8}.md`;
      return step++ < STEPS
        ? { calls: [{ name: "read_file", input: { path } }] }
        : { text: "All the work is done." };
    }
    if (wish.includes("weather") && tools.some(({ name }) => name === "get_weather")) {
      if (result !== null) return { text: `It is ${result}.` };
      return {
        text: "Let me ask.",
        calls: [
          { name: "list_files", input: { path: "units/00" } },
          { name: "get_weather", input: { city: "Bern" } },
        ],
      };
    }
    return { text: HELLO };
  };
}
