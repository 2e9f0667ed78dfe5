/**
 * What the loop needs from the outside: a model, tools, a store, a clock. Adapters implement these; nothing
 * in here knows a vendor.
 *
 * @module
 */
export type { ModelSettings } from "./core/settings.ts";
export type { Usage } from "./core/usage.ts";
export type {
  ApprovalNote,
  AssistantEntry,
  CallStatus,
  ClientNote,
  CompactionNote,
  Entry,
  EntryBase,
  ResultEntry,
  UserEntry,
} from "./ports/log.ts";
export type { Dialect, FinishReason, Model, ModelEvent, ModelFallback, ModelRequest } from "./ports/model.ts";
export type {
  Branch,
  Claim,
  Commit,
  Fork,
  Lease,
  LeasedSession,
  LeaseRequest,
  OnDisconnect,
  Owner,
  Pause,
  PausedCall,
  Said,
  SessionHead,
  SessionKey,
  SessionPage,
  SessionState,
  Store,
  StoredEvent,
  StoredEvents,
} from "./ports/store.ts";
export type { Tool, ToolContext, ToolInput, ToolSchema } from "./ports/tool.ts";

/** Time, injected so that tests own it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
