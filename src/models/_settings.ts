/** The settings of a request in the words of each protocol. Private to the adapters. */
import { SelvageError } from "../core/errors.ts";
import type { AnswerFormat, ModelSettings } from "../core/settings.ts";
import type { JsonObject } from "../formats/format.ts";

/** An object without the fields that have no value. */
function defined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function schemaFields(format: Extract<AnswerFormat, { kind: "json-schema" }>): JsonObject {
  const { description, name, schema, strict } = format;
  return defined({ name, description, schema, strict });
}

/** Fields of a Chat Completions body. A choice of tools without a tool is refused there. */
export function chatSettings(settings: ModelSettings, hasTools: boolean): JsonObject {
  const { format, toolChoice } = settings;
  const choice = typeof toolChoice === "object"
    ? { type: "function", function: { name: toolChoice.tool } }
    : toolChoice;
  return defined({
    temperature: settings.temperature,
    top_p: settings.topP,
    presence_penalty: settings.presencePenalty,
    frequency_penalty: settings.frequencyPenalty,
    stop: settings.stop,
    seed: settings.seed,
    reasoning_effort: settings.effort,
    response_format: format === undefined
      ? undefined
      : format.kind === "json-schema"
      ? { type: "json_schema", json_schema: schemaFields(format) }
      : { type: format.kind === "json" ? "json_object" : "text" },
    ...(hasTools ? { tool_choice: choice, parallel_tool_calls: settings.parallelToolCalls } : {}),
  });
}

/** Fields of a Responses body beside `reasoning`. It has no place for penalties, seed and stop texts. */
export function responsesSettings(settings: ModelSettings, hasTools: boolean): JsonObject {
  const { format, toolChoice } = settings;
  return defined({
    temperature: settings.temperature,
    top_p: settings.topP,
    text: format === undefined
      ? undefined
      : format.kind === "json-schema"
      ? { format: { type: "json_schema", ...schemaFields(format) } }
      : { format: { type: format.kind === "json" ? "json_object" : "text" } },
    ...(hasTools
      ? {
        tool_choice: typeof toolChoice === "object"
          ? { type: "function", name: toolChoice.tool }
          : toolChoice,
        parallel_tool_calls: settings.parallelToolCalls,
      }
      : {}),
  });
}

/** The largest temperature of Messages. */
const MAX_TEMPERATURE = 1;

/**
 * Fields of a Messages body. It has no place for penalties, seed and effort; a model that thinks is not told how to
 * draw, nor which tool to call; temperature and share together are refused by newer models.
 *
 * @throws SelvageError `setting_unsupported` for JSON without a schema.
 */
export function messagesSettings(
  settings: ModelSettings,
  { hasTools, isThinking }: { readonly hasTools: boolean; readonly isThinking: boolean },
): JsonObject {
  const { format, stop, temperature, topP } = settings;
  if (format?.kind === "json") {
    throw new SelvageError(
      "setting_unsupported",
      "Cannot ask the model: it gives JSON only by a schema, found none, wanted a format of kind json-schema",
      { fields: { field: "response_format", retryable: false } },
    );
  }
  const draws = isThinking ? {} : {
    temperature: temperature === undefined ? undefined : Math.min(temperature, MAX_TEMPERATURE),
    top_p: temperature === undefined ? topP : undefined,
  };
  return defined({
    ...draws,
    // A text of nothing but white space is refused.
    stop_sequences: stop?.filter((text) => text.trim() !== ""),
    ...(hasTools ? { tool_choice: messagesChoice(settings, isThinking) } : {}),
    output_config: format?.kind === "json-schema"
      ? { format: { type: "json_schema", schema: format.schema } }
      : undefined,
  });
}

function messagesChoice({ parallelToolCalls, toolChoice }: ModelSettings, isThinking: boolean): unknown {
  if (toolChoice === "none") return { type: "none" };
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {};
  if (isThinking || toolChoice === undefined || toolChoice === "auto") {
    return toolChoice === undefined && parallelToolCalls !== false ? undefined : { type: "auto", ...single };
  }
  return typeof toolChoice === "object"
    ? { type: "tool", name: toolChoice.tool, ...single }
    : { type: "any", ...single };
}

/** Efforts that the interface knows; a provider's other words have no place in it. */
const SDK_EFFORTS = new Set(["none", "minimal", "low", "medium", "high", "xhigh", "max"]);

/** Call options of the AI SDK's provider interface. It has no place for calls one at a time. */
export function sdkSettings(settings: ModelSettings, hasTools: boolean): JsonObject {
  const { effort, format, toolChoice } = settings;
  return defined({
    temperature: settings.temperature,
    topP: settings.topP,
    presencePenalty: settings.presencePenalty,
    frequencyPenalty: settings.frequencyPenalty,
    stopSequences: settings.stop,
    seed: settings.seed,
    reasoning: effort !== undefined && SDK_EFFORTS.has(effort) ? effort : undefined,
    responseFormat: format === undefined ? undefined : format.kind === "json-schema"
      ? defined({
        type: "json",
        schema: format.schema,
        name: format.name,
        description: format.description,
      })
      : { type: format.kind },
    ...(hasTools
      ? {
        toolChoice: toolChoice === undefined
          ? undefined
          : typeof toolChoice === "object"
          ? { type: "tool", toolName: toolChoice.tool }
          : { type: toolChoice },
      }
      : {}),
  });
}
