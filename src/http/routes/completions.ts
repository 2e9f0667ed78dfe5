/**
 * `/v1/chat/completions` and `/v1/models`: agents as the models of a service that speaks as OpenAI's does.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import { prefixName } from "../../compaction/prefix.ts";
import { SelvageError } from "../../core/errors.ts";
import type { Agent } from "../../loop/agent.ts";
import { systemClock } from "../../loop/clock.ts";
import { schemasOf } from "../../loop/measures.ts";
import { knownAgent } from "../../loop/ready.ts";
import { checkBody, limitBody, parseJson, readText } from "../body.ts";
import { Conversations } from "../conversations.ts";
import { completionBody, type CompletionRequest, decodeCompletion } from "../decode/completion_request.ts";
import { CompletionEncoder, foldCompletion } from "../encode/completion.ts";
import type { CompletionOptions } from "../encode/completion_reader.ts";
import type { AppEnv } from "../env.ts";
import type { TurnHost } from "../host.ts";
import type { StartedTurn } from "../host/request.ts";
import { idempotencyOf, replayHeaders } from "../idempotency.ts";
import type { AppOptions } from "../options.ts";
import { refuseWith } from "../problem.ts";
import { sessionId } from "../session_key.ts";
import { sseResponse } from "../sse.ts";
import { whileThere } from "../streams.ts";

const MAX_BODY = 8 * 1024 * 1024;

/** The header that names a session: the log is kept here then, and only what is new is appended. */
const SESSION_HEADER = "x-selvage-session";

/** Names what answers: another agent, tool or model is another fingerprint. */
function fingerprintOf(given: Agent): string {
  const agent = knownAgent(given);
  return `fp_${prefixName({ system: agent.system ?? "", tools: schemasOf(agent), model: agent.model })}`;
}

/** Routes of OpenAI's protocol. */
export function completionRoutes(options: AppOptions, host: TurnHost): Hono<AppEnv> {
  const { agents, clock = systemClock } = options;
  const conversations = new Conversations(options, host);
  const madeAt = Math.floor(clock.now() / 1_000);
  const app = new Hono<AppEnv>();

  function sessionOf(c: Context<AppEnv>): string | null {
    const session = c.req.header(SESSION_HEADER);
    if (session === undefined) return null;
    if (sessionId.safeParse(session).success) return session;
    throw new SelvageError(
      "bad_request",
      `Cannot use the header ${SESSION_HEADER}: wanted 1 to 128 of A-Z a-z 0-9 . _ : -`,
      { fields: { field: SESSION_HEADER } },
    );
  }

  function stream(
    started: StartedTurn,
    { options, headers }: {
      readonly options: CompletionOptions;
      readonly headers: Readonly<Record<string, string>>;
    },
  ): Response {
    const encoder = new CompletionEncoder(options);
    return sseResponse(started, {
      encode: (event) => encoder.encode(event),
      last: () => encoder.end(),
      clock,
      onEnd: host.enter(),
      headers,
    });
  }

  async function answer(
    c: Context<AppEnv>,
    started: StartedTurn,
    { options, headers }: {
      readonly options: CompletionOptions;
      readonly headers: Readonly<Record<string, string>>;
    },
  ): Promise<Response> {
    const outcome = await whileThere(
      c.req.raw.signal,
      started,
      () => foldCompletion(started.events, options),
    );
    if ("problem" in outcome) return refuseWith(c, { ...outcome.problem, headers });
    return Response.json(outcome.completion, { headers: { ...headers, "cache-control": "no-store" } });
  }

  app.post("/chat/completions", limitBody(MAX_BODY), async (c) => {
    const request = c.req.raw;
    const text = await readText(request);
    const asked: CompletionRequest = decodeCompletion(checkBody(parseJson(text), completionBody));
    const session = sessionOf(c);
    const { idempotency } = await idempotencyOf(request, `${session ?? ""}\n${text}`);
    const { started, billed } = await conversations.start({
      owner: c.get("principal"),
      asked,
      size: text.length,
      session,
      clientSignal: request.signal,
      ...(idempotency === undefined ? {} : { idempotency }),
    });
    const { model, settings: { format } } = asked;
    const agent = agents[model];
    const shown: CompletionOptions = {
      model,
      created: Math.floor(clock.now() / 1_000),
      fingerprint: agent === undefined ? "" : fingerprintOf(agent),
      turn: started.turn,
      clientTools: new Set(asked.clientTools.map(({ name }) => name)),
      includesUsage: asked.includesUsage,
      isJson: format !== undefined && format.kind !== "text",
      ...(billed === undefined ? {} : { billed }),
    };
    const headers = {
      ...(session === null ? {} : { [SESSION_HEADER]: session }),
      ...replayHeaders(started.isReplay),
    };
    if (asked.isStream) return stream(started, { options: shown, headers });
    return await answer(c, started, { options: shown, headers });
  });

  function modelOf(id: string): Readonly<Record<string, unknown>> {
    return { id, object: "model", created: madeAt, owned_by: "selvage" };
  }

  app.get("/models", (c) => c.json({ object: "list", data: Object.keys(agents).map(modelOf) }));
  app.get("/models/:id", (c) => {
    const id = c.req.param("id");
    if (Object.hasOwn(agents, id)) return c.json(modelOf(id));
    throw new SelvageError(
      "unknown_agent",
      `Cannot find the model ${JSON.stringify(id.slice(0, 128))}: wanted one of ${
        Object.keys(agents).join(", ")
      }`,
    );
  });
  return app;
}
