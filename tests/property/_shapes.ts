/** Steps of a transcript as messages of each wire format. */
import type { Json } from "../support/wire_json.ts";
import { PIXEL, renderSpecial, type Special } from "./_special.ts";

/** The five formats; messages of the AI SDK come in two shapes. */
export const FORMATS = [
  "openai-chat",
  "anthropic",
  "openai-responses",
  "ai-sdk",
  "ai-sdk-ui",
  "gemini",
] as const;

/** One of {@link FORMATS}. */
export type Shape = typeof FORMATS[number];

/** The name under which a shape is read. */
export function formatOf(shape: Shape): Exclude<Shape, "ai-sdk-ui"> {
  return shape === "ai-sdk-ui" ? "ai-sdk" : shape;
}

/** A transcript and how it is to be read. */
export interface Sample {
  readonly shape: Shape;
  readonly messages: readonly Json[];
}

/** A call with what came of it. */
export interface Call {
  readonly name: string;
  readonly input: Json;
  readonly output: string;
  readonly isError: boolean;
  readonly rank: number;
}

/** A step of a transcript, in no format yet. */
export type Step =
  | Special
  | { readonly kind: "user" | "answer" | "system"; readonly text: string }
  | {
    readonly kind: "round";
    readonly thinking: boolean;
    readonly text: string;
    readonly calls: readonly Call[];
    /** Results in one message, where the format lets them be apart. */
    readonly together: boolean;
    /** Text of the user behind the results, in the same message where the format allows it. */
    readonly aside: string;
  };

/** How the calls of a transcript are named: each its own id, ids that come again, or none where the format allows. */
export type Ids = "unique" | "reused" | "none";

function idOf(ids: Ids, round: number, index: number): string {
  return ids === "unique" ? `c${round}-${index}` : ids === "reused" ? `call_${index}` : "";
}

const SIGNED = "EqQBCkgIARABGAIiQL8";

/** Renders one step; `open` results are left out at the end of a round. */
export function render(
  shape: Shape,
  found: Step,
  at: { round: number; ids: Ids; open: number },
): readonly Json[] {
  const extra = { selvage_test: `s${at.round}` };
  if (found.kind === "special") return renderSpecial(shape, found, at.round);
  if (found.kind !== "round") return [renderText(shape, found, at.round)];
  // Without ids, names must tell the calls of a message apart.
  const calls = found.calls.map((made, index) => ({
    ...made,
    ...(at.ids === "none" ? { name: `${made.name}${index}` } : {}),
    id: idOf(at.ids, at.round, index),
  }));
  const answered = calls.slice(0, calls.length - at.open).toSorted((a, b) => a.rank - b.rank);
  switch (shape) {
    case "openai-chat":
      return [
        {
          role: "assistant",
          content: found.text === "" ? null : found.text,
          ...(found.thinking ? { reasoning_content: "Hm." } : {}),
          tool_calls: calls.map((made) => ({
            id: made.id,
            type: "function",
            function: { name: made.name, arguments: JSON.stringify(made.input) },
          })),
          ...extra,
        },
        ...answered.map(({ id, output }) => ({ role: "tool", tool_call_id: id, content: output })),
        ...(found.aside === "" || at.open > 0 ? [] : [{ role: "user", content: found.aside }]),
      ];
    case "anthropic": {
      const results = answered.map(({ id, output, isError }, index) => ({
        type: "tool_result",
        tool_use_id: id,
        content: index % 2 === 0 ? output : [
          { type: "text", text: output },
          ...(found.thinking
            ? [{ type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } }]
            : []),
        ],
        ...(isError ? { is_error: true } : {}),
      }));
      const aside = found.aside === "" || at.open > 0 ? [] : [{ type: "text", text: found.aside }];
      return [
        {
          role: "assistant",
          content: [
            ...(found.thinking ? [{ type: "thinking", thinking: "Hm.", signature: SIGNED }] : []),
            ...(found.text === "" ? [] : [{ type: "text", text: found.text }]),
            ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
          ],
          ...extra,
        },
        ...(results.length === 0 ? [] : [{ role: "user", content: [...results, ...aside] }]),
      ];
    }
    case "openai-responses":
      return [
        ...(found.thinking
          ? [{ type: "reasoning", id: `rs${at.round}`, summary: [], encrypted_content: SIGNED }]
          : []),
        ...(found.text === ""
          ? []
          : [{ type: "message", role: "assistant", content: [{ type: "output_text", text: found.text }] }]),
        ...calls.map(({ id, name, input }) => ({
          type: "function_call",
          call_id: id,
          name,
          arguments: JSON.stringify(input),
          ...extra,
        })),
        ...answered.map(({ id, output }) => ({ type: "function_call_output", call_id: id, output })),
        ...(found.aside === "" || at.open > 0 ? [] : [{ role: "user", content: found.aside }]),
      ];
    case "ai-sdk": {
      const results = answered.map(({ id, name, output, isError }) => ({
        type: "tool-result",
        toolCallId: id,
        toolName: name,
        output: { type: isError ? "error-text" : "text", value: output },
      }));
      return [
        {
          role: "assistant",
          content: [
            ...(found.thinking
              ? [{ type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: SIGNED } } }]
              : []),
            ...(found.text === "" ? [] : [{ type: "text", text: found.text }]),
            ...calls.map(({ id, name, input }) => ({
              type: "tool-call",
              toolCallId: id,
              toolName: name,
              input,
            })),
          ],
          ...extra,
        },
        ...(found.together
          ? results.length === 0 ? [] : [{ role: "tool", content: results }]
          : results.map((result) => ({ role: "tool", content: [result] }))),
        ...(found.aside === "" || at.open > 0 ? [] : [{ role: "user", content: found.aside }]),
      ];
    }
    case "ai-sdk-ui":
      return [
        {
          id: `m${at.round}`,
          role: "assistant",
          parts: [
            { type: "step-start" },
            ...(found.thinking ? [{ type: "reasoning", text: "Hm.", state: "done" }] : []),
            ...(found.text === "" ? [] : [{ type: "text", text: found.text, state: "done" }]),
            ...calls.map(({ id, name, input, output, isError }) => ({
              type: "dynamic-tool",
              toolName: name,
              toolCallId: id,
              input,
              ...(!answered.some((other) => other.id === id)
                ? { state: "input-available" }
                : isError
                ? { state: "output-error", errorText: output }
                : { state: "output-available", output }),
            })),
          ],
          ...extra,
        },
        ...(found.aside === "" || at.open > 0
          ? []
          : [{ id: `a${at.round}`, role: "user", parts: [{ type: "text", text: found.aside }] }]),
      ];
    case "gemini": {
      const named = (id: string): Json => id === "" ? {} : { id };
      // Without ids the answers stand in the order of their calls.
      const ordered = at.ids === "none" ? calls.slice(0, calls.length - at.open) : answered;
      return [
        {
          role: "model",
          parts: [
            ...(found.thinking ? [{ text: "Hm.", thought: true }] : []),
            ...(found.text === "" ? [] : [{ text: found.text }]),
            ...calls.map(({ id, name, input }, index) => ({
              functionCall: { ...named(id), name, args: input },
              ...(found.thinking && index === 0 ? { thoughtSignature: SIGNED } : {}),
            })),
          ],
          ...extra,
        },
        ...(ordered.length === 0 ? [] : [{
          role: "user",
          parts: ordered.map(({ id, name, output, isError }) => ({
            functionResponse: { ...named(id), name, response: { [isError ? "error" : "output"]: output } },
          })),
        }]),
        ...(found.aside === "" || at.open > 0 ? [] : [{ role: "user", parts: [{ text: found.aside }] }]),
      ];
    }
  }
}

function renderText(
  shape: Shape,
  { kind, text }: { readonly kind: "user" | "answer" | "system"; readonly text: string },
  at: number,
): Json {
  const role = kind === "answer" ? "assistant" : kind;
  switch (shape) {
    case "openai-chat":
      return { role, content: at % 3 === 0 ? [{ type: "text", text }] : text };
    case "anthropic":
      return {
        role,
        content: at % 2 === 0 ? text : [{ type: "text", text, cache_control: { type: "ephemeral" } }],
      };
    case "openai-responses":
      return {
        type: "message",
        role,
        content: at % 2 === 0 ? text : [{ type: role === "user" ? "input_text" : "output_text", text }],
      };
    case "ai-sdk":
      return { role, content: at % 2 === 0 && role !== "system" ? [{ type: "text", text }] : text };
    case "ai-sdk-ui":
      return { id: `t${at}`, role, parts: [{ type: "text", text }] };
    case "gemini":
      return { role: kind === "answer" ? "model" : "user", parts: [{ text }] };
  }
}
