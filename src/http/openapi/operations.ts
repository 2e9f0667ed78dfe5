/**
 * Every route in one table: what it takes, by the schemas that it checks with, what it answers, and what it refuses.
 * Tests hold the table to the router and to the table of error codes, both ways. Over 300 lines: rows of one table, which
 * are read side by side.
 *
 * @module
 */
import * as z from "zod";
import { aguiBody } from "../decode/agui_request.ts";
import { completionBody } from "../decode/completion_request.ts";
import { chatBody } from "../decode/ui_request.ts";
import { compactBody as sessionCompactBody, pinBody } from "../routes/at_rest.ts";
import { compactBody, readingBody } from "../routes/transcripts.ts";
import { answerBody, messageBody, turnBody } from "../turn_bodies.ts";
import * as answers from "./answers.ts";

/** What a route answers with one status. */
export interface Answer {
  readonly description: string;
  /** What is in it; nothing, where it has no body. */
  readonly schema?: z.ZodType;
  /** `turn`: also, or only, as a stream of the turn's events. `text`: as a stream of another protocol. */
  readonly stream?: "turn" | "text";
  /** Media type. Default JSON. */
  readonly type?: string;
}

/** One route. */
export interface Operation {
  /** Name in generated clients. */
  readonly id: string;
  readonly tag: "turns" | "sessions" | "transcripts" | "openai" | "chat" | "agui" | "service";
  readonly summary: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: z.ZodType;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Codes of what it refuses, beside what stands before every route. */
  readonly codes?: readonly string[];
  /** Codes that are the caller's here, as they name a field of the request. */
  readonly fieldCodes?: readonly string[];
  /** How errors are told. Default: problem documents. */
  readonly errors?: "openai" | "chat";
  /** Whether anybody may ask. */
  readonly isPublic?: true;
}

/** What stands before every route that is not public. */
export const DOOR: readonly string[] = [
  "unauthorized",
  "open_access_refused",
  "auth_unavailable",
  "store_busy",
  "store_unavailable",
  "internal",
];

/** What is said where there is no route, or none by that method. */
export const NO_ROUTE: readonly string[] = ["not_found", "method_not_allowed"];

const BODY = [
  ...["bad_json", "bad_request", "body_cut_off", "body_stalled", "body_too_large"],
  ...["unsupported_encoding", "service_full"],
];
const START = [
  ...BODY,
  ...["unknown_agent", "input_empty", "input_too_large", "bad_client_tools", "setting_unsupported"],
  ...["turn_running", "turn_paused", "turn_interrupted", "turn_exists", "idempotency_key_reused"],
  ...["rate_limited", "too_many_turns", "tools_unavailable", "tools_too_large", "lease_lost"],
  ...["shutting_down", "bad_budget", "turn_aborted"],
];
const RUN = [
  ...["turn_suspended", "turn_lost", "turn_out_of_tokens", "turn_out_of_time"],
  ...["context_exhausted", "context_length_exceeded", "model_auth", "model_not_found", "model_refused"],
  ...["model_bad_response", "model_stream_cut", "model_stream_error", "model_unreachable"],
  ...["model_rate_limited", "model_unavailable", "model_stalled"],
];
/** What is said where an agent's tools are found out for a request. */
const TOOLS = ["tools_unavailable", "tools_too_large"];
const PAUSED = ["turn_not_paused", "call_not_found", "call_not_pending"];
const BRANCHES = ["bad_fork", "too_many_branches"];
/** What is refused where a session is read, or a branch of it. */
const SESSION = ["session_not_found", "branch_not_found", "bad_request"];
/** What is refused where a session is changed between its turns. */
const REST = [
  ...[...BODY, "session_not_found", "unknown_agent", "turn_running", "turn_paused", "turn_interrupted"],
  ...["lease_lost", "shutting_down", ...TOOLS],
];
const TRANSCRIPT = [
  ...BODY,
  ...["bad_transcript", "bad_message", "unknown_format", "unknown_call", "bad_tokens", "shutting_down"],
];

const KEY = {
  "Idempotency-Key": "Makes a second request with the same body the same one; 1 to 255 visible characters",
};
const BRANCH = { branch: "Number of a branch; default: the one in force" };

function ok(schema: z.ZodType): Readonly<Record<number, Answer>> {
  return { 200: { description: "What was asked for", schema } };
}

function text(type: string, description: string): Readonly<Record<number, Answer>> {
  return { 200: { description, type } };
}

const turn = answers.turnDocument.meta({ id: "Turn" });
const session = answers.session.meta({ id: "Session" });
const model = answers.model.meta({ id: "Model" });
const pins = answers.pins.meta({ id: "Pins" });
const transcript = readingBody.meta({ id: "TranscriptRequest" });
const ran = {
  200: {
    description: "The turn, as a stream, or with `stream: false` as one document",
    schema: turn,
    stream: "turn",
  },
} as const;

/** The routes, by method and path as the router has them. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  "POST /v1/turns": {
    id: "runTurn",
    tag: "turns",
    summary: "Runs a turn",
    headers: KEY,
    body: turnBody.meta({ id: "TurnRequest" }),
    answers: ran,
    codes: [...START, ...RUN, "queue_full", "pinned_too_big"],
  },
  "GET /v1/turns/:id/events": {
    id: "followTurn",
    tag: "turns",
    summary: "The events of a turn again, live while it runs",
    headers: { "Last-Event-ID": "The last event that was seen: what comes after it is sent" },
    query: { after: "The same as Last-Event-ID" },
    answers: {
      200: { description: "The events", stream: "turn" },
      204: { description: "There are no more" },
    },
    codes: ["turn_not_found", "shutting_down"],
  },
  "POST /v1/turns/:id/results": {
    id: "answerTurn",
    tag: "turns",
    summary: "Answers calls that wait, and goes on with the turn",
    headers: KEY,
    body: answerBody.meta({ id: "TurnAnswers" }),
    answers: ran,
    codes: [
      ...[...BODY, ...PAUSED, "turn_not_found", "unknown_agent", "idempotency_key_reused", "too_many_turns"],
      ...["tools_unavailable", "lease_lost", "turn_running", "shutting_down", ...RUN],
    ],
  },
  "POST /v1/turns/:id/messages": {
    id: "sendMessage",
    tag: "turns",
    summary: "Says something to a turn that runs: it enters at the next step",
    headers: KEY,
    body: messageBody.meta({ id: "TurnMessage" }),
    answers: { 202: { description: "It was taken", schema: answers.messageTaken } },
    codes: [
      ...[...BODY, "turn_not_found", "turn_over", "turn_paused", "input_empty", "input_too_large"],
      ...["too_many_messages", "idempotency_key_reused", "shutting_down", "unknown_agent", ...TOOLS],
    ],
  },
  "POST /v1/turns/cancel": {
    id: "cancelTurnByKey",
    tag: "turns",
    summary: "Ends the turn that was asked for under a key, or keeps it from beginning",
    headers: { "Idempotency-Key": "That of the request which starts the turn" },
    answers: ok(answers.cancelledKey),
    codes: ["bad_request", "rate_limited"],
  },
  "POST /v1/turns/:id/cancel": {
    id: "cancelTurn",
    tag: "turns",
    summary: "Ends a turn, wherever it runs",
    answers: ok(answers.cancelled),
    codes: ["turn_not_found", "shutting_down"],
  },
  "GET /v1/turns/:id/steps/:step/request": {
    id: "getStepRequest",
    tag: "turns",
    summary: "The exact request that the model was sent in a step",
    query: {
      diff: "`n-1`, or the number of an earlier step: only what differs from it",
      session: "The session, for a turn that ended over a day ago",
    },
    answers: ok(answers.stepRequest.meta({ id: "StepRequest" })),
    codes: ["turn_not_found", "step_not_found", "bad_request", "unknown_agent"],
  },
  "GET /v1/sessions": {
    id: "listSessions",
    tag: "sessions",
    summary: "The sessions of the caller, the newest first",
    query: { limit: "How many", after: "What the page before gave as `next`" },
    answers: ok(answers.sessionList.meta({ id: "SessionList" })),
    codes: ["bad_request"],
  },
  "GET /v1/sessions/:id": {
    id: "getSession",
    tag: "sessions",
    summary: "What there is of a session",
    query: BRANCH,
    answers: ok(session),
    codes: SESSION,
  },
  "DELETE /v1/sessions/:id": {
    id: "deleteSession",
    tag: "sessions",
    summary: "Ends what runs in a session and deletes it",
    answers: { 204: { description: "It is gone" } },
    codes: ["session_not_found"],
  },
  "GET /v1/sessions/:id/export": {
    id: "exportSession",
    tag: "sessions",
    summary: "The whole session, as lines of JSON",
    query: BRANCH,
    answers: text("application/x-ndjson", "What there is, each entry, the views"),
    codes: SESSION,
  },
  "GET /v1/sessions/:id/messages": {
    id: "listEntries",
    tag: "sessions",
    summary: "The log: every original, never edited",
    query: { from: "Number of the first entry", ...BRANCH },
    answers: ok(answers.entryPage.meta({ id: "EntryPage" })),
    codes: SESSION,
  },
  "GET /v1/sessions/:id/context": {
    id: "getContext",
    tag: "sessions",
    summary: "What the model is shown: every atom, the legal cuts, the summary, the meter",
    query: BRANCH,
    answers: ok(answers.sessionContext.meta({ id: "SessionContext" })),
    codes: [...SESSION, "unknown_agent", "shutting_down", ...TOOLS],
  },
  "GET /v1/sessions/:id/entries/:ref": {
    id: "getEntry",
    tag: "sessions",
    summary: "One original: an entry (`e41`), a call with its result (`e41.0`), a range (`e3..e17`)",
    query: {
      offset: "First character of its text, or hits to pass over",
      limit: "Characters, or hits",
      search: "Text that is looked for in it",
      ...BRANCH,
    },
    answers: ok(answers.original.meta({ id: "Original" })),
    codes: [...SESSION, "entry_not_found"],
  },
  "POST /v1/sessions/:id/compact": {
    id: "compactSession",
    tag: "sessions",
    summary: "Compacts a session between two turns, or says what would come of that",
    headers: KEY,
    body: sessionCompactBody.meta({ id: "SessionCompactRequest" }),
    answers: ok(answers.sessionCompaction.meta({ id: "SessionCompaction" })),
    codes: [
      ...[...REST, "idempotency_key_reused", "bad_budget", "rate_limited", "too_many_turns"],
    ],
  },
  "GET /v1/sessions/:id/pins": {
    id: "listPins",
    tag: "sessions",
    summary: "What stays verbatim through compactions",
    answers: ok(pins),
    codes: ["session_not_found", "unknown_agent", "shutting_down", ...TOOLS],
  },
  "POST /v1/sessions/:id/pins": {
    id: "setPin",
    tag: "sessions",
    summary: "Pins a message of the user or a call with its result, or lets it go",
    body: pinBody.meta({ id: "PinRequest" }),
    answers: ok(pins),
    codes: [...REST, "entry_not_found", "bad_pin", "pinned_too_big"],
  },
  "POST /v1/check": {
    id: "checkTranscript",
    tag: "transcripts",
    summary: "What is wrong in a transcript, its atoms, legal cuts and open calls",
    body: transcript,
    answers: ok(answers.checked.meta({ id: "CheckedTranscript" })),
    codes: TRANSCRIPT,
  },
  "POST /v1/repair": {
    id: "repairTranscript",
    tag: "transcripts",
    summary: "The transcript mended, and each change",
    body: transcript,
    answers: ok(answers.repaired.meta({ id: "RepairedTranscript" })),
    codes: TRANSCRIPT,
  },
  "POST /v1/compact": {
    id: "compactTranscript",
    tag: "transcripts",
    summary: "The transcript with old messages replaced by a ledger",
    body: compactBody.meta({ id: "TranscriptCompactRequest" }),
    answers: ok(answers.compacted.meta({ id: "CompactedTranscript" })),
    codes: [...TRANSCRIPT, "bad_pin", "summary_blank", "summary_too_large", "illegal_cut"],
    fieldCodes: ["bad_budget"],
  },
  "POST /v1/chat/completions": {
    id: "createCompletion",
    tag: "openai",
    summary: "The protocol of OpenAI: an agent as a model",
    headers: {
      ...KEY,
      "x-selvage-session": "A session that keeps the log; only what is new is appended then",
    },
    body: completionBody.meta({ id: "CompletionRequest" }),
    answers: {
      200: {
        description: "The answer, with `stream: true` as chunks",
        schema: answers.completion.meta({ id: "Completion" }),
        stream: "text",
      },
    },
    codes: [...START, ...RUN, ...PAUSED, ...BRANCHES, "history_mismatch"],
    errors: "openai",
  },
  "GET /v1/models": {
    id: "listModels",
    tag: "openai",
    summary: "The agents, as models",
    answers: ok(answers.modelList.meta({ id: "ModelList" })),
    errors: "openai",
  },
  "GET /v1/models/:id": {
    id: "getModel",
    tag: "openai",
    summary: "One agent, as a model",
    answers: ok(model),
    codes: ["unknown_agent"],
    errors: "openai",
  },
  "POST /api/chat": {
    id: "chat",
    tag: "chat",
    summary: "What `useChat` of the AI SDK sends: a message, an answer to calls, or one answered anew",
    body: chatBody.meta({ id: "ChatRequest" }),
    answers: { 200: { description: "A UI message stream", stream: "text" } },
    codes: [...START, ...RUN, ...PAUSED, ...BRANCHES, "history_mismatch", "turn_not_found"],
    errors: "chat",
  },
  "GET /api/chat/:id": {
    id: "getChat",
    tag: "chat",
    summary: "The messages of a chat, as `useChat` keeps them",
    query: BRANCH,
    answers: ok(answers.uiMessages),
    codes: SESSION,
    errors: "chat",
  },
  "GET /api/chat/:id/stream": {
    id: "resumeChat",
    tag: "chat",
    summary: "Goes on with what runs in a chat",
    answers: {
      200: { description: "A UI message stream", stream: "text" },
      204: { description: "Nothing runs" },
    },
    codes: ["session_not_found", "shutting_down"],
    errors: "chat",
  },
  "POST /agui": {
    id: "runAgui",
    tag: "agui",
    summary:
      "A run of AG-UI 1.0: a thread is a session, a run is a turn, or what answers make of one that waits",
    query: { agent: "Name of the agent that a new turn is for; default: `default`" },
    headers: KEY,
    body: aguiBody.meta({ id: "RunAgentInput" }),
    answers: { 200: { description: "Events of AG-UI", stream: "text" } },
    codes: [...START, ...PAUSED, ...BRANCHES],
  },
  "GET /healthz": {
    id: "getHealth",
    tag: "service",
    summary: "200 while the store answers",
    answers: ok(answers.status),
    codes: ["store_busy", "store_unavailable", "internal"],
    isPublic: true,
  },
  "GET /readyz": {
    id: "getReadiness",
    tag: "service",
    summary: "200 while the store answers and takes writes, and new turns are taken",
    answers: ok(answers.status),
    codes: ["shutting_down", "store_busy", "store_unavailable", "internal"],
    isPublic: true,
  },
  "GET /openapi.json": {
    id: "getDocument",
    tag: "service",
    summary: "This document",
    answers: ok(z.looseObject({ openapi: z.string() })),
    isPublic: true,
  },
  "GET /reference": {
    id: "getReference",
    tag: "service",
    summary: "This document, as a page",
    answers: text("text/html", "The page"),
    isPublic: true,
  },
  "GET /reference.css": {
    id: "getReferenceStyle",
    tag: "service",
    summary: "How the page looks",
    answers: text("text/css", "The style sheet"),
    isPublic: true,
  },
  "GET /": {
    id: "getPage",
    tag: "service",
    summary: "A page that talks to the service and shows what the model is shown",
    answers: { 200: { description: "The page", type: "text/html" } },
    isPublic: true,
  },
  "GET /doctor": {
    id: "getDoctor",
    tag: "service",
    summary: "A page that checks, repairs and compacts transcripts in the browser; nothing is uploaded",
    answers: text("text/html", "The page"),
    isPublic: true,
  },
  "GET /assets/:name": {
    id: "getAsset",
    tag: "service",
    summary: "A style sheet or a script of a page",
    answers: text("text/plain", "The file"),
    codes: ["not_found"],
    isPublic: true,
  },
};
