/**
 * Tells the telemetry of a turn what the turn tells its listeners.
 *
 * @module
 */
import type { TurnTelemetry } from "../telemetry/telemetry.ts";
import type { TurnEvent } from "./events.ts";

/** Deltas come by the hundred thousand: neither they nor what follows them is to cost the telemetry anything. */
export function isDelta({ type }: TurnEvent): boolean {
  return type === "text.delta" || type === "reasoning.delta" || type === "tool.input.delta";
}

/**
 * Tells one event.
 *
 * @param telemetry Spans and metrics of the turn.
 * @param event The event.
 */
export function observe(telemetry: TurnTelemetry, event: TurnEvent): void {
  switch (event.type) {
    case "step.started":
      return telemetry.step(event.step);
    case "compaction":
      return telemetry.compaction(event);
    case "error":
      return telemetry.error(event.code);
    case "turn.paused":
      return telemetry.finish({ ...event, reason: "paused" });
    case "turn.finished":
      return telemetry.finish(event);
  }
}
