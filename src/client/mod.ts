/**
 * A typed client of the service over `fetch`, for browsers, Node and Deno. It has no dependency, and imports nothing of
 * the service but types and the machine's clock.
 *
 * @module
 */
export {
  type Client,
  type ClientTranscript,
  type CompactAnswer,
  createClient,
  type RepairAnswer,
} from "./client.ts";
export { ClientError, type ClientErrorOptions } from "./error.ts";
export type { ClientOptions, Fetch } from "./transport.ts";
export { ClientTurn } from "./turn.ts";
export type { ClientTurnResult } from "./seen.ts";
export { ClientSessions, type EntryQuery } from "./sessions.ts";
export type {
  ClientAnswers,
  ClientCall,
  ClientInput,
  ClientTool,
  ClientToolFunction,
  ClientTurnRequest,
} from "./asked.ts";
export type {
  EntryPage,
  SessionCompaction,
  SessionDetails,
  SessionList,
  SessionPins,
  SessionSummary,
  ShownEntry,
} from "./answers.ts";
export type { CompactedSession } from "../loop/compact_now.ts";
export type { TurnEvent } from "../loop/events.ts";
export type { PinnedBy } from "../compaction/pins.ts";
export type { InspectedAtom, InspectedContext } from "../loop/inspect.ts";
export type { InspectedRequest } from "../loop/inspect_request.ts";
export type { CheckDocument } from "../formats/describe.ts";
