/** What only one format knows, in messages of each. */
import type { Json } from "../support/wire_json.ts";
import type { Shape } from "./_shapes.ts";

/** What only one format knows: files, approvals, tools that the provider runs, parts that nobody else reads. */
export type Special = { readonly kind: "special"; readonly text: string; readonly other: boolean };

/** The first bytes of an image. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk";

/** Renders what only one format knows; each is whole and answers itself. */
export function renderSpecial(shape: Shape, { text, other }: Special, at: number): readonly Json[] {
  const id = `special${at}`;
  switch (shape) {
    case "openai-chat":
      return other ? [{ role: "assistant", content: null, refusal: text }] : [{
        role: "user",
        content: [{ type: "text", text }, {
          type: "image_url",
          image_url: { url: `data:image/png;base64,${PIXEL}` },
        }],
      }];
    case "anthropic":
      return other
        ? [{
          role: "assistant",
          content: [
            { type: "server_tool_use", id, name: "web_search", input: { query: text } },
            {
              type: "web_search_tool_result",
              tool_use_id: id,
              content: [{ type: "web_search_result", url: "https://a.example" }],
            },
            { type: "text", text },
          ],
        }]
        : [{
          role: "user",
          content: [
            { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
            { type: "text", text },
          ],
        }];
    case "openai-responses":
      return other
        ? [{ type: "web_search_call", id, status: "completed", action: { type: "search", query: text } }]
        : [
          { type: "mcp_approval_request", id, server_label: "s", name: "run", arguments: "{}" },
          { type: "mcp_approval_response", approval_request_id: id, approve: true },
        ];
    case "ai-sdk": {
      const call = { type: "tool-call", toolCallId: id, toolName: "run", input: { command: text } };
      const result = {
        type: "tool-result",
        toolCallId: id,
        toolName: "run",
        output: { type: "json", value: { text } },
      };
      return other
        ? [{
          role: "assistant",
          content: [{ ...call, providerExecuted: true }, result, { type: "text", text }],
        }]
        : [
          {
            role: "assistant",
            content: [call, { type: "tool-approval-request", approvalId: `a${id}`, toolCallId: id }],
          },
          {
            role: "tool",
            content: [{ type: "tool-approval-response", approvalId: `a${id}`, approved: true }],
          },
          { role: "tool", content: [result] },
        ];
    }
    case "ai-sdk-ui":
      return [{
        id,
        role: other ? "assistant" : "user",
        parts: other
          ? [{ type: "data-weather", data: { text } }, {
            type: "source-url",
            sourceId: "1",
            url: "https://a.example",
          }]
          : [{ type: "file", mediaType: "image/png", url: `data:image/png;base64,${PIXEL}` }, {
            type: "text",
            text,
          }],
      }];
    case "gemini":
      return [{
        role: other ? "model" : "user",
        parts: other
          ? [{ executableCode: { language: "PYTHON", code: text } }, {
            codeExecutionResult: { outcome: "OUTCOME_OK" },
          }]
          : [{ inlineData: { mimeType: "image/png", data: PIXEL } }, { text }],
      }];
  }
}
