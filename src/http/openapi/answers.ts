/**
 * What the routes answer. A test holds them to what the routes really say.
 *
 * @module
 */
import * as z from "zod";
import { compaction, context, nearest, pendingCall, usage } from "./events.ts";

const time = z.number().meta({ description: "Milliseconds since the epoch" });
const ref = z.string().meta({ description: "`e41` is an entry of the log, `e41.0` its first call" });
const flag = z.object({ reason: z.string(), since: z.int() }).nullable().meta({
  description: "A compaction that was due and found no legal cut",
});
const violation = z.object({
  code: z.string(),
  condition: z.string(),
  at: z.int(),
  callId: z.string().nullable(),
  message: z.string(),
});
const repair = z.object({
  code: z.string(),
  at: z.int(),
  callId: z.string().nullable(),
  message: z.string(),
  to: z.int().nullable().exactOptional(),
});
const jsonObject = z.record(z.string(), z.unknown());
const callName = z.union([z.string(), z.object({ at: z.int(), call: z.int() })]);

/** Whether the service is there. */
export const status = z.object({ status: z.string() });

/** A turn as one document. */
export const turnDocument = z.object({
  turn: z.string(),
  session: z.string(),
  agent: z.string(),
  model: z.string().meta({
    description: "The model that gave the last answer; else the one that was to answer",
  }),
  reason: z.string().meta({ description: "As in `turn.finished`; `paused` where calls wait for answers" }),
  pending: z.array(pendingCall).exactOptional(),
  text: z.string().meta({ description: "Text of the last step" }),
  steps: z.int(),
  usage: usage.nullable(),
  calls: z.array(z.looseObject({ ref, step: z.int(), name: z.string() })),
  compactions: z.array(compaction),
  context: context.nullable(),
});

/** A message was taken. */
export const messageTaken = z.object({ turn: z.string(), message: z.int() });

/** A turn was cancelled. */
export const cancelled = z.object({
  turn: z.string(),
  cancelled: z.boolean().meta({ description: "Whether it ended by that" }),
});

/** A turn was cancelled by the key of its request. */
export const cancelledKey = cancelled.extend({
  turn: z.string().nullable().meta({ description: "null: nothing of it is stored, and it does not begin" }),
});

/** The request of a step. */
export const stepRequest = z.looseObject({
  session: z.string(),
  turn: z.string(),
  step: z.int(),
  answer: ref,
  model: z.string(),
  view: z.int(),
  tokens: z.object({ counted: z.number(), billed: usage.nullable() }),
  isExact: z.boolean().meta({ description: "False where the agent is not what it was then" }),
});

const summary = {
  session: z.string(),
  agent: z.string(),
  entries: z.int(),
  view: z.int().meta({ description: "Number of the view in force, 0 for the log itself" }),
  flag,
  running: z.object({ turn: z.string(), until: time }).nullable(),
  paused: z.object({
    turn: z.string(),
    pending: z.array(
      z.looseObject({ ref, name: z.string(), reason: z.enum(["tool", "approval"]) }),
    ),
  }).nullable(),
  createdAt: time,
  updatedAt: time,
};

/** A page of sessions. */
export const sessionList = z.object({
  sessions: z.array(z.object(summary)),
  next: z.string().nullable().meta({ description: "`after` of the next page" }),
});

/** One session. */
export const session = z.object({
  ...summary,
  branch: z.int(),
  branches: z.array(z.object({ branch: z.int(), parent: z.int().nullable(), at: z.int(), entries: z.int() })),
});

const entry = z.looseObject({
  ref,
  kind: z.enum(["user", "assistant", "result"]),
  seq: z.int(),
  turn: z.string(),
  at: time,
});

/** A page of the log. */
export const entryPage = z.object({
  session: z.string(),
  total: z.int(),
  next: z.int().nullable(),
  entries: z.array(entry),
});

/** One original, a call with its result, a page of a text, or hits of a search. */
export const original = z.union([
  entry,
  z.looseObject({ ref, name: z.string(), input: z.unknown(), result: entry.nullable() }),
  z.object({
    ref: z.string(),
    search: z.string(),
    hits: z.array(z.looseObject({ ref })),
    next: z.int().nullable(),
    searchedTo: z.unknown(),
  }),
  z.object({
    ref: z.string(),
    text: z.string(),
    offset: z.int(),
    end: z.int(),
    total: z.int(),
    next: z.int().nullable(),
  }),
]);

/** What a model is shown of a session. */
export const sessionContext = z.object({
  session: z.string(),
  view: z.int(),
  cut: z.int().meta({ description: "First entry that is shown raw" }),
  atoms: z.array(z.looseObject({
    from: z.int(),
    to: z.int().meta({ description: "One past the last entry" }),
    kind: z.string(),
    open: z.boolean(),
    state: z.enum(["raw", "shortened", "pinned", "summarised"]),
    pinnedBy: z.enum(["caller", "turn", "tool", "released"]).exactOptional(),
    tokens: z.number().meta({ description: "Of the originals" }),
    shown: z.number().meta({ description: "Of what the model is shown of it" }),
  })),
  legalCuts: z.array(z.int()),
  summary: z.object({ text: z.string(), tokens: z.number() }).nullable(),
  meter: z.object({ tokens: z.number(), window: z.number(), compactAt: z.number(), stopAt: z.number() }),
  flag,
});

/** Pins of a session. */
export const pins = z.object({
  session: z.string(),
  pins: z.array(z.object({ ref, kind: z.enum(["user", "result"]), entries: z.array(z.string()) })),
  tokens: z.number(),
  limit: z.number(),
});

/** A compaction between two turns. */
export const sessionCompaction = z.object({
  session: z.string(),
  outcome: z.enum(["applied", "nothing", "deferred", "rejected"]),
  dryRun: z.boolean(),
  view: z.int(),
  tokensBefore: z.number(),
  tokensAfter: z.number(),
  method: z.enum(["near", "trim", "forward"]).exactOptional(),
  cut: z.int().exactOptional(),
  distance: z.number().exactOptional(),
  pairs: z.int().exactOptional(),
  refs: z.array(z.string()).exactOptional(),
  summary: z.enum(["ledger", "ledger+prose"]).exactOptional(),
  usage: usage.exactOptional(),
  ledger: z.string().exactOptional(),
  summaryFailure: z.string().exactOptional(),
  reason: z.string(),
  nearest: nearest.exactOptional(),
  violations: z.array(z.looseObject({ code: z.string(), message: z.string() })).exactOptional(),
});

/** A checked transcript. */
export const checked = z.object({
  valid: z.boolean(),
  format: z.string(),
  violations: z.array(violation),
  notices: z.array(violation),
  atoms: z.array(z.object({
    from: z.int(),
    to: z.int(),
    kind: z.string(),
    state: z.enum(["open", "closed"]),
    tokens: z.number(),
  })),
  legalCuts: z.array(z.int()),
  pending: z.array(callName),
  abandoned: z.array(callName),
  openCalls: z.array(z.object({
    at: z.int(),
    call: z.int(),
    callId: z.string().nullable(),
    name: z.string().nullable(),
    state: z.enum(["in_flight", "abandoned"]),
  })),
});

/** A repaired transcript. */
export const repaired = z.object({
  messages: z.array(jsonObject),
  repairs: z.array(repair),
  violations: z.array(violation),
});

/** A compacted transcript. */
export const compacted = z.object({
  format: z.string(),
  outcome: z.enum(["applied", "nothing", "deferred", "refused"]),
  messages: z.array(jsonObject).exactOptional(),
  plan: z.literal(true).exactOptional(),
  toSummarise: z.array(jsonObject).exactOptional(),
  cut: z.object({ at: z.int(), method: z.string(), distance: z.number(), lookbackUsed: z.number() })
    .nullable(),
  tokens: z.object({ before: z.number(), after: z.number(), budget: z.number() }),
  ledger: z.array(z.object({
    tool: z.string(),
    arguments: z.string(),
    outcome: z.enum(["ok", "error", "aborted"]),
    digest: z.string(),
    callId: z.string().nullable(),
    at: z.int(),
    ref: z.string(),
  })),
  trims: z.array(z.object({
    at: z.int(),
    callId: z.string().nullable(),
    tokensBefore: z.number(),
    tokensAfter: z.number(),
  })),
  repairs: z.array(repair),
  signed: z.array(z.int()),
  violations: z.array(violation),
  reason: z.string().nullable(),
  nearest: nearest.nullable(),
});

/** A model of OpenAI's protocol: an agent. */
export const model = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.int(),
  owned_by: z.string(),
});

/** All of them. */
export const modelList = z.object({ object: z.literal("list"), data: z.array(model) });

/** An answer of OpenAI's protocol. */
export const completion = z.looseObject({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.int(),
  model: z.string(),
  choices: z.array(z.looseObject({ index: z.int(), finish_reason: z.string() })),
});

/** An error of OpenAI's protocol. */
export const openaiError = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});

/** Messages as chat clients of the AI SDK keep them. */
export const uiMessages = z.array(
  z.looseObject({ id: z.string(), role: z.string(), parts: z.array(z.looseObject({ type: z.string() })) }),
);
