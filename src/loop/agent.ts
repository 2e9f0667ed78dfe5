/**
 * What an agent is, and what a turn is asked to do.
 *
 * @module
 */
import type { FilePart, TextPart } from "../core/message.ts";
import type { CompactionLimits, CompactionSettings } from "../compaction/budget.ts";
import type {
  ClientNote,
  Clock,
  Entry,
  Model,
  ModelFallback,
  ModelSettings,
  OnDisconnect,
  SessionKey,
  SessionState,
  Store,
  Tool,
  ToolSchema,
} from "../ports.ts";
import type { AiSdkTool, AiSdkToolSet } from "./tool_set.ts";

export type { AiSdkTool, AiSdkToolSet };

/** A list of tools, or a tool set of the AI SDK as it is. */
export type AgentTools = readonly Tool[] | AiSdkToolSet;

/**
 * Tools that depend on who calls, or that come and go. Asked once a turn, before it begins and again where another
 * process goes on with it, so that a turn keeps its tools, and with them its prefix (C6). The names have to differ.
 */
export type ToolsOf = (caller: SessionKey) => AgentTools | Promise<AgentTools>;

/** An agent: a model with instructions and tools. */
export interface Agent {
  /** The model that answers. */
  readonly model: Model;
  /** Instructions for the model. Default none. */
  readonly system?: string;
  /**
   * Tools the model may call: a list of our own, a tool set of the AI SDK as it is, or a function of the caller that
   * gives one of these for each turn.
   */
  readonly tools?: AgentTools | ToolsOf;
  /** Whether the model has the built-in tool `recall`, which reads originals of the log. Default true. */
  readonly recall?: boolean;
  /** Model calls in one turn. Default 50. */
  readonly maxSteps?: number;
  /** Tokens, in and out, that one turn may be billed: no further step starts once they are used. Default no limit. */
  readonly maxTokens?: number;
  /** Milliseconds that one turn may take, from its input on, and anew from each answer to calls that wait. Default no limit. */
  readonly maxMs?: number;
  /** Milliseconds for a call of a tool that sets no time of its own. Default 60,000. */
  readonly toolTimeoutMs?: number;
  /** Calls of one step that run at the same time. Default 8. */
  readonly toolConcurrency?: number;
  /** When compaction is due and what it aims at. */
  readonly compaction?: CompactionSettings;
  /** What a request may set of that for its turn. */
  readonly compactionLimits?: CompactionLimits;
  /** Writes prose beside the ledger, in the background; the agent's own model may be it. Default none. */
  readonly summarizer?: Model;
  /** Milliseconds that a turn waits for the summarizer where the model can be called no more. Default 5,000. */
  readonly graceMs?: number;
}

/** An agent as a turn has it: its tools are at hand. */
export type ReadyAgent = Omit<Agent, "tools"> & { readonly tools?: AgentTools };

/** Whose turn it is, and what can end it. */
export interface TurnPlace {
  /** The agent that answers. */
  readonly agent: Agent;
  /** The session to go on with. */
  readonly session: string;
  /** Whose session it is. Default `local`. */
  readonly tenant?: string;
  /** User of the tenant. */
  readonly user?: string;
  /** Cancels the turn; open calls are closed as aborted. */
  readonly signal?: AbortSignal;
  /**
   * Puts the turn down where it can be taken up again, here or in another process: tools in hand finish, nothing
   * new starts, and the events end without `turn.finished`.
   */
  readonly suspend?: AbortSignal;
}

/** Where a turn begins. */
export type BeginsWith = Pick<TurnRequest, "fork" | "history">;

/** What a turn is asked to do. The session is made where there is none. */
export interface TurnRequest extends TurnPlace {
  /** Name of the agent in events. Default `default`. */
  readonly agentName?: string;
  /** What the user says: text, or text and files. */
  readonly input: string | readonly (TextPart | FilePart)[];
  /** Keeps the input verbatim in every later view. The running turn's input is pinned anyway. */
  readonly pin?: boolean;
  /** Instructions for this turn, after the agent's own; they count as such, and are part of the prefix. */
  readonly instructions?: string;
  /** How the model is to answer in this turn. */
  readonly settings?: ModelSettings;
  /**
   * Leaves the log before the entry `at`, of the branch in force or of another one, for a new branch; what is left
   * stays, and can be read. Default: the turn goes on with the log as it is.
   */
  readonly fork?: { readonly at: number; readonly branch?: number };
  /** What came before the input elsewhere: goes into the log with it. A stored view of it counts for an empty log only. */
  readonly history?: { readonly entries: readonly Entry[]; readonly view?: unknown };
  /** Decides on the two above once the session is at hand; decides anew where somebody else has written to it meanwhile. */
  readonly begin?: (state: SessionState) => BeginsWith | Promise<BeginsWith>;
  /** What the client says of the input beside its content. */
  readonly client?: ClientNote;
  /** When compaction is due in this turn and what it aims at, within the agent's `compactionLimits`. */
  readonly compaction?: CompactionSettings;
  /** Whether the turn is to go on when its process dies and nobody asks for it. Default `abort`. */
  readonly onDisconnect?: OnDisconnect;
  /** Tools of the client, beside those of the agent: the turn pauses where the model calls one of them. */
  readonly clientTools?: readonly ToolSchema[];
  /**
   * What becomes of a turn of the session that waits for answers: it is refused (`turn_paused`), or its calls are
   * closed as aborted, and it ends, before this one begins. Default `reject`.
   */
  readonly onPaused?: "reject" | "abort";
  /**
   * What becomes of this turn while another one of the session runs: it is refused after ten seconds (`turn_running`),
   * or starts when the other one has ended, however long that takes. Default `reject`.
   */
  readonly whenBusy?: "reject" | "enqueue";
}

/** A turn that its process left unfinished. */
export interface ResumeRequest extends TurnPlace {
  /** Id of the turn. */
  readonly turn: string;
}

/** What a client's tool gave for a call. `output` is text, a list of text and file parts, or any other JSON. */
export type CallAnswer =
  | { readonly ref: string; readonly output: unknown }
  | { readonly ref: string; readonly error: unknown };

/** Whether a person allows a call. */
export interface Approval {
  /** Reference of the call, for example `e41.0`. */
  readonly ref: string;
  /** Whether it may be run. */
  readonly approved: boolean;
  /** Why not, for the model. */
  readonly reason?: string;
}

/** Answers to calls of a paused turn; it goes on once none is left that waits. */
export interface AnswerRequest extends TurnPlace {
  /** Id of the turn. */
  readonly turn: string;
  /** What the client's tools gave. */
  readonly results?: readonly CallAnswer[];
  /** What a person has decided. */
  readonly approvals?: readonly Approval[];
  /**
   * What the user says behind the results; stored with them. Wants answers to all calls that wait: a message comes
   * behind a whole round.
   */
  readonly input?: TurnRequest["input"];
  /** What the client says of the input beside its content. */
  readonly client?: ClientNote;
  /**
   * Called once the answers have been found to fit, and before anything is stored, with the number of the first event
   * that is to come. What it throws refuses them.
   */
  readonly accept?: (next: number) => Promise<void>;
}

/** What a turn runs on. */
export interface TurnPorts {
  /** Where sessions live. */
  readonly store: Store;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** Makes turn ids. Default: random. */
  readonly newId?: () => string;
  /**
   * Told of each error of the turn as it came, right before the event that says no more of it than clients may hear.
   * Default: what is none of our own goes to standard error.
   */
  readonly onError?: (error: unknown) => void;
  /** Told of a turn of the session that its process had left, and that is closed before this one begins. */
  readonly onClosed?: (turn: string) => void;
  /**
   * Told of each model that could not answer, and was passed over for the next one of `fallback()`: the turn goes on.
   * Default: nobody hears of it.
   */
  readonly onFallback?: (fallback: ModelFallback) => void;
}
