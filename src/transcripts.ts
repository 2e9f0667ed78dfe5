/**
 * Anybody's transcript: read it in its own format, check it, repair it, compact it. No dependency at all.
 *
 * @module
 */
export {
  type AssistantMessage,
  type Atom,
  checkTranscript,
  type CutMethod,
  type CutPlan,
  type CutPolicy,
  cutView,
  type FilePart,
  IllegalCompactionCut,
  type Message,
  MIN_PROGRESS,
  nearestLegalCuts,
  type Pair,
  parseTranscript,
  type ProviderOptions,
  type ReasoningPart,
  type RecordKind,
  type Rejection,
  selectCut,
  SelvageError,
  type SelvageErrorOptions,
  summaryReserve,
  type SystemMessage,
  type TextPart,
  type ToolCallPart,
  type ToolMessage,
  type ToolOutput,
  type ToolResultPart,
  Transcript,
  type TranscriptRecord,
  TRIM_FLOOR,
  type TrimPlan,
  type UserMessage,
  verify,
  type VerifyInput,
  type View,
  viewMessages,
  type Violation,
  type ViolationCode,
  WHOLE_LOG,
} from "./core/mod.ts";
export {
  type CompactedTranscript,
  compactTranscript,
  type CompactTranscriptOptions,
  isLedger,
  type LedgerPair,
  type Trimmed,
} from "./compaction/wire.ts";
export { checkMessages, type OpenCall, openCalls } from "./formats/check.ts";
export type { DialectRules, Format, FormatName, JsonObject, Piece, ResultToWrite } from "./formats/format.ts";
export {
  type CallName,
  detectFormat,
  estimateTokens,
  FORMAT_NAMES,
  type Reading,
  type ReadOptions,
  readTranscript,
} from "./formats/read.ts";
export { type Repair, type RepairCode, type Repaired, repairTranscript } from "./formats/repair.ts";
export type { CallStatus } from "./ports.ts";
