/**
 * The live loop through the engine: what an agent once did is done again, by `runTurn()` over HTTP against a strict
 * double, in a window that is too small for it. The double counts what a provider would refuse.
 */
import type { Agent } from "../../src/loop/agent.ts";
import type { TurnEvent } from "../../src/loop/events.ts";
import { fixedTokens } from "../../src/loop/measures.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { anthropic } from "../../src/models/anthropic.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { scripted, type ScriptedReply } from "../../src/models/scripted.ts";
import type { Entry, Model } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import type { AnyDouble } from "../support/double_server.ts";
import { startDouble } from "../support/openai_double.ts";
import { makePlay, type Play, type PlayedStep } from "../support/play.ts";
import { tool } from "../support/turns.ts";
import { isObjectText, type Json } from "../support/wire_json.ts";
import type { CorpusTranscript } from "./_corpus.ts";

/** Who the double stands in for. */
export const SERVICES = ["openai", "anthropic"] as const;
export type Service = typeof SERVICES[number];

/** What came of a play. */
export interface EngineRun {
  readonly play: Play;
  readonly service: Service;
  /** Tokens that messages can take. */
  readonly usable: number;
  readonly requests: number;
  readonly calls: number;
  /** What the double refused: requests that are not valid, and those that pass the window. */
  readonly invalid: readonly string[];
  readonly overruns: readonly string[];
  /** Compactions that were due and tried, and what became of them. */
  readonly attempts: number;
  readonly applied: number;
  readonly deferred: number;
  readonly rejected: number;
  /** Compactions that followed another one with nothing appended between. */
  readonly repeated: number;
  readonly ends: readonly string[];
  readonly events: readonly TurnEvent[];
  readonly entries: readonly Entry[];
}

const MAX_OUTPUT = 1_000;
const DONE: PlayedStep = { text: "Done.", calls: [] };

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => typeof part?.text === "string" ? part.text : "").join("\n");
}

/** Arguments that were cut off when they were recorded are the text that there is. */
function argumentsOf(text: string): Json {
  return isObjectText(text) ? JSON.parse(text) : { text };
}

interface WireCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A recorded transcript in the format of Chat Completions, as a session that can be played. */
export function playOf({ name, messages }: Pick<CorpusTranscript, "name" | "messages">): Play {
  const turns: { input: string; steps: PlayedStep[] }[] = [];
  let system = "";
  for (const [at, { role, content, tool_calls }] of messages.entries()) {
    const last = turns.at(-1);
    if (role === "system") system += textOf(content);
    else if (role === "user") {
      // Two messages of the user in a row are one turn.
      if (last !== undefined && last.steps.length === 0) last.input += `\n${textOf(content)}`;
      else turns.push({ input: textOf(content) || "(nothing)", steps: [] });
    } else if (role === "assistant") {
      const calls = ((tool_calls ?? []) as readonly WireCall[]).map(({ id, function: made }) => {
        const rest = messages.slice(at + 1);
        const found = rest.find((message) => message["role"] === "tool" && message["tool_call_id"] === id);
        const result = textOf(found?.["content"]);
        return { name: made.name, input: argumentsOf(made.arguments), result };
      });
      const step = { text: textOf(content), calls };
      if (last === undefined) turns.push({ input: "(start)", steps: [step] });
      else last.steps.push(step);
    }
  }
  return makePlay({ name, system, turns });
}

/** The window that has room for so many tokens beside the answer, of which the engine reserves a fifth at most. */
function windowFor(tokens: number): number {
  return tokens < 4 * MAX_OUTPUT ? Math.ceil(tokens * 1.25) : tokens + MAX_OUTPUT;
}

/** The double of a service, and the model that speaks to it. */
function start(
  service: Service,
  { window, script }: { readonly window: number; readonly script: () => ScriptedReply },
): { readonly double: AnyDouble; readonly model: Model } {
  const limits = { window, maxOutput: MAX_OUTPUT };
  if (service === "openai") {
    const double = startDouble({ ...limits, script });
    return { double, model: openaiChat({ model: "m", apiKey: "k", baseURL: double.url, ...limits }) };
  }
  const double = startAnthropicDouble({ ...limits, script });
  return { double, model: anthropic({ model: "m", apiKey: "k", baseURL: double.url, ...limits }) };
}

/**
 * Plays a session through the engine.
 *
 * @param play The session.
 * @param options The service, and the tokens that messages can take.
 */
export async function runEngine(
  play: Play,
  { service, usable, agent = {} }: {
    readonly service: Service;
    readonly usable: number;
    readonly agent?: Partial<Agent>;
  },
): Promise<EngineRun> {
  let steps: readonly PlayedStep[] = [];
  let at = 0;
  const results = new Map<string, string[]>();
  const keyOf = (name: string, input: unknown): string => JSON.stringify([name, input]);
  const names = new Set(
    play.turns.flatMap((turn) => turn.steps.flatMap(({ calls }) => calls.map((c) => c.name))),
  );
  const tools = [...names].map((name) =>
    tool(name, (input) => results.get(keyOf(name, input))?.shift() ?? "(not recorded)")
  );
  const script = (): ScriptedReply => {
    const { text = "", calls } = steps[at++] ?? DONE;
    for (const { name, input, result } of calls) {
      const key = keyOf(name, input);
      results.set(key, [...results.get(key) ?? [], result]);
    }
    return { text: text === "" && calls.length === 0 ? "Done." : text, calls };
  };
  // What system text and schemas take, those of the tools that the engine adds included, comes on top.
  const without = { model: scripted({ script: () => DONE }), system: play.system, ...agent, tools };
  const { double, model } = start(service, {
    window: windowFor(usable + fixedTokens(without)),
    script,
  });
  const store = memoryStore();
  const events: TurnEvent[] = [];
  try {
    const whole: Agent = { model, system: play.system, tools, maxSteps: 2_000, ...agent };
    for (const turn of play.turns) {
      [steps, at] = [turn.steps, 0];
      const request = { agent: whole, session: "s1", input: turn.input };
      for await (const event of runTurn(request, { store })) events.push(event);
    }
  } finally {
    await double[Symbol.asyncDispose]();
  }
  const { entries = [] } = await store.read({ tenant: "local", session: "s1" }) ?? {};
  return { play, service, usable, entries, ...resultsOf(events, double) };
}

function resultsOf(
  events: readonly TurnEvent[],
  { requests, violations }: AnyDouble,
): Omit<EngineRun, "play" | "service" | "usable" | "entries"> {
  const counts = { applied: 0, deferred: 0, rejected: 0, repeated: 0, calls: 0 };
  let isAppended = true;
  const ends: string[] = [];
  for (const event of events) {
    if (event.type === "turn.finished") ends.push(event.reason);
    if (event.type === "tool.result") counts.calls++;
    // What is told between two compactions tells of entries: of an input, an answer with calls, a result.
    if (event.type === "turn.started" || event.type === "tool.call" || event.type === "tool.result") {
      isAppended = true;
    }
    if (event.type !== "compaction") continue;
    if (event.phase === "deferred") counts.deferred++;
    if (event.phase === "rejected") counts.rejected++;
    if (event.phase !== "applied") continue;
    counts.applied++;
    if (!isAppended) counts.repeated++;
    isAppended = false;
  }
  const isOverrun = (message: string): boolean => /maximum context|too long|exceed context/i.test(message);
  return {
    events,
    ends,
    ...counts,
    requests: requests.length,
    attempts: counts.applied + counts.deferred + counts.rejected,
    invalid: violations.filter((message) => !isOverrun(message)),
    overruns: violations.filter(isOverrun),
  };
}
