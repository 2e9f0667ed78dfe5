/** A session between its turns, and the app that it is in. */
import type { Agent } from "../../src/loop/agent.ts";
import type { CompactedSession } from "../../src/loop/compact_now.ts";
import type { InspectedContext } from "../../src/loop/inspect.ts";
import type { Pins } from "../../src/loop/pins.ts";
import { createApp } from "../../src/http/mod.ts";
import type { ModelRequest, SessionKey } from "../../src/ports.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import { Bench, calls, prose, tool } from "./turns.ts";

/** What the routes answer, all of them in one shape: each test looks at what its route has. */
export interface Answer extends Required<CompactedSession>, Pins {
  readonly status: number;
  readonly replayed: string | null;
  readonly session: string;
  readonly code: string;
  readonly detail: string;
  readonly field: string;
  readonly turn: string;
  readonly calls: number;
  readonly atoms: InspectedContext["atoms"];
}

export const KEY: SessionKey = { tenant: "a", session: "s" };

const tools = [tool("read", ({ n }) => `file ${n}: ${prose(1_500, Number(n))}`)];

/** A session with a turn of so many reads behind it, `batch` of them side by side, and the app that it is in. */
export async function served(
  reads: number,
  { window = 16_000, batch = 1, ...agent }: Partial<Agent> & {
    readonly window?: number;
    readonly batch?: number;
  } = {},
) {
  const script = (): (request: ModelRequest) => ScriptedReply => {
    let turn = -1;
    return ({ messages }) => {
      const task = messages.findLast(({ role, content }) =>
        role === "user" && !String(content).startsWith("[")
      );
      if (task?.content !== "Read all of it.") return { text: "Well." };
      turn++;
      const round = Array.from({ length: batch }, (_, at) => ({ n: turn * batch + at }));
      return turn < reads ? calls("read", ...round) : { text: "Read." };
    };
  };
  const bench = new Bench({ tools, window, script: script(), agent });
  const who = { tenant: "a" };
  const app = createApp({
    agents: { default: bench.agent },
    store: bench.store,
    clock: bench.clock,
    auth: () => ({ ...who }),
  });
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const response = await app.request(`/v1/sessions/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      replayed: response.headers.get("idempotency-replayed"),
      ...await response.json(),
    };
  };
  const say = async (input: string): Promise<{ readonly reason: string }> => {
    const body = JSON.stringify({ session: "s", input, stream: false });
    return await (await app.request("/v1/turns", { method: "POST", body })).json();
  };
  await say("Read all of it.");
  return { bench, who, send, say, state: async () => (await bench.store.read(KEY))! };
}
