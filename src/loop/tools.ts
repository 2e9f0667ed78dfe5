/**
 * Tools: how they are defined, and how one call is run to exactly one result.
 *
 * @module
 */
import * as z from "zod";
import { TOOL_NAME, TOOL_NAME_RULE } from "../compaction/render.ts";
import type { FilePart, TextPart, ToolOutput } from "../core/message.ts";
import {
  aFunction,
  hasMethods,
  listOf,
  number,
  oneOf,
  optionsOf,
  orFunction,
  requireOptions,
  rule,
  type Rules,
  text,
  yesOrNo,
} from "../core/options.ts";
import { isUnparsed } from "../formats/call_input.ts";
import { ABORTED_TEXT } from "../formats/mend_pairs.ts";
import type { CallStatus, Clock, Tool, ToolContext, ToolInput } from "../ports.ts";
import { bounded } from "./bounded.ts";
import { isDeeperThan, MAX_DEPTH } from "./depth.ts";
import { isGenerator, lastOf } from "./progress.ts";

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
  /**
   * Whether a person has to allow a call before it is run; a function decides for each call. Where it throws, the call
   * is not run. Default false.
   */
  readonly needsApproval?: boolean | ((input: Input, context: ToolContext) => boolean | Promise<boolean>);
  /** Milliseconds before a call is answered with an error. Default: the agent's `toolTimeoutMs`. */
  readonly timeoutMs?: number;
  /** `none`: a call that a crash cut off is run again, rather than closed as aborted. Default `some`. */
  readonly sideEffect?: "none" | "some";
  /**
   * What stays verbatim through compactions: the tool's newest result that is no error, whatever its arguments
   * (`latest`: a plan, a state), or all that have room, the newest first (`always`). The calls of its round stay with
   * it: a round of more than a quarter of what a compaction aims at does not, and of `latest` the result is then in
   * its line of the ledger, to the letter up to 2,000 characters. Default `normal`: none.
   */
  readonly retain?: "latest" | "always" | "normal";
  /**
   * Does the work: what it returns is the output, which is text, a list of text and file parts, or any other JSON. What
   * it throws becomes an error result, and its message is shown to the model and to the client as it is: throw what both
   * may read, and catch what says more than that (a connection string, a path, a query). An async generator tells its
   * progress: what it yields is told to the client, what it returns is the output. Left out: the client runs the tool,
   * and the turn pauses for its answer.
   */
  readonly execute?: (input: Input, context: ToolContext) => unknown;
}

const DEFINITION: Rules<ToolDefinition<Record<string, unknown>>> = {
  name: text,
  description: text,
  input: rule("a zod schema", (value) => hasMethods(value, ["safeParse"])),
  verbatimArgs: listOf("a list of names of arguments", text),
  needsApproval: orFunction(yesOrNo),
  timeoutMs: number("milliseconds, over 0", { least: Number.MIN_VALUE }),
  sideEffect: oneOf("none", "some"),
  retain: oneOf("latest", "always", "normal"),
  execute: aFunction,
};
const aDefinition = optionsOf(DEFINITION, ["name", "description", "input"]);

/**
 * Defines a tool.
 *
 * @param definition Name, description, zod schema of the input, and the function that does the work.
 * @returns A tool for an agent's `tools`.
 * @throws TypeError when the name or the input does not fit what providers accept, or an option is unknown or of the
 *   wrong kind.
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
  const called = typeof definition?.name === "string"
    ? `the tool ${definition.name.slice(0, 64)}`
    : "the tool";
  requireOptions(`define ${called}`, definition, aDefinition);
  const { name, description, input, execute, needsApproval = false } = definition;
  if (!TOOL_NAME.test(name)) {
    throw new TypeError(
      `Cannot define the tool: found the name ${JSON.stringify(name)}, wanted ${TOOL_NAME_RULE}`,
    );
  }
  if (execute === undefined && needsApproval !== false) {
    throw new TypeError(
      `Cannot define the tool ${name}: found needsApproval without execute, wanted one of them: whoever runs a tool of ` +
        "the client can ask its user",
    );
  }
  const inputSchema: Record<string, unknown> = z.toJSONSchema(input as unknown as z.ZodType, { io: "input" });
  if (inputSchema["type"] !== "object") {
    const found = typeof inputSchema["type"] === "string"
      ? inputSchema["type"]
      : Object.keys(inputSchema).find((key) => /^(?:any|all|one)Of$/.test(key)) ?? "no type";
    throw new TypeError(
      `Cannot define the tool ${name}: found an input that is ${found} in JSON Schema, wanted an object: providers ` +
        "refuse every request with another; a choice goes into a field of it",
    );
  }
  return {
    name,
    description,
    inputSchema,
    verbatimArgs: definition.verbatimArgs ?? [],
    ...(definition.timeoutMs === undefined ? {} : { timeoutMs: definition.timeoutMs }),
    ...(definition.sideEffect === undefined ? {} : { sideEffect: definition.sideEffect }),
    ...(definition.retain === undefined ? {} : { retain: definition.retain }),
    parse(value: unknown): ToolInput {
      const parsed = input.safeParse(value);
      if (parsed.success) return { ok: true, value: parsed.data };
      const issues = parsed.error.issues.map((issue) =>
        `${issue.path.join(".") || "input"}: ${issue.message}`
      );
      return { ok: false, message: issues.join("; ") };
    },
    ...(execute === undefined
      ? {}
      : { execute: (value: unknown, context: ToolContext) => execute(value as Input, context) }),
    ...(needsApproval === false ? {} : {
      needsApproval: (value: unknown, context: ToolContext) =>
        needsApproval === true || needsApproval(value as Input, context),
    }),
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
  /** Gets what a tool that is a generator yields. */
  readonly onProgress?: (data: unknown) => void;
}

/** The result of a call that was cut off by a cancel, a disconnect or a crash. */
export const ABORTED: ToolOutput = { type: "error-text", value: ABORTED_TEXT };

function failure(value: string): { readonly status: "error"; readonly output: ToolOutput } {
  return { status: "error", output: { type: "error-text", value } };
}

/** Whether a value is a list of text and file parts, which a model is shown as such. */
export function isContent(value: unknown): value is readonly (TextPart | FilePart)[] {
  return Array.isArray(value) && value.length > 0 && value.every((part: Record<string, unknown> | null) => {
    if (typeof part !== "object" || part === null) return false;
    // Anything beside these fields would be lost on the way to some provider: it is JSON like any other then.
    const names = Object.keys(part).filter((name) => name !== "type" && name !== "providerOptions");
    if (part["type"] === "text") return names.join() === "text" && typeof part["text"] === "string";
    return part["type"] === "file" && names.every((name) => /^(?:mediaType|data|filename)$/.test(name)) &&
      typeof part["mediaType"] === "string" && typeof part["data"] === "string";
  });
}

/**
 * What a tool returned, as an output the log can hold.
 *
 * @throws TypeError where it is nothing that JSON can say.
 */
export function toOutput(value: unknown): ToolOutput {
  if (typeof value === "string") return { type: "text", value };
  if (value === undefined) return { type: "text", value: "" };
  if (isDeeperThan(value, MAX_DEPTH)) {
    throw new TypeError(`found a value nested more than ${MAX_DEPTH} levels deep, wanted less`);
  }
  // Through JSON and back: the log holds what JSON can say, and a tool cannot change it afterwards.
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`found a ${typeof value}, wanted a string or JSON`);
  const own: unknown = JSON.parse(text);
  return isContent(own) ? { type: "content", value: own } : { type: "json", value: own };
}

/** What was thrown, in words; anything can be thrown, also what does not turn into text. */
export function describe(error: unknown): string {
  try {
    return error instanceof Error ? `${error.message}` : String(error);
  } catch {
    return "it threw something that has no text";
  }
}

/** A copy of a JSON value: the log holds the original. Through text, which is faster than a structured clone. */
export function copyOf(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** What a tool is told of its call; most of them never ask for the signal. */
export function withSignal(context: Omit<ToolContext, "signal">, signal: () => AbortSignal): ToolContext {
  return {
    ...context,
    get signal() {
      return signal();
    },
  };
}

/**
 * Runs one call. Whatever happens, the answer is exactly one result: unknown tools, invalid input, throws,
 * time-outs and output that is not JSON become errors, an abort becomes `aborted`.
 *
 * @param call Name and input as the model gave them.
 * @param options Tools, signal, clock, time limit.
 */
export async function runCall(
  call: { readonly name: string; readonly input: unknown; readonly ref?: string },
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

  const timeoutMs = tool.timeoutMs ?? options.timeoutMs;
  try {
    // A copy: the log holds the original, and a tool may do with its input what it likes.
    const input = tool.parse(copyOf(call.input));
    if (!input.ok) return end(failure(`Cannot call ${tool.name}: its input is invalid: ${input.message}`));
    const place = call.ref === undefined ? {} : { call: call.ref };
    const work = (signal: () => AbortSignal): unknown => {
      const made = tool.execute?.(input.value, withSignal({ ...options.context, ...place }, signal));
      return isGenerator(made)
        ? lastOf(made, { signal: signal(), onProgress: options.onProgress ?? (() => {}) })
        : made;
    };
    const done = await bounded(work, { signal, clock, timeoutMs });
    switch (done.kind) {
      case "done":
        return end({ status: "ok", output: toOutput(done.value) });
      case "late":
        return end(failure(`${tool.name} did not finish in ${timeoutMs} ms`));
      case "aborted":
        return end({ status: "aborted", output: ABORTED });
      default:
        return done satisfies never;
    }
  } catch (error) {
    if (signal.aborted) return end({ status: "aborted", output: ABORTED });
    return end(failure(`${tool.name} failed: ${describe(error)}`));
  }
}
