/**
 * Tools: how they are defined, and how one call is run to exactly one result.
 *
 * @module
 */
import * as z from "zod";
import { isDeeperThan, MAX_DEPTH } from "./depth.ts";
import type { ToolOutput } from "../core/message.ts";
import { SelvageError } from "../core/errors.ts";
import type { CallStatus, Clock, Tool, ToolContext, ToolInput } from "../ports.ts";

/** A zod schema, as far as a tool needs one. */
export interface InputSchema<Input> {
  /** Checks a value without throwing. */
  safeParse(value: unknown): { readonly success: true; readonly data: Input } | {
    readonly success: false;
    readonly error: {
      readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
    };
  };
}

/** What {@link defineTool} takes. */
export interface ToolDefinition<Input> {
  /** 1 to 64 of `A-Z a-z 0-9 _ -`. */
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description: string;
  /** A zod object schema of the arguments. */
  readonly input: InputSchema<Input>;
  /** Arguments that a summary always keeps, to 400 characters each. */
  readonly verbatimArgs?: readonly (keyof Input & string)[];
  /** Milliseconds before a call is answered with an error. Default: the agent's `toolTimeoutMs`. */
  readonly timeoutMs?: number;
  /** `none`: a call that a crash cut off is run again, rather than closed as aborted. Default `some`. */
  readonly sideEffect?: "none" | "some";
  /** Does the work. What it throws becomes an error result that the model sees. */
  readonly execute: (input: Input, context: ToolContext) => unknown;
}

/**
 * Defines a tool.
 *
 * @param definition Name, description, zod schema of the input, and the function that does the work.
 * @returns A tool for an agent's `tools`.
 * @throws TypeError when the name does not fit what providers accept.
 *
 * @example
 * ```ts
 * import { defineTool } from "@selvage/selvage";
 * import * as z from "zod";
 *
 * const add = defineTool({
 *   name: "add",
 *   description: "Adds two numbers",
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => a + b,
 * });
 * console.log(add.parse({ a: 1 }).ok); // false
 * ```
 */
export function defineTool<Input>(definition: ToolDefinition<Input>): Tool {
  const { name, description, input, execute } = definition;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new TypeError(
      `Cannot define the tool: found the name ${JSON.stringify(name)}, wanted 1 to 64 of A-Z a-z 0-9 _ -`,
    );
  }
  return {
    name,
    description,
    inputSchema: z.toJSONSchema(input as unknown as z.ZodType, { io: "input" }) as Record<string, unknown>,
    verbatimArgs: definition.verbatimArgs ?? [],
    ...(definition.timeoutMs === undefined ? {} : { timeoutMs: definition.timeoutMs }),
    ...(definition.sideEffect === undefined ? {} : { sideEffect: definition.sideEffect }),
    parse(value: unknown): ToolInput {
      const parsed = input.safeParse(value);
      if (parsed.success) return { ok: true, value: parsed.data };
      const issues = parsed.error.issues.map((issue) =>
        `${issue.path.join(".") || "input"}: ${issue.message}`
      );
      return { ok: false, message: issues.join("; ") };
    },
    execute: (value: unknown, context: ToolContext) => execute(value as Input, context),
  };
}

/** The one result of a call. */
export interface CallOutcome {
  readonly status: CallStatus;
  readonly output: ToolOutput;
  readonly ms: number;
}

/** What {@link runCall} needs beside the call. */
export interface RunCallOptions {
  readonly tools: readonly Tool[];
  readonly context: Omit<ToolContext, "signal">;
  /** Ends the turn. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Milliseconds for tools that set no time of their own. */
  readonly timeoutMs: number;
}

/** The result of a call that was cut off by a cancel, a disconnect or a crash. */
export const ABORTED: ToolOutput = { type: "error-text", value: "Aborted: the call did not finish" };

function failure(value: string): { readonly status: "error"; readonly output: ToolOutput } {
  return { status: "error", output: { type: "error-text", value } };
}

/** What a tool returned, as an output the log can hold. */
function toOutput(value: unknown): ToolOutput {
  if (typeof value === "string") return { type: "text", value };
  if (value === undefined) return { type: "text", value: "" };
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw new TypeError(`found a value nested more than ${MAX_DEPTH} levels deep, wanted less`);
  }
  // Through JSON and back: the log holds what JSON can say, and a tool cannot change it afterwards.
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`found a ${typeof value}, wanted a string or JSON`);
  return { type: "json", value: JSON.parse(text) };
}

/** What was thrown, in words; anything can be thrown, also what does not turn into text. */
function describe(error: unknown): string {
  try {
    return error instanceof Error ? `${error.message}` : String(error);
  } catch {
    return "it threw something that has no text";
  }
}

/** One for all calls: an error with its stack for each of them would cost as much as a small tool. */
const TOOL_DONE = new SelvageError("tool_done", "The call has its result");

/** Whether the model's arguments were no JSON object; adapters keep their text then. */
function isUnparsed(input: unknown): boolean {
  return typeof input === "object" && input !== null && Object.keys(input).join() === "unparsed_arguments";
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** A copy of a JSON value: the log holds the original. Through text, which is faster than a structured clone. */
function copyOf(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/**
 * Runs one call. Whatever happens, the answer is exactly one result: unknown tools, invalid input, throws,
 * time-outs and output that is not JSON become errors, an abort becomes `aborted`.
 *
 * @param call Name and input as the model gave them.
 * @param options Tools, signal, clock, time limit.
 */
export async function runCall(
  call: { readonly name: string; readonly input: unknown },
  options: RunCallOptions,
): Promise<CallOutcome> {
  const { clock, signal } = options;
  const started = clock.now();
  const end = (outcome: Omit<CallOutcome, "ms">): CallOutcome => ({ ...outcome, ms: clock.now() - started });
  if (signal.aborted) return end({ status: "aborted", output: ABORTED });
  const tool = options.tools.find((candidate) => candidate.name === call.name);
  if (tool === undefined) {
    const names = options.tools.map((candidate) => candidate.name).join(", ") || "none";
    return end(
      failure(`Cannot call ${JSON.stringify(call.name)}: there is no such tool, available: ${names}`),
    );
  }
  // Checked before the tool's own check, which may well take an object without any argument it knows.
  if (isUnparsed(call.input)) {
    return end(failure(`Cannot call ${tool.name}: its arguments are not a JSON object, make the call again`));
  }

  const stop = new AbortController();
  const timeoutMs = tool.timeoutMs ?? options.timeoutMs;
  const onAbort = (): void => stop.abort(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    // A copy: the log holds the original, and a tool may do with its input what it likes.
    const input = tool.parse(copyOf(call.input));
    if (!input.ok) return end(failure(`Cannot call ${tool.name}: its input is invalid: ${input.message}`));
    const made = tool.execute(input.value, { ...options.context, signal: stop.signal });
    // What is there at once needs nobody to watch the time.
    if (!isThenable(made)) return end({ status: "ok", output: toOutput(made) });
    const aborted = new Promise<"aborted">((resolve) => {
      stop.signal.addEventListener("abort", () => resolve("aborted"), { once: true });
    });
    const late = clock.sleep(timeoutMs, stop.signal).then(() => "late" as const, () => "aborted" as const);
    const work = (async () => ({ value: await made }))();
    // What the tool does after its time is up is its own affair: the race has taken its rejection, too.
    const done = await Promise.race([work, late, aborted]);
    if (done === "aborted") return end({ status: "aborted", output: ABORTED });
    if (done === "late") {
      const message = `${tool.name} did not finish in ${timeoutMs} ms`;
      stop.abort(new DOMException(message, "TimeoutError"));
      return end(failure(message));
    }
    return end({ status: "ok", output: toOutput(done.value) });
  } catch (error) {
    if (signal.aborted) return end({ status: "aborted", output: ABORTED });
    return end(failure(`${tool.name} failed: ${describe(error)}`));
  } finally {
    signal.removeEventListener("abort", onAbort);
    stop.abort(TOOL_DONE);
  }
}
