/**
 * `/agui`: runs of AG-UI 1.0. A thread is a session, a run is a turn, or what answers make of one that waits.
 *
 * @module
 */
import { Hono } from "hono";
import { SelvageError } from "../../core/errors.ts";
import { systemClock } from "../../loop/clock.ts";
import { badBody, limitBody, parseBody, readText } from "../body.ts";
import { beginWhole } from "../chat_history.ts";
import {
  aguiBody,
  type AguiRun,
  answersIn,
  chatMessages,
  frontendTools,
  hasAnswers,
  instructionsOf,
} from "../decode/agui_request.ts";
import { inputOf, noteOf, withGivenUp } from "../decode/ui_request.ts";
import { AguiEncoder } from "../encode/agui.ts";
import type { AppEnv } from "../env.ts";
import type { TurnHost } from "../host.ts";
import type { HostRequest, StartedTurn } from "../host/request.ts";
import { idempotencyOf, replayHeaders } from "../idempotency.ts";
import type { AppOptions } from "../options.ts";
import { problemOf } from "../problem.ts";
import { reportFault } from "../requests.ts";
import { sseResponse } from "../sse.ts";

const MAX_BODY = 8 * 1024 * 1024;

/** What a run comes to: its turn, and the calls that it has answered. */
interface Begun {
  readonly started: StartedTurn;
  readonly answered: ReadonlySet<string>;
}

/** The route of runs. `?agent=` names the agent that a new turn is for. */
export function aguiRoutes(options: AppOptions, host: TurnHost): Hono<AppEnv> {
  const { store, agents, clock = systemClock, log } = options;
  const app = new Hono<AppEnv>();

  /** Goes on with the turn that waits for what the run brings along; null where it brings nothing for one. */
  async function answer(run: AguiRun, rest: HostRequest): Promise<Begun | null> {
    const lease = (await store.read({ ...rest.owner, session: run.threadId }))?.head.lease;
    const { turn = "", pause } = lease ?? {};
    const pending = pause?.pending ?? [];
    const { results, approvals } = answersIn(run, { turn, pending });
    if (results.length + approvals.length === 0) return null;
    const said = lastOf(run)?.role === "user" ? chatMessages(run).at(-1) : undefined;
    const answers = said === undefined ? { results, approvals } : {
      // Who says something new has given up what he has not answered.
      ...withGivenUp({ results, approvals }, pending),
      input: inputOf(said),
      client: noteOf(said),
    };
    const started = await host.answer({ ...rest, turn, ...answers });
    return started === null ? null : { started, answered: new Set(results.map(({ ref }) => ref)) };
  }

  async function begin(run: AguiRun, agentName: string, rest: HostRequest): Promise<Begun> {
    const last = lastOf(run);
    const going = hasAnswers(run) ? await answer(run, rest) : null;
    if (going !== null) return going;
    if (last?.role === "tool") {
      const detail = `Cannot go on with the thread ${
        JSON.stringify(run.threadId)
      }: no call of it waits for these results`;
      throw new SelvageError("turn_not_paused", detail, { fields: { field: "messages" } });
    }
    const chat = chatMessages(run);
    const message = chat.at(-1);
    if (last?.role !== "user" || message === undefined) {
      const found = last === undefined ? "none" : `one of the ${last.role} at the end`;
      throw badBody("messages", { found, wanted: "one of the user, or answers to what waits" });
    }
    const instructions = instructionsOf(run);
    const clientTools = frontendTools(run);
    const started = await host.start({
      ...rest,
      agentName,
      session: run.threadId,
      onDisconnect: "abort",
      // Who says something new has given up what waited.
      onPaused: "abort",
      input: inputOf(message),
      client: noteOf(message),
      begin: ({ entries }) => beginWhole(entries, chat),
      ...(instructions === "" ? {} : { instructions }),
      ...(clientTools.length === 0 ? {} : { clientTools }),
    });
    return { started, answered: new Set() };
  }

  app.post("/", limitBody(MAX_BODY), async (c) => {
    const request = c.req.raw;
    const text = await readText(request);
    const run = parseBody(text, aguiBody);
    const agentName = c.req.query("agent") ?? "default";
    const { started, answered } = await begin(run, agentName, {
      owner: c.get("principal"),
      clientSignal: request.signal,
      ...await idempotencyOf(request, `${agentName}\n${text}`),
    });
    const { agent = agentName, turn, isReplay } = started;
    const model = started.model ?? agents[agent]?.model.id ?? "";
    const { threadId, runId, state } = run;
    const encoder = new AguiEncoder({ threadId, runId, state, turn, agent, model, answered });
    return sseResponse(started, {
      encode: (event) => encoder.encode(event),
      last: () => encoder.end(),
      fault: (error) => encoder.end(problemOf(error, (fault) => reportFault(c, { fault, log }))),
      clock,
      onEnd: host.enter(),
      headers: replayHeaders(isReplay),
    });
  });

  return app;
}

/** What a run ends with. */
function lastOf({ messages }: AguiRun): AguiRun["messages"][number] | undefined {
  return messages.findLast(({ role }) => role !== "activity");
}
