/** The adapter for Messages over a double that gives one reply after the other. */
import { anthropic, type AnthropicOptions } from "../../src/models/anthropic.ts";
import type { Model } from "../../src/ports.ts";
import {
  type AnthropicDouble,
  type AnthropicDoubleOptions,
  type MessagesReply,
  startAnthropicDouble,
} from "../support/anthropic_double.ts";
import type { Json } from "../support/wire_json.ts";

/** Tools of a request. */
export const tools = [{ name: "get", description: "Gets.", inputSchema: { type: "object", properties: {} } }];

/** A double that gives its replies one after the other, the last one again and again. */
export function double(
  replies: readonly MessagesReply[],
  options: Partial<AnthropicDoubleOptions> = {},
): AnthropicDouble {
  let n = 0;
  return startAnthropicDouble({ script: () => replies[Math.min(n++, replies.length - 1)] ?? {}, ...options });
}

/** The adapter over a double. */
export function modelOf(upstream: AnthropicDouble, options: Partial<AnthropicOptions> = {}): Model {
  return anthropic({ model: "m", apiKey: "sk-ant", baseURL: upstream.url, ...options });
}

/** The blocks of a message of a body. */
export function blocksOf(body: Json | undefined, index: number): readonly Json[] {
  const message = (body?.messages as readonly Json[])[index];
  return message?.content as readonly Json[];
}
