/** A message as the Messages service streams it. */
import { shreds, type StreamFault, words } from "./double_server.ts";
import type { Json } from "./wire_json.ts";

/** What goes wrong with one request; the error in the stream is of type `api_error` by default. */
export type Fault = StreamFault | { readonly errorFrameAfter: number; readonly type: string };

/** The body of an error. */
export function wireError(error: { readonly type: string; readonly message: string }): Json {
  return { type: "error", error, request_id: "req_double" };
}

/** Frames of a message. */
export function streamFrames(message: Json): readonly string[] {
  const { content, stop_reason, stop_sequence, usage } = message;
  const start = {
    ...message,
    content: [],
    stop_reason: null,
    usage: { ...usage as Json, output_tokens: 1 },
  };
  return [
    frame({ type: "message_start", message: start }),
    frame({ type: "ping" }),
    ...(content as readonly Json[]).flatMap((block, index) => blockFrames(block, index)),
    frame({ type: "message_delta", delta: { stop_reason, stop_sequence }, usage }),
    frame({ type: "message_stop" }),
  ];
}

function frame(data: Json): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}`;
}

function blockFrames(block: Json, index: number): readonly string[] {
  const [start, deltas] = opened(block);
  return [
    frame({ type: "content_block_start", index, content_block: start }),
    ...deltas.map((delta) => frame({ type: "content_block_delta", index, delta })),
    frame({ type: "content_block_stop", index }),
  ];
}

/** A block as it is started, and the deltas that make the rest of it. */
function opened(block: Json): readonly [start: Json, deltas: readonly Json[]] {
  switch (block.type) {
    case "text": {
      const { citations, ...start } = block;
      const deltas = words(String(block.text)).map((text) => ({ type: "text_delta", text }));
      const cited = Array.isArray(citations) ? citations : [];
      const notes = cited.map((citation) => ({ type: "citations_delta", citation }));
      return [{ ...start, text: "" }, [...deltas, ...notes]];
    }
    case "thinking": {
      const deltas = words(String(block.thinking)).map((thinking) => ({ type: "thinking_delta", thinking }));
      const signature = { type: "signature_delta", signature: block.signature };
      return [{ ...block, thinking: "", signature: "" }, [...deltas, signature]];
    }
    case "tool_use":
    case "server_tool_use": {
      // As the service does it: an empty piece first; arguments that are empty come in no piece at all.
      const text = JSON.stringify(block.input);
      const texts = text === "{}" ? [""] : ["", ...shreds(text)];
      return [
        { ...block, input: {} },
        texts.map((partial_json) => ({ type: "input_json_delta", partial_json })),
      ];
    }
    default:
      return [block, []];
  }
}

/** Frames of what breaks an answer. */
export function brokenBy(fault: Fault | undefined): { readonly garbage: string; readonly error: string } {
  const type = fault !== undefined && "type" in fault ? fault.type : "api_error";
  return {
    garbage: 'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{',
    error: frame(wireError({ type, message: "Overloaded" })),
  };
}
