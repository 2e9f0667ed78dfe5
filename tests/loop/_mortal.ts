/** Turns that pause in processes that die, for tests. */
import * as z from "zod";
import type { AnswerRequest } from "../../src/loop/agent.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { LEASE_TTL_MS } from "../../src/loop/journal.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { answerTurn, resumeTurn } from "../../src/loop/turn.ts";
import type { Script, ScriptedReply } from "../../src/models/scripted.ts";
import type { Lease, Store, Tool } from "../../src/ports.ts";
import { Bench, KEY, tool, withCommit } from "../support/turns.ts";

/** A store that hears nothing any more of a holder once a test says that its process is dead. */
export function mortal() {
  const dead = new Set<number>();
  const state = { diesAfter: Infinity, commits: 0 };
  const never = (): Promise<never> => new Promise(() => {});
  const isDead = ({ epoch }: Lease): boolean => dead.has(epoch);
  const wrap = (store: Store): Store => ({
    ...withCommit(store, async (key, lease, commit) => {
      if (isDead(lease)) return await never();
      if (state.commits >= state.diesAfter) {
        dead.add(lease.epoch);
        return await never();
      }
      await store.commit(key, lease, commit);
      state.commits++;
    }),
    renew: (key, lease, ttlMs) => isDead(lease) ? never() : store.renew(key, lease, ttlMs),
  });
  return {
    wrap,
    /** The process that runs next dies at its n-th commit from now on, 0 for the first. */
    dieAt: (n: number): void => void (state.diesAfter = state.commits + n),
    live: (): void => void (state.diesAfter = Infinity),
  };
}

export interface Runs {
  readonly some: unknown[];
  readonly none: unknown[];
}

/** Tools of every kind: of the client, to be allowed (with and without a side effect), and neither. */
export function makeTools(runs: Runs): readonly Tool[] {
  const input = z.looseObject({});
  const guarded = (name: "some" | "none"): Tool =>
    defineTool({
      name,
      description: `Leaves ${name} behind`,
      input,
      needsApproval: true,
      sideEffect: name,
      execute: (value) => {
        runs[name].push(value);
        return name;
      },
    });
  return [
    defineTool({ name: "locate", description: "Asks the client", input }),
    guarded("some"),
    guarded("none"),
    tool("read", () => "read"),
  ];
}

export const STEP: ScriptedReply = {
  calls: ["read", "locate", "some", "none"].map((name) => ({ name, input: { name } })),
};
export const ALL: Partial<AnswerRequest> = {
  results: [{ ref: "e1.1", output: "here" }],
  approvals: ["e1.2", "e1.3"].map((ref) => ({ ref, approved: true })),
};

export function makeBench() {
  const runs: Runs = { some: [], none: [] };
  const { wrap, ...process } = mortal();
  const script: Script = ({ messages }) => messages.length > 1 ? { text: "Done." } : STEP;
  const bench = new Bench({ script, tools: makeTools(runs), wrap });
  return { bench, runs, ...process };
}

/** Starts something that never ends, as its process dies on the way, and lets its lease run out. */
export async function doomed(bench: Bench, events: AsyncGenerator<TurnEvent, void>): Promise<void> {
  void (async () => {
    for await (const _ of events) { /* Nobody is left to be told. */ }
  })().catch(() => {});
  await bench.clock.advance(LEASE_TTL_MS + 1);
}

export function resume(bench: Bench): Promise<TurnEvent[]> {
  return Array.fromAsync(resumeTurn({ agent: bench.agent, session: KEY.session, turn: "t0" }, bench));
}

export function answering(bench: Bench, answers: Partial<AnswerRequest>): AsyncGenerator<TurnEvent, void> {
  return answerTurn({ agent: bench.agent, session: KEY.session, turn: "t0", ...answers }, bench);
}

export async function statuses(bench: Bench): Promise<Record<string, string>> {
  const { entries } = await bench.state();
  return Object.fromEntries(
    entries.flatMap((entry) => entry.kind === "result" ? [[entry.call, entry.status]] : []),
  );
}
