/**
 * Tool sets of the AI SDK, taken as they are: each tool becomes one of ours.
 *
 * @module
 */
import * as z from "zod";
import { canonicalPart } from "../compaction/import_parts.ts";
import { TOOL_NAME, TOOL_NAME_RULE, wireId } from "../compaction/render.ts";
import { isObject, type JsonObject } from "../formats/format.ts";
import type { Tool, ToolContext, ToolInput } from "../ports.ts";

/** A tool of the AI SDK, as `tool()` makes it; structural, versions 5 to 7 fit. */
export interface AiSdkTool {
  /** `function` and `dynamic` are taken; what a provider defines or runs is not. */
  readonly type?: string | undefined;
  /** What it does, for the model. */
  readonly description?: string | ((options: never) => string) | undefined;
  /** A zod 4 schema, what `jsonSchema()` gives, or any Standard Schema that can be shown as JSON Schema. */
  readonly inputSchema?: unknown;
  /** Does the work; without it the client runs the tool. */
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  /** Whether a person has to allow a call. */
  readonly needsApproval?:
    | boolean
    | ((input: never, options: never) => boolean | PromiseLike<boolean>)
    | undefined;
  /** What the model is shown of an output. */
  readonly toModelOutput?: ((options: never) => unknown) | undefined;
}

/** Tools of the AI SDK by name. */
export type AiSdkToolSet = Readonly<Record<string, AiSdkTool>>;

/** A schema that was understood: how a model is told of it, and how input is checked. */
interface Understood {
  readonly json: Readonly<Record<string, unknown>>;
  /** Says at once what is wrong, where that can be said at once. */
  readonly check?: (value: unknown) => ToolInput;
  /** Gives what the tool is to work on, in its own time; throws what is wrong. */
  readonly validate?: (value: unknown) => Promise<unknown>;
}

function refuse(name: string, { found, wanted }: { readonly found: string; readonly wanted: string }): never {
  throw new TypeError(`Cannot use the tool ${name}: found ${found}, wanted ${wanted}`);
}

function issueText(
  issue: { readonly path?: readonly unknown[] | undefined; readonly message: string },
): string {
  const path = (issue.path ?? []).map((key) => isObject(key) ? key["key"] : key).join(".");
  return `${path || "input"}: ${issue.message}`;
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return isObject(value) && typeof value["then"] === "function";
}

/** What `jsonSchema()` of the AI SDK gives. */
function ofJsonSchema(name: string, { jsonSchema, validate }: JsonObject): Understood {
  if (!isObject(jsonSchema) || isPromise(jsonSchema)) {
    return refuse(name, { found: "a JSON schema that is not there yet", wanted: "one that is" });
  }
  if (typeof validate !== "function") return { json: jsonSchema };
  return {
    json: jsonSchema,
    async validate(value) {
      const result = await validate(value);
      if (result.success === true) return result.value;
      throw new TypeError(`its input is invalid: ${result.error?.message ?? result.error}`);
    },
  };
}

function understand(name: string, found: unknown): Understood {
  if (found === undefined) return { json: { type: "object", properties: {} } };
  const schema = typeof found === "function" && !("~standard" in found) ? found() : found;
  if (typeof schema !== "object" && typeof schema !== "function" || schema === null) {
    return refuse(name, { found: `the input schema ${JSON.stringify(found)}`, wanted: "a schema" });
  }
  if ("_zod" in schema) {
    const type = schema as unknown as z.ZodType;
    return {
      json: z.toJSONSchema(type, { io: "input" }) as Record<string, unknown>,
      check(value) {
        try {
          const { success, error } = type.safeParse(value);
          if (!success) return { ok: false, message: error.issues.map(issueText).join("; ") };
        } catch {
          // A check that takes its time: it is made before the tool runs.
        }
        return { ok: true, value };
      },
      async validate(value) {
        const parsed = await type.safeParseAsync(value);
        if (parsed.success) return parsed.data;
        throw new TypeError(`its input is invalid: ${parsed.error.issues.map(issueText).join("; ")}`);
      },
    };
  }
  if ("jsonSchema" in schema) return ofJsonSchema(name, schema as JsonObject);
  const standard = (schema as JsonObject)["~standard"] as JsonObject | undefined;
  const convert = (standard?.["jsonSchema"] as JsonObject | undefined)?.["input"];
  const check = standard?.["validate"];
  if (typeof convert !== "function" || typeof check !== "function") {
    return refuse(name, {
      found: "an input schema without a JSON Schema",
      wanted: "zod 4, jsonSchema(), or a Standard Schema with a JSON Schema",
    });
  }
  return {
    json: convert({ target: "draft-07" }),
    async validate(value) {
      const result = await check(value);
      if (result.issues === undefined) return result.value;
      throw new TypeError(`its input is invalid: ${result.issues.map(issueText).join("; ")}`);
    },
  };
}

/** The last of what an output yields; each one is told as progress on the way there. */
async function* lastOf(output: unknown): AsyncGenerator<unknown, unknown> {
  const value = await output;
  if (typeof value !== "object" || value === null || !(Symbol.asyncIterator in value)) return value;
  let last: unknown;
  for await (const next of value as AsyncIterable<unknown>) {
    yield next;
    last = next;
  }
  return last;
}

/** An output in the AI SDK's form as a tool of ours returns it; a failure is thrown. */
function fromModelOutput(output: unknown): unknown {
  const { type, value, reason } = (isObject(output) ? output : {}) as JsonObject;
  switch (type) {
    case "text":
    case "json":
      return value;
    case "content": {
      const part = canonicalPart({ type: "tool-result", output }) as {
        readonly output: { readonly value: unknown };
      };
      return part.output.value;
    }
    case "error-text":
      throw new Error(String(value));
    case "error-json":
      throw new Error(JSON.stringify(value));
    case "execution-denied":
      throw new Error(typeof reason === "string" ? reason : "Execution was denied");
    default:
      return output;
  }
}

/** What a tool of the AI SDK is told of its call. */
function optionsOf({ call = "", messages, signal, ...context }: ToolContext): JsonObject {
  const told = { toolCallId: wireId(call), messages: messages?.() ?? [], abortSignal: signal };
  // Version 6 calls it one way, version 7 the other.
  return { ...told, experimental_context: context, context };
}

function fromAiSdk(name: string, tool: AiSdkTool): Tool {
  const { type, description = "", needsApproval = false } = tool;
  // Each has types of its own; what it is given is what its schema has let through.
  const execute = tool.execute as ((input: unknown, options: JsonObject) => unknown) | undefined;
  const toModelOutput = tool.toModelOutput as ((options: JsonObject) => unknown) | undefined;
  if (!TOOL_NAME.test(name)) refuse(name, { found: "that name", wanted: TOOL_NAME_RULE });
  if (type !== undefined && type !== "function" && type !== "dynamic") {
    refuse(name, {
      found: `a tool that its provider defines (type ${JSON.stringify(type)})`,
      wanted:
        "one of the agent's or the client's; tools that a provider runs go to its model, as aiSdk()'s providerTools",
    });
  }
  const {
    json,
    check = (value) => ({ ok: true, value }),
    validate = (value) => Promise.resolve(value),
  } = understand(name, tool.inputSchema);
  return {
    name,
    description: typeof description === "string"
      ? description
      : (description as (options: JsonObject) => string)({ context: {} }),
    inputSchema: json,
    verbatimArgs: [],
    parse: check,
    ...(execute === undefined ? {} : {
      async *execute(value: unknown, context: ToolContext) {
        const input = await validate(value);
        const options = optionsOf(context);
        const output = yield* lastOf(execute(input, options));
        if (toModelOutput === undefined) return output;
        const { toolCallId } = options;
        return fromModelOutput(await toModelOutput({ toolCallId, input, output }));
      },
    }),
    ...(needsApproval === false || execute === undefined ? {} : {
      async needsApproval(value: unknown, context: ToolContext) {
        if (needsApproval === true) return true;
        const ask = needsApproval as (input: unknown, options: JsonObject) => boolean | PromiseLike<boolean>;
        return await ask(await validate(value), optionsOf(context));
      },
    }),
  };
}

const made = new WeakMap<object, readonly Tool[]>();

/**
 * Tools in our own form, whichever form they come in.
 *
 * @param tools A list of our own, or a tool set of the AI SDK.
 * @throws {TypeError} For a tool that only a provider knows, a name that providers refuse, or a schema that cannot be
 *   shown as JSON Schema.
 */
export function ownTools(tools: readonly Tool[] | AiSdkToolSet = []): readonly Tool[] {
  if (Array.isArray(tools)) return tools;
  const known = made.get(tools);
  if (known !== undefined) return known;
  const own = Object.entries(tools as AiSdkToolSet).map(([name, tool]) => fromAiSdk(name, tool));
  made.set(tools, own);
  return own;
}
