/**
 * Selvage: an agent loop that compacts its context mid-turn without severing a tool call from its result.
 *
 * @module
 */
export {
  checkTranscript,
  type CutPlan,
  type CutPolicy,
  IllegalCompactionCut,
  type Message,
  parseTranscript,
  selectCut,
  SelvageError,
  Transcript,
  type TranscriptRecord,
  verify,
  type Violation,
} from "./core/mod.ts";
export { type Encoding, loadCounter, type TokenCounter } from "./tokens/counter.ts";
export type { MeterTier } from "./tokens/meter.ts";
export { type MediaFamily, type ModelFacts, modelFacts, UNKNOWN_MODEL } from "./tokens/models.ts";
export type { AnswerFormat, ToolChoice } from "./core/settings.ts";
export type { CompactionLimits, CompactionSettings } from "./compaction/budget.ts";
export type {
  Agent,
  AgentTools,
  AiSdkTool,
  AiSdkToolSet,
  AnswerRequest,
  Approval,
  BeginsWith,
  CallAnswer,
  ResumeRequest,
  ToolsOf,
  TurnPlace,
  TurnPorts,
  TurnRequest,
} from "./loop/agent.ts";
export type { CallPlace, CompactionEvent, TurnEvent, TurnEventBody } from "./loop/events.ts";
export type { PendingCall } from "./loop/pause.ts";
export { defineTool, type InputSchema, type ToolDefinition } from "./loop/tools.ts";
export { answerTurn, resumeTurn, runTurn } from "./loop/turn.ts";
export {
  aiSdk,
  type AiSdkOptions,
  anthropic,
  type AnthropicOptions,
  clerk,
  fallback,
  type FallbackOptions,
  type HostedModelOptions,
  openaiChat,
  type OpenAIChatOptions,
  openaiResponses,
  type OpenAIResponsesOptions,
  type Script,
  scripted,
  type ScriptedOptions,
  type ScriptedReply,
} from "./models/mod.ts";
export { kvStore, type KvStoreOptions } from "./store/kv.ts";
export { memoryStore, type MemoryStoreOptions } from "./store/memory.ts";
export { deleteUnused } from "./store/retention.ts";
export {
  type McpCall,
  type McpHeaders,
  type McpServer,
  type McpTools,
  mcpTools,
  type McpToolsOptions,
} from "./tools/mcp.ts";
export { type WorkspaceOptions, workspaceTools } from "./tools/workspace.ts";
export {
  anyOf,
  apiKeys,
  type App,
  type Auth,
  type AuthContext,
  createApp,
  Drain,
  hashKey,
  jwt,
  type JwtOptions,
  type Limits,
  type LimitsOf,
  lineLog,
  type LineLogOptions,
  type Log,
  type LogEntry,
  type LogLevel,
  openAccess,
  type OpenAccessOptions,
  type Principal,
  trustedHeader,
  type TrustedHeaderOptions,
} from "./http/mod.ts";
export type { AppOptions } from "./http/options.ts";
export type {
  ApprovalNote,
  AssistantEntry,
  Branch,
  CallStatus,
  Claim,
  ClientNote,
  Clock,
  Commit,
  CompactionNote,
  Dialect,
  Entry,
  EntryBase,
  FinishReason,
  Fork,
  Lease,
  LeasedSession,
  LeaseRequest,
  Model,
  ModelEvent,
  ModelFallback,
  ModelRequest,
  ModelSettings,
  OnDisconnect,
  Owner,
  Pause,
  PausedCall,
  ResultEntry,
  Said,
  SessionHead,
  SessionKey,
  SessionPage,
  SessionState,
  Store,
  StoredEvent,
  StoredEvents,
  Tool,
  ToolContext,
  ToolInput,
  ToolSchema,
  Usage,
  UserEntry,
} from "./ports.ts";
