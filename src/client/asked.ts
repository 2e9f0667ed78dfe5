/**
 * What a turn is asked to do, as a client says it.
 *
 * @module
 */
import type { CompactionSettings } from "../compaction/budget.ts";
import type { FilePart, TextPart } from "../core/message.ts";
import type { Approval, CallAnswer } from "../loop/agent.ts";
import type { PendingCall } from "../loop/pause.ts";
import type { OnDisconnect, ToolSchema } from "../ports.ts";

/** What the user says: text, or text and files. */
export type ClientInput = string | readonly (TextPart | FilePart)[];

/** A call that waits, and what ends the work for it. */
export interface ClientCall extends PendingCall {
  /** Aborts with the turn's signal, or when its events are left. */
  readonly signal: AbortSignal;
}

/**
 * Runs a tool on the client. What it gives is the output: text, a list of `text` and `file` parts, or any other JSON;
 * what it throws is an error for the model.
 *
 * The arguments are what the model wrote, held to no schema here. A function may say what it takes them for
 * (`({ city }: { city: string }) => …`): the parameter is that of a method, which may be narrower.
 */
export type ClientToolFunction = { run(input: unknown, call: ClientCall): unknown }["run"];

/** A tool that the client brings along with the turn. */
export interface ClientTool extends Omit<ToolSchema, "name"> {
  /** Runs it. */
  readonly execute: ClientToolFunction;
}

/** What a turn is asked to do. */
export interface ClientTurnRequest {
  /** What the user says. */
  readonly input: ClientInput;
  /** The session to go on with. Default: a new one, named in `turn.started`. */
  readonly session?: string;
  /** Name of the agent. Default `default`. */
  readonly agent?: string;
  /** Keeps the input verbatim through every compaction. */
  readonly pin?: boolean;
  /** When compaction is due in this turn and what it aims at, within the agent's limits. */
  readonly compaction?: CompactionSettings;
  /**
   * Without it a broken stream is found again, and leaving the events early cancels the turn. `continue`: leaving lets
   * it run. `abort`: a broken connection ends it, too.
   */
  readonly onDisconnect?: OnDisconnect;
  /** Tools that the model may call and this program answers by itself, later or elsewhere. */
  readonly clientTools?: readonly ToolSchema[];
  /** What becomes of a turn of the session that waits for answers. Default `reject`. */
  readonly onPaused?: "reject" | "abort";
  /** What is done while another turn of the session runs. Default `reject`, after ten seconds. */
  readonly whenBusy?: "reject" | "enqueue";
  /**
   * Tools that are run here, by name: the turn goes on with what they give. A function answers a tool that the agent
   * has without `execute`; one with its description and schema is brought along.
   */
  readonly tools?: Readonly<Record<string, ClientToolFunction | ClientTool>>;
  /** Decides on calls that wait for a person. Default: the events end, and wait for `answer()`. */
  readonly approve?: (
    call: ClientCall,
  ) =>
    | boolean
    | { readonly approved: boolean; readonly reason?: string }
    | Promise<
      boolean | { readonly approved: boolean; readonly reason?: string }
    >;
  /** Cancels the turn. */
  readonly signal?: AbortSignal;
  /** Makes a second request with the same key the same turn, over restarts of the client, too. Default: a random one. */
  readonly idempotencyKey?: string;
}

/** Answers to calls that wait. */
export interface ClientAnswers {
  /** What the client's tools gave. */
  readonly results?: readonly CallAnswer[];
  /** What a person has decided. */
  readonly approvals?: readonly Approval[];
}

/** The body of a request for a turn. */
export function turnBodyOf(request: ClientTurnRequest): Record<string, unknown> {
  const { tools = {}, approve: _approve, signal: _signal, idempotencyKey: _key, ...body } = request;
  const brought = Object.entries(tools).flatMap(([name, tool]): ToolSchema[] =>
    typeof tool === "function" ? [] : [{ name, description: tool.description, inputSchema: tool.inputSchema }]
  );
  const clientTools = [...request.clientTools ?? [], ...brought];
  return {
    ...body,
    onDisconnect: request.onDisconnect ?? "continue",
    ...(clientTools.length === 0 ? {} : { clientTools }),
    stream: true,
  };
}

/**
 * Answers the calls that it has the means for, all at a time.
 *
 * @param pending The calls that wait.
 * @param options Tools and approval, as the request names them, and what ends the work.
 * @returns Null where it has the means for none.
 */
export async function answersFor(
  pending: readonly PendingCall[],
  { tools = {}, approve, signal }: Pick<ClientTurnRequest, "tools" | "approve"> & {
    readonly signal: AbortSignal;
  },
): Promise<ClientAnswers | null> {
  const results: Promise<CallAnswer>[] = [];
  const approvals: Promise<Approval>[] = [];
  for (const call of pending) {
    const { ref, name, reason } = call;
    if (reason === "approval") {
      if (approve !== undefined) approvals.push(approvalOf(ref, () => approve({ ...call, signal })));
      continue;
    }
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (tool === undefined) continue;
    const execute = typeof tool === "function" ? tool : tool.execute;
    results.push(resultOf(ref, () => execute(call.input, { ...call, signal })));
  }
  if (results.length + approvals.length === 0) return null;
  const all = { results: await Promise.all(results), approvals: await Promise.all(approvals) };
  signal.throwIfAborted();
  return all;
}

async function resultOf(ref: string, run: () => unknown): Promise<CallAnswer> {
  try {
    const output = await run();
    // What has no JSON is told here, where it was made.
    if (JSON.stringify(output ?? null) === undefined) throw new TypeError("the tool gave no JSON value");
    return { ref, output: output ?? null };
  } catch (error) {
    return { ref, error: error instanceof Error ? error.message : String(error) };
  }
}

/** A decision that fails is none: whoever reads the events is told. */
async function approvalOf(
  ref: string,
  decide: () => ReturnType<NonNullable<ClientTurnRequest["approve"]>>,
): Promise<Approval> {
  const decided = await decide();
  return typeof decided === "boolean" ? { ref, approved: decided } : {
    ref,
    approved: decided.approved,
    ...(decided.reason === undefined ? {} : { reason: decided.reason }),
  };
}
