/**
 * `/api/chat`: what `useChat` of the AI SDK speaks. The id of a chat is the name of a session.
 *
 * @module
 */
import { Hono } from "hono";
import type { StoredView } from "../../compaction/context.ts";
import { cappedOutput } from "../../compaction/shorten.ts";
import { SelvageError } from "../../core/errors.ts";
import type { TurnRequest } from "../../loop/agent.ts";
import { systemClock } from "../../loop/clock.ts";
import { measuresOf } from "../../loop/measures.ts";
import { isApplied, type TurnEvent } from "../../loop/events.ts";
import type { Entry, Owner, ResultEntry, SessionKey, SessionState } from "../../ports.ts";
import { badBody, limitBody, parseBody, readText } from "../body.ts";
import { uiMessages } from "../encode/ui_messages.ts";
import {
  answersIn,
  chatBody,
  hasCalls,
  inputOf,
  noteOf,
  type SentMessage,
  withGivenUp,
} from "../decode/ui_request.ts";
import { type GoesOn, UI_STREAM_HEADERS, UiStreamEncoder } from "../encode/ui_stream.ts";
import type { AppEnv } from "../env.ts";
import { askedAgain, beginAt, beginWhole, historyOf, startsWith } from "../chat_history.ts";
import { HistoryViews } from "../history.ts";
import type { TurnHost } from "../host.ts";
import type { StartedTurn } from "../host/request.ts";
import type { AppOptions } from "../options.ts";
import type { Following } from "../registry.ts";
import { readSession, sessionKeyOf } from "../session_key.ts";
import { sseResponse } from "../sse.ts";

const MAX_BODY = 8 * 1024 * 1024;

/** Stands for the message that is to come. */
const NEXT: SentMessage = { id: "next", role: "user", parts: [{ type: "text", text: "next" }] };

/** What a request comes to: a new turn, or answers to the calls of one that waits. */
type Asked = Pick<TurnRequest, "input" | "begin" | "client">;

/** Routes of chats. */
export function chatRoutes(options: AppOptions, host: TurnHost): Hono<AppEnv> {
  const { store, clock = systemClock } = options;
  const views = new HistoryViews(store);
  const app = new Hono<AppEnv>();

  function respond(following: Following, goesOn?: GoesOn): Response {
    const encoder = new UiStreamEncoder(goesOn);
    return sseResponse(following, {
      encode: (event) => encoder.encode(event),
      last: () => encoder.end(),
      clock,
      onEnd: host.enter(),
      headers: UI_STREAM_HEADERS,
    });
  }

  /** Answers calls of a turn that waits, and says what the user does behind that; null where none does. */
  async function answer(
    message: SentMessage,
    { owner, key, said, onPaused, clientSignal }: {
      readonly owner: Owner;
      readonly key: SessionKey;
      readonly said?: SentMessage | undefined;
      readonly onPaused: TurnRequest["onPaused"];
      readonly clientSignal: AbortSignal;
    },
  ): Promise<StartedTurn | null> {
    const { head, entries = [] } = await store.read(key) ?? {};
    const { lease } = head ?? {};
    const pending = lease?.pause?.pending ?? [];
    if (lease === undefined || pending.length === 0) return null;
    const waiting = uiMessages(entries).at(-1);
    if (waiting?.message.id !== message.id) return null;
    const answers = answersIn(message, pending);
    const isEmpty = answers.results.length + answers.approvals.length === 0;
    if (said !== undefined) {
      if (isEmpty) return null;
      const all = onPaused === "abort" ? withGivenUp(answers, pending) : answers;
      const input = { input: inputOf(said), client: noteOf(said) };
      return await host.answer({ owner, turn: lease.turn, clientSignal, ...all, ...input });
    }
    if (isEmpty) {
      const wanted = `one for ${pending.map(({ name }) => name)}`;
      throw badBody("messages", { found: "no answer to a call that waits", wanted });
    }
    return await host.answer({ owner, turn: lease.turn, clientSignal, ...answers });
  }

  /** Remembers what a session has summarised, under the name of what its client has: that may outlive the session. */
  async function remember({ key, agent }: Place): Promise<void> {
    const state = await store.read(key);
    if (state === null || state.head.view === 0) return;
    const shown = await shownBy(options, state);
    const sent = uiMessages(state.entries, { shown }).map(({ message }) => message as SentMessage);
    const history = historyOf([...sent, NEXT]);
    if (!startsWith(state.entries, history.imported.entries)) return;
    await views.remember(key, { agent, history, state });
  }

  app.post("/", limitBody(MAX_BODY), async (c) => {
    const request = c.req.raw;
    const body = parseBody(await readText(request), chatBody);
    const owner = c.get("principal");
    const key = { ...owner, session: body.id };
    const last = body.message ?? body.messages?.at(-1);
    const isAgain = body.trigger === "regenerate-message";
    const { onDisconnect = "abort", onPaused = "abort" } = body;
    // What calls gave may come right before what the user says now.
    const said = last?.role === "user" ? last : undefined;
    const answered = said === undefined
      ? last
      : body.message === undefined
      ? body.messages?.at(-2)
      : undefined;
    // Most messages of the user answer nothing: the log need not be read to know that.
    const mayAnswer = answered?.role === "assistant" && (said === undefined || hasCalls(answered));
    if (!isAgain && mayAnswer) {
      const started = await answer(answered, { owner, key, said, onPaused, clientSignal: request.signal });
      if (started !== null) {
        const { agent = "default" } = started;
        const events = followedBy(started.events, () => remember({ key, agent }));
        if (said === undefined) return respond({ ...started, events }, { message: answered.id });
        return respond({ ...started, events }, { behind: started.turn });
      }
    }
    if (!isAgain && last?.role === "assistant") {
      throw new SelvageError(
        "turn_not_paused",
        `Cannot go on with the message ${JSON.stringify(last.id)}: no call of it waits for an answer`,
      );
    }
    let asked: Asked;
    const { agent = "default" } = body;
    const whole = body.messages?.at(-1) === last ? body.messages : undefined;
    if (last?.role === "user") asked = askedOf(last, whole && { sent: whole, views, key, agent });
    else if (isAgain) {
      asked = askedAnew((await store.read(key))?.entries ?? [], body.messageId ?? last?.id);
    } else {
      const found = last === undefined ? "none" : `one of the ${last.role} at the end`;
      throw badBody("messages", {
        found,
        wanted: "a new message of the user, or answers to calls that wait",
      });
    }
    const system = body.messages?.filter(({ role }) => role === "system") ?? [];
    const instructions = system.map(inputOf).filter((text) => typeof text === "string" && text !== "");
    const started = await host.start({
      owner,
      agentName: agent,
      session: body.id,
      onDisconnect,
      onPaused,
      clientSignal: request.signal,
      ...asked,
      ...(instructions.length === 0 ? {} : { instructions: instructions.join("\n\n") }),
    });
    return respond({ ...started, events: followedBy(started.events, () => remember({ key, agent })) });
  });

  app.get("/:id/stream", async (c) => {
    const key = sessionKeyOf(c, "chat");
    host.requireUp("follow the turn");
    const turn = await host.runningTurn(key);
    const found = turn === null ? null : await host.follow({ owner: key, turn, from: 0 });
    return found === null ? c.body(null, 204) : respond(found);
  });

  app.get("/:id", async (c) => {
    const state = await readSession(c, { store, noun: "chat" });
    const shown = await shownBy(options, state);
    const { made } = (state.view ?? {}) as Partial<StoredView>;
    const pause = state.head.lease?.pause;
    const messages = uiMessages(state.entries, {
      shown,
      ...(pause === undefined ? {} : { pause }),
      ...(made === undefined ? {} : { made }),
    });
    return c.json(messages.map(({ message }) => message));
  });

  return app;
}

/** A turn for a message of the user. `whole` is the history with the message, where it was sent. */
function askedOf(
  message: SentMessage,
  whole: { readonly sent: readonly SentMessage[]; readonly views: HistoryViews } & Place | undefined,
): Asked {
  return {
    input: inputOf(message),
    client: noteOf(message),
    async begin({ entries }) {
      if (whole === undefined) return beginAt(entries, message.id);
      const begun = beginWhole(entries, whole.sent);
      if (entries.length > 0 || begun.history === undefined) return begun;
      // The session is new, the history need not be: what was summarised of it once is not summarised again.
      const { view, ...found } = await whole.views.find(whole.key, whole.agent, historyOf(whole.sent));
      return { history: { ...found, view: view === null ? null : { ...view, made: undefined } } };
    },
  };
}

/** Whose chat it is, and which agent answers. */
interface Place {
  readonly key: SessionKey;
  readonly agent: string;
}

/** Events, and what is done behind them where they tell of a compaction. */
async function* followedBy(
  events: AsyncGenerator<TurnEvent, void>,
  last: () => Promise<void>,
): AsyncGenerator<TurnEvent, void> {
  let isCompacted = false;
  for await (const event of events) {
    isCompacted ||= event.type === "compaction" && isApplied(event);
    yield event;
  }
  if (isCompacted) await last();
}

/** A turn that answers once more what the log has been asked. */
function askedAnew(entries: readonly Entry[], id: string | undefined): Asked {
  const entry = askedAgain(entries, id);
  if (entry === null) {
    throw badBody("messageId", { found: JSON.stringify(id ?? null), wanted: "a message of the chat" });
  }
  const { message: { content }, client, seq } = entry;
  return {
    input: content,
    begin: () => ({ fork: { at: seq } }),
    ...(client === undefined ? {} : { client }),
  };
}

/** How clients were shown the outputs of a log: those that were too long from the start are shortened. */
async function shownBy(
  { agents }: AppOptions,
  { head, entries }: SessionState,
): Promise<(entry: ResultEntry) => ResultEntry["output"]> {
  const agent = agents[head.agent] ?? agents["default"];
  const isCapped = entries.some((entry) => entry.kind === "result" && entry.cap !== undefined);
  if (agent === undefined || !isCapped) return ({ output }) => output;
  const measure = await measuresOf({ model: agent.model }).loadMeasure();
  return (entry) => cappedOutput(entry, measure);
}
