/**
 * For loops that the AI SDK runs: compaction as a `prepareStep`.
 *
 * @module
 */
export { compactSteps } from "./compact_steps.ts";
export type { CompactSteps } from "./compact_steps.ts";
export type { CompactStepsEvent, CompactStepsOptions, Summarize, SummaryAsked } from "./options.ts";
export type {
  ArgumentSchema,
  CheckedArguments,
  LoopMessage,
  LoopStep,
  LoopTool,
  PreparedStep,
  StepOptions,
} from "./types.ts";
