/**
 * The core: pairs, atoms, legal cuts, checks, views. Pure, without I/O, clock or dependency.
 *
 * @module
 */
export { checkTranscript } from "./check.ts";
export {
  type CutMethod,
  type CutPlan,
  type CutPolicy,
  selectCut,
  summaryReserve,
  TRIM_FLOOR,
  type TrimPlan,
} from "./cut.ts";
export { IllegalCompactionCut, SelvageError, type SelvageErrorOptions } from "./errors.ts";
export type {
  AssistantMessage,
  FilePart,
  Message,
  ProviderOptions,
  ReasoningPart,
  SystemMessage,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolOutput,
  ToolResultPart,
  UserMessage,
} from "./message.ts";
export type { Atom, Pair, RecordKind, TranscriptRecord, Violation, ViolationCode } from "./record.ts";
export { parseTranscript, Transcript } from "./transcript.ts";
export { MIN_PROGRESS, type Rejection, verify, type VerifyInput } from "./verify.ts";
export { cutView, nearestLegalCuts, type View, viewMessages, WHOLE_LOG } from "./view.ts";
