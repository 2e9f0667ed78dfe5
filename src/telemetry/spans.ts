/**
 * What spans and metrics of turns and of compactions share.
 *
 * @module
 */
import {
  type Attributes,
  type Context,
  isSpanContextValid,
  type Span,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { Usage } from "../core/usage.ts";
import { instruments } from "./instruments.ts";

/** The context inside a span; without a provider spans are nothing, and a context for each of them is not worth it. */
export function inside(outer: Context, span: Span): Context {
  return isSpanContextValid(span.spanContext()) ? trace.setSpan(outer, span) : outer;
}

/** Marks a span as failed, by a code: sentences may hold what a user has said. */
export function fail(span: Span, type: string): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Counts the tokens of a bill. */
export function recordTokens(attributes: Attributes, { inputTokens, outputTokens }: Usage): void {
  const { tokens } = instruments();
  tokens.record(inputTokens, { ...attributes, "gen_ai.token.type": "input" });
  tokens.record(outputTokens, { ...attributes, "gen_ai.token.type": "output" });
}
