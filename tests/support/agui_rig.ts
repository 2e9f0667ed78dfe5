/** A service for clients of AG-UI: tools of all kinds, its sessions, and what its model was asked. */
import * as z from "zod";
import { createApp } from "../../src/http/mod.ts";
import type { Agent } from "../../src/loop/agent.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { type Script, scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { AguiClient, type AguiEvent } from "./agui_client.ts";
import { prose, tool } from "./turns.ts";
import { watch } from "./watched.ts";

/** A picture, as far as anybody looks. */
export const PNG = "iVBORw0KGgo=";

/** A tool of a frontend. */
export const askColor = {
  name: "ask_color",
  description: "Asks for a color",
  parameters: { type: "object", properties: {} },
};

/** Tools of the service; `ran` gets the disks that were wiped. */
function toolsOf(ran: string[]) {
  return [
    tool("read", ({ n, length }) => prose(Number(length ?? 100), Number(n))),
    tool(
      "draw",
      () => [{ type: "text", text: "drawn" }, { type: "file", mediaType: "image/png", data: PNG }],
    ),
    defineTool({
      name: "wipe",
      description: "Wipes",
      input: z.object({ disk: z.string() }),
      needsApproval: true,
      execute: ({ disk }) => {
        ran.push(disk);
        return `wiped ${disk}`;
      },
    }),
    defineTool({
      name: "count",
      description: "Counts",
      input: z.object({}),
      execute: async function* () {
        yield await Promise.resolve("one");
        return "two";
      },
    }),
  ];
}

/** A service, its sessions, what its model was sent, and the disks that were wiped. */
export function rig(
  script: Script,
  { window, agent = {} }: { readonly window?: number; readonly agent?: Partial<Agent> } = {},
) {
  const watched = watch(script);
  const model = scripted({
    script: watched.script,
    maxOutput: 500,
    ...(window === undefined ? {} : { window }),
  });
  const store = memoryStore();
  const ran: string[] = [];
  const app = createApp({
    agents: { default: { model, tools: toolsOf(ran), ...agent }, other: { model, system: "Other." } },
    store,
  });
  const ask = (url: string, init: RequestInit) => Promise.resolve(app.request(url, init));
  const log = async (session = "t1") => (await store.read({ tenant: "local", session }))?.entries ?? [];
  const client = (options: ConstructorParameters<typeof AguiClient>[1] = {}, path = "/agui") =>
    new AguiClient(`http://localhost${path}`, { fetch: ask, ...options });
  const asked: readonly AguiEvent[] = watched.requests;
  return { app, asked, log, client, ran };
}

/** Texts of messages, one letter for the role before each. */
export function outline(messages: readonly AguiEvent[]): string[] {
  return messages.map(({ role, content, toolCalls = [] }) =>
    [
      role[0],
      content,
      ...toolCalls.map((call: AguiEvent) => `${call.function.name}${call.function.arguments}`),
    ]
      .filter((word) => word !== undefined && word !== "").join(" ")
  );
}
