/**
 * Conversations of clients that send messages, not turns: what a list of messages asks of a session, or of no session
 * at all.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { AnswerRequest, CallAnswer } from "../loop/agent.ts";
import { askedOf } from "../loop/asked.ts";
import { billedFor } from "../loop/report.ts";
import type { Entry, SessionKey, Store, Usage, UserEntry } from "../ports.ts";
import type { CompletionRequest } from "./decode/completion_request.ts";
import { placeOfCall } from "./encode/completion_reader.ts";
import { leaveTurn, readHistory } from "./history.ts";
import type { TurnHost } from "./host.ts";
import type { HostAnswer, HostRequest, StartedTurn } from "./host/request.ts";
import type { AppOptions } from "./options.ts";
import { StatelessTurns } from "./stateless.ts";

/** One request of a conversation. */
export interface ConversationRequest extends HostRequest {
  readonly asked: CompletionRequest;
  /** Characters of the request. */
  readonly size: number;
  /** The session that keeps the log; null where the client keeps its history itself. */
  readonly session: string | null;
}

/** The turn that a request has started, or goes on with. */
export interface ConversationTurn {
  readonly started: StartedTurn;
  /** What earlier responses have told as the cost of the turn. */
  readonly billed?: Usage;
}

/** The conversations of an app. */
export class Conversations {
  readonly #store: Store;
  readonly #host: TurnHost;
  readonly #stateless: StatelessTurns;

  /** Makes them of an app's options and the host of its sessions. */
  constructor(options: AppOptions, host: TurnHost) {
    this.#store = options.store;
    this.#host = host;
    this.#stateless = new StatelessTurns(options, host);
  }

  /** Starts the turn that the last message asks for, or goes on with the one whose calls it answers. */
  async start(request: ConversationRequest): Promise<ConversationTurn> {
    const { asked, owner, size, session, clientSignal, idempotency } = request;
    const rest = { owner, clientSignal, ...(idempotency === undefined ? {} : { idempotency }) };
    const answers = answersOf(asked.messages);
    if (session !== null) {
      return await this.#inSession(request, { key: { ...owner, session }, answers, rest });
    }
    const going = answers === null ? null : await this.#stateless.answer({ ...answers, ...rest });
    if (going !== null) return going;
    const { clientTools, messages, model: agentName, settings } = asked;
    return {
      started: await this.#stateless.start({
        agentName,
        messages,
        size,
        asked: { settings, clientTools },
        ...rest,
      }),
    };
  }

  /** Answers calls of a turn; null where nothing waits for it, and something is said behind that begins a new turn. */
  async #answer(request: HostAnswer): Promise<StartedTurn | null> {
    try {
      return await this.#host.answer(request);
    } catch (error) {
      // An old history: its results are in the log.
      const isOld = error instanceof SelvageError && error.code === "turn_not_paused";
      if (isOld && request.input !== undefined) return null;
      throw error;
    }
  }

  /** What came before is in the log of the session, unless that is new. */
  async #inSession(
    { asked: { clientTools, messages, model: agentName, settings } }: ConversationRequest,
    { key, answers, rest }: {
      readonly key: SessionKey;
      readonly answers: Answers | null;
      readonly rest: HostRequest;
    },
  ): Promise<ConversationTurn> {
    const { session } = key;
    const { imported: { entries, system: instructions }, input } = readHistory(messages);
    const state = entries.length === 0 ? null : await this.#store.read(key);
    const log = state?.entries ?? [];
    if (answers !== null && log.some(({ turn }) => turn === answers.turn)) {
      const started = await this.#answer({ ...answers, ...rest });
      if (started !== null) return { started, billed: billedFor(log, answers.turn) };
    }
    if (log.length > 0 && input === null) {
      throw new SelvageError(
        "turn_not_paused",
        `Cannot go on with the session ${JSON.stringify(session)}: none of its calls waits for these results`,
        { fields: { field: "messages", session } },
      );
    }
    const asked = { settings, clientTools, instructions };
    const isNew = entries.length > 0 && log.length === 0;
    const fork = isNew ? null : forkFor(entries, log, key);
    const prepare = ({ turn }: { readonly turn: string }): Promise<void> =>
      leaveTurn(this.#store, entries, { key, agent: agentName, turn, asked: askedOf(asked), view: null });
    const started = await this.#host.start({
      agentName,
      session,
      input,
      ...asked,
      onDisconnect: "abort",
      ...rest,
      ...(fork === null ? {} : { fork }),
      ...(isNew ? input === null ? { prepare } : { history: { entries } } : {}),
    });
    return { started };
  }
}

/** Results at the end of a history, for calls of one turn of ours, and what the user says behind them. */
interface Answers extends Pick<AnswerRequest, "input"> {
  readonly turn: string;
  readonly results: readonly CallAnswer[];
}

/** The results at the end of a history, or before what the user says now; null where they answer no calls of ours. */
function answersOf(messages: readonly Message[]): Answers | null {
  const said = messages.at(-1);
  const last = said?.role === "user" ? messages.at(-2) : said;
  if (last?.role !== "tool") return null;
  const found = last.content.map(({ toolCallId, output }) => ({ place: placeOfCall(toolCallId), output }));
  const turn = found[0]?.place?.turn;
  if (turn === undefined || found.some(({ place }) => place?.turn !== turn)) return null;
  return {
    turn,
    ...(said?.role === "user" ? { input: said.content } : {}),
    results: found.map(({ place, output }) => ({
      ref: place?.ref ?? "",
      output: output.type === "text" ? output.value : output,
    })),
  };
}

/** A message of the user in one line, so that it is the same however its parts are cut. */
function userText({ content }: Extract<Message, { role: "user" }>): string {
  if (typeof content === "string") return content;
  return content.map((part) => part.type === "text" ? part.text : `[${part.mediaType} ${part.data.length}]`)
    .join("");
}

/**
 * Where a history leaves the log of its session; null where it goes on from the end. What the user has said decides:
 * answers come back from clients in many forms, without what the service's own tools gave. The last messages of the log
 * alone will do; a history that leaves it earlier, as after an edit, is whole.
 *
 * @throws SelvageError `history_mismatch` where it is another history.
 */
function forkFor(
  sent: readonly Entry[],
  log: readonly Entry[],
  { session }: SessionKey,
): { readonly at: number } | null {
  const isUser = (entry: Entry): entry is UserEntry => entry.kind === "user";
  const asked = sent.filter(isUser).map(({ message }) => userText(message));
  const known = log.filter(isUser);
  const isAt = (from: number): boolean =>
    from >= 0 && asked.every((text, at) => {
      const entry = known[from + at];
      return entry !== undefined && userText(entry.message) === text;
    });
  if (isAt(known.length - asked.length)) return null;
  const next = known[asked.length];
  if (next !== undefined && isAt(0)) return { at: next.seq };
  throw new SelvageError(
    "history_mismatch",
    `Cannot go on with the session ${
      JSON.stringify(session)
    }: found messages that are not those of its log, ` +
      "wanted the same ones and a new one behind them, or the new one alone; another history needs another session",
    { fields: { field: "messages", session } },
  );
}
