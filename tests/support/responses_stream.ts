/** A response as the Responses service streams it. */
import { shreds, type StreamFault, words } from "./double_server.ts";
import type { Json } from "./wire_json.ts";

/** What goes wrong with one request; the error in the stream is an `error` event. */
export type Fault =
  | StreamFault
  | {
    readonly errorFrameAfter: number;
    readonly code?: string;
    readonly message?: string;
    /** True: the error of a `response.failed` in its place. */
    readonly failed?: boolean;
  };

/** Frames of a response, with the items of its output. */
export function streamFrames(response: Json, output: readonly Json[]): readonly string[] {
  const begun = { ...response, status: "in_progress", incomplete_details: null, output: [], usage: null };
  const events: Json[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...output.flatMap((item, index) => itemEvents(item, index)),
    { type: `response.${response.status}`, response },
  ];
  return events.map((event, sequence_number) => frame({ ...event, sequence_number }));
}

function frame(data: Json): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}`;
}

function itemEvents(item: Json, output_index: number): readonly Json[] {
  const [start, inner] = opened(item);
  return [
    { type: "response.output_item.added", output_index, item: start },
    ...inner.map((event) => ({ ...event, item_id: item.id, output_index })),
    { type: "response.output_item.done", output_index, item },
  ];
}

/** An item as it is begun, and the events that make the rest of it. */
function opened(item: Json): readonly [start: Json, events: readonly Json[]] {
  switch (item.type) {
    case "reasoning": {
      const parts = item.summary as readonly Json[];
      const events = parts.flatMap((part, summary_index) => {
        const text = String(part.text);
        return [
          {
            type: "response.reasoning_summary_part.added",
            summary_index,
            part: { type: "summary_text", text: "" },
          },
          ...words(text).map((delta) => ({
            type: "response.reasoning_summary_text.delta",
            summary_index,
            delta,
            obfuscation: "x",
          })),
          { type: "response.reasoning_summary_text.done", summary_index, text },
          { type: "response.reasoning_summary_part.done", summary_index, part },
        ];
      });
      return [{ ...item, summary: [] }, events];
    }
    case "message": {
      const parts = item.content as readonly Json[];
      const events = parts.flatMap((part, content_index) => partEvents(part, content_index));
      return [{ ...item, status: "in_progress", content: [] }, events];
    }
    case "function_call": {
      const text = String(item.arguments);
      return [{ ...item, status: "in_progress", arguments: "" }, [
        ...shreds(text).filter((piece) => piece !== "").map((delta) => ({
          type: "response.function_call_arguments.delta",
          delta,
          obfuscation: "x",
        })),
        { type: "response.function_call_arguments.done", arguments: text },
      ]];
    }
    default:
      return [{ ...item, status: "in_progress" }, [
        { type: `response.${item.type}.in_progress` },
        { type: `response.${item.type}.completed` },
      ]];
  }
}

function partEvents(part: Json, content_index: number): readonly Json[] {
  const isRefusal = part.type === "refusal";
  const kind = isRefusal ? "refusal" : "output_text";
  const text = String(isRefusal ? part.refusal : part.text);
  const begun = isRefusal ? { ...part, refusal: "" } : { ...part, text: "", annotations: [] };
  const notes = Array.isArray(part.annotations) ? part.annotations : [];
  return [
    { type: "response.content_part.added", content_index, part: begun },
    ...words(text).map((delta) => ({
      type: `response.${kind}.delta`,
      content_index,
      delta,
      ...(isRefusal ? {} : { logprobs: [], obfuscation: "x" }),
    })),
    ...notes.map((annotation, annotation_index) => ({
      type: "response.output_text.annotation.added",
      content_index,
      annotation_index,
      annotation,
    })),
    {
      type: `response.${kind}.done`,
      content_index,
      ...(isRefusal ? { refusal: text } : { text, logprobs: [] }),
    },
    { type: "response.content_part.done", content_index, part },
  ];
}

/** Frames of what breaks an answer. */
export function brokenBy(fault: Fault | undefined): { readonly garbage: string; readonly error: string } {
  const {
    code = "server_error",
    errorFrameAfter = 0,
    failed = false,
    message = "The server had an error while processing your request.",
  } = fault !== undefined && "errorFrameAfter" in fault ? fault as Extract<Fault, { failed?: boolean }> : {};
  const error = failed
    ? { type: "response.failed", response: { status: "failed", error: { code, message }, output: [] } }
    : { type: "error", code, message, param: null };
  return {
    garbage: 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"',
    error: frame({ ...error, sequence_number: errorFrameAfter }),
  };
}
