/** An app whose callers may have so many turns. */
import { createApp } from "../../src/http/mod.ts";
import type { AppOptions } from "../../src/http/options.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { ManualClock } from "./clock.ts";

/** A caller by its header: `tenant/user`. */
const auth = ({ headers }: Request) => {
  const [tenant = "local", user] = (headers.get("x-who") ?? "local").split("/");
  return { tenant, ...(user ? { user } : {}) };
};

/** An app with one agent that says one word. */
export function makeApp(clock: ManualClock, options: Partial<AppOptions> = {}) {
  return createApp({
    agents: { default: { model: scripted({ script: () => ({ text: "Hi." }) }) } },
    store: memoryStore({ clock }),
    clock,
    auth,
    ...options,
  });
}

/** Asks for a turn. */
export function turn(app: ReturnType<typeof makeApp>, who = "local", headers: Record<string, string> = {}) {
  return Promise.resolve(app.request("/v1/turns", {
    method: "POST",
    body: JSON.stringify({ input: "Hi", stream: false }),
    headers: { "x-who": who, ...headers },
  }));
}

/** The statuses of responses, whose bodies nobody reads. */
export async function statuses(responses: readonly Promise<Response>[]): Promise<number[]> {
  const found: number[] = [];
  for (const response of responses) {
    found.push((await response).status);
    await (await response).body?.cancel();
  }
  return found;
}
