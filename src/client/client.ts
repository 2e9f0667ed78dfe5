/**
 * The typed client: a service over `fetch`, in browsers, Node and Deno, without any dependency.
 *
 * @module
 */
import type { CompactedTranscript, CompactTranscriptOptions } from "../compaction/wire.ts";
import type { Violation } from "../core/record.ts";
import type { CheckDocument } from "../formats/describe.ts";
import type { FormatName, JsonObject } from "../formats/format.ts";
import type { ReadOptions as Reading } from "../formats/read.ts";
import type { Repair } from "../formats/repair.ts";
import type { InspectedRequest } from "../loop/inspect_request.ts";
import type { ClientTurnRequest } from "./asked.ts";
import { ClientSessions, queryOf } from "./sessions.ts";
import { type ClientOptions, Transport } from "./transport.ts";
import { ClientTurn } from "./turn.ts";

/** A transcript in any of the formats, and how it is read. */
export interface ClientTranscript
  extends Pick<Reading, "format" | "inFlight" | "longRunning" | "thinking" | "tokens"> {
  /** The messages. */
  readonly messages: readonly JsonObject[];
  /** Name of the model whose tokens are counted. */
  readonly model?: string;
}

/** What a repair came to. */
export interface RepairAnswer {
  /** The mended transcript. */
  readonly messages: readonly JsonObject[];
  /** Each change. */
  readonly repairs: readonly Repair[];
  /** What is still wrong. */
  readonly violations: readonly Violation[];
}

/** What a compaction came to. With `plan` it has no messages. */
export type CompactAnswer = Omit<CompactedTranscript, "messages"> & {
  readonly format: FormatName;
  readonly messages?: readonly JsonObject[];
  readonly plan?: true;
};

/** A service. */
export interface Client {
  /** Sessions of the caller. */
  readonly sessions: ClientSessions;
  /** A turn; it begins when its events are read. */
  turn(request: ClientTurnRequest): ClientTurn;
  /** A turn that was started elsewhere, from its beginning or from behind the event `after` on. */
  follow(
    turn: string,
    options?: { readonly after?: string } & Pick<ClientTurnRequest, "tools" | "approve" | "signal">,
  ): ClientTurn;
  /** The exact request that the model was sent in a step of a turn, from 1. */
  request(
    turn: string,
    options: { readonly step: number; readonly session?: string },
  ): Promise<InspectedRequest & { readonly session: string }>;
  /** What is wrong in a transcript, its atoms, legal cuts and open calls. */
  check(transcript: ClientTranscript): Promise<CheckDocument>;
  /** The transcript mended, and each change. */
  repair(transcript: ClientTranscript): Promise<RepairAnswer>;
  /** The transcript with old messages replaced by a ledger. */
  compact(transcript: ClientTranscript & Omit<CompactTranscriptOptions, "force">): Promise<CompactAnswer>;
}

/**
 * Makes a client of a service.
 *
 * Nothing is sent before something is asked for. What fails in passing (no connection, 429, 502, 503, 504) is tried
 * again, with growing waits that are not less than `Retry-After`; requests carry an `Idempotency-Key`, so that one
 * that was sent twice is done once. A stream that breaks is gone on with by `Last-Event-ID`.
 *
 * @param options Where the service is, a key or headers, and limits on tries and time.
 * @throws {TypeError} For an option that is unknown, missing or of the wrong kind.
 *
 * @example
 * ```ts
 * import { createApp, memoryStore, scripted } from "@selvage/selvage";
 * import { createClient } from "@selvage/selvage/client";
 *
 * const model = scripted({ script: () => ({ text: "Hello." }) });
 * const app = createApp({ agents: { default: { model } }, store: memoryStore() });
 * // A service elsewhere needs its address only.
 * const client = createClient({ url: "http://127.0.0.1", fetch: async (url, init) => await app.request(url, init) });
 *
 * const turn = client.turn({ session: "s1", input: "Hi" });
 * for await (const event of turn) {
 *   if (event.type === "text.delta") console.log(event.text); // Hello.
 * }
 * console.log((await turn.result()).reason); // stop
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const transport = new Transport(options);
  const post = <T>(path: string, body: unknown): Promise<T> =>
    transport.json<T>(path, { method: "POST", body });
  return {
    sessions: new ClientSessions(transport),
    turn: (request) => new ClientTurn(transport, { request }),
    follow: (turn, { after, ...request } = {}) =>
      new ClientTurn(transport, { turn, request, ...(after === undefined ? {} : { after }) }),
    request: (turn, { step, session }) =>
      transport.json(`/v1/turns/${encodeURIComponent(turn)}/steps/${step}/request${queryOf({ session })}`),
    check: (transcript) => post("/v1/check", transcript),
    repair: (transcript) => post("/v1/repair", transcript),
    compact: (transcript) => post("/v1/compact", transcript),
  };
}
