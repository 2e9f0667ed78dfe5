/**
 * What the events of a turn look like on the wire. A type test holds them to the events of the loop.
 *
 * @module
 */
import * as z from "zod";

const step = z.int().meta({ description: "Step of the turn, from 1" });
const ref = z.string().meta({ description: "Place in the log: `e41` is an entry, `e41.0` its first call" });
const callPlace = { step, call: z.int().meta({ description: "Index in the step, from 0" }), ref };
const namedCall = { ...callPlace, name: z.string() };
const options = z.record(z.string(), z.record(z.string(), z.unknown()));
const providerOptions = options.exactOptional();

const textPart = z.object({ type: z.literal("text"), text: z.string(), providerOptions });
const filePart = z.object({
  type: z.literal("file"),
  mediaType: z.string(),
  data: z.string(),
  filename: z.string().exactOptional(),
  providerOptions,
});
const callPart = z.object({
  type: z.literal("tool-call"),
  toolCallId: z.string(),
  toolName: z.string(),
  input: z.unknown(),
  providerExecuted: z.boolean().exactOptional(),
  providerOptions,
});
const output = z.union([
  z.object({ type: z.enum(["text", "error-text"]), value: z.string() }),
  z.object({ type: z.enum(["json", "error-json"]), value: z.unknown() }),
  z.object({ type: z.literal("execution-denied"), reason: z.string().exactOptional() }),
  z.object({ type: z.literal("content"), value: z.array(z.union([textPart, filePart])) }),
]);
const resultPart = z.object({
  type: z.literal("tool-result"),
  toolCallId: z.string(),
  toolName: z.string(),
  output,
  providerOptions,
});

/** What a provider bills, summed up. */
export const usage = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cachedTokens: z.number().exactOptional(),
});

/** A call that waits. */
export const pendingCall = z.object({
  ref,
  call: z.int(),
  name: z.string(),
  input: z.unknown(),
  reason: z.enum(["tool", "approval"]).meta({
    description: "Waits for the client's result, or for a person",
  }),
});

/** Legal cuts around a target. */
export const nearest = z.object({ before: z.int().nullable(), after: z.int().nullable() });

/** What an applied, deferred or rejected compaction says of itself. */
export const compaction = z.object({
  phase: z.enum(["started", "applied", "nothing", "deferred", "rejected", "exhausted"]),
  reason: z.string(),
  view: z.int().exactOptional(),
  method: z.enum(["near", "trim", "forward"]).exactOptional(),
  cut: z.int().exactOptional(),
  distance: z.number().exactOptional(),
  pairs: z.int().exactOptional(),
  tokensBefore: z.number().exactOptional(),
  tokensAfter: z.number().exactOptional(),
  resolved: z.enum(["step", "turn"]).exactOptional(),
  summary: z.enum(["ledger", "ledger+prose"]).exactOptional(),
  summaryFailure: z.string().exactOptional(),
  violations: z.array(z.object({ code: z.string(), condition: z.string(), message: z.string() }))
    .exactOptional(),
  nearest: nearest.exactOptional(),
});

/** A reading of the meter. */
export const context = z.object({
  tokens: z.number(),
  tier: z.enum(["anchor", "bound", "exact"]),
  window: z.number(),
  compactAt: z.number(),
  stopAt: z.number(),
});

const answeredBy = z.string().exactOptional().meta({
  description:
    "The model that gave the last answer, if any has; with fallbacks maybe not the one in `turn.started`",
});

/** The data of each event by its name, and what it tells. */
export const EVENTS = {
  "turn.started": z.object({
    turn: z.string(),
    session: z.string(),
    agent: z.string(),
    model: z.string(),
  }).meta({ description: "The turn has begun" }),
  "step.started": z.object({ step }).meta({
    description: "A model call begins; one of a step that was told before replaces what was streamed of it",
  }),
  "user.message": z.object({ ref, input: z.union([z.string(), z.array(z.union([textPart, filePart]))]) })
    .meta({
      description: "What was said to the turn while it ran is in the log from here on",
    }),
  "text.delta": z.object({ step, text: z.string() }).meta({ description: "Text, as the model writes it" }),
  "reasoning.delta": z.object({ step, text: z.string() }).meta({
    description: "Reasoning, as the model writes it",
  }),
  "part.end": z.object({ step, kind: z.enum(["text", "reasoning"]), metadata: options.exactOptional() }).meta(
    {
      description: "Text or reasoning is whole",
    },
  ),
  "part": z.object({ step, part: z.union([filePart, callPart, resultPart]) }).meta({
    description: "A file, or a call that the provider ran itself, or its result",
  }),
  "tool.input.delta": z.object({ ...namedCall, delta: z.string() }).meta({
    description: "Arguments of a call, as the model writes them",
  }),
  "tool.input.end": z.object(callPlace).meta({ description: "The arguments of a call are whole" }),
  "tool.call": z.object({ ...namedCall, input: z.unknown() }).meta({
    description: "A call with its arguments",
  }),
  "tool.progress": z.object({ ...namedCall, data: z.unknown() }).meta({
    description: "What a tool tells while it works",
  }),
  "tool.result": z.object({
    ...namedCall,
    status: z.enum(["ok", "error", "aborted"]),
    output: z.unknown().meta({ description: "As the model is shown it" }),
    shortened: z.boolean(),
    denied: z.boolean().exactOptional(),
    ms: z.number(),
  }).meta({ description: "The one result of a call" }),
  "context": context.meta({ description: "How full the context is, in the provider's tokens" }),
  "compaction": compaction.meta({ description: "What happened to a compaction" }),
  "turn.paused": z.object({
    reason: z.enum(["tool", "approval"]),
    pending: z.array(pendingCall),
    usage,
    steps: z.int(),
    model: answeredBy,
  }).meta({ description: "Calls wait for answers: the stream ends, and goes on with them" }),
  "turn.finished": z.object({
    reason: z.enum(["stop", "length", "content-filter", "max-steps", "aborted", "error"]),
    usage,
    steps: z.int(),
    model: answeredBy,
  }).meta({ description: "The turn is over" }),
  "error": z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }).meta({
    description: "What the turn ends with, where it fails; `turn.finished` follows",
  }),
} as const;
