/**
 * The request of a step: made in one place, so that what is looked at afterwards is what was sent.
 *
 * @module
 */
import type { Message } from "../core/message.ts";
import type { ModelRequest } from "../ports.ts";
import type { ReadyAgent } from "./agent.ts";
import { type Asked, settingsFor } from "./asked.ts";
import { schemasOf } from "./measures.ts";

/** What a request is made of. */
export interface RequestParts {
  /** The agent as the turn has it, the caller's instructions included. */
  readonly agent: ReadyAgent;
  readonly asked: Asked;
  /** Step of the turn, from 1. */
  readonly step: number;
  readonly messages: readonly Message[];
  /** The most tokens for the answer that the budget leaves. */
  readonly maxOutput: number;
}

/** Makes the request of a step. */
export function requestOf({ agent, asked, step, messages, maxOutput }: RequestParts): ModelRequest {
  return {
    system: agent.system ?? "",
    messages,
    tools: schemasOf(agent),
    maxOutput: Math.min(maxOutput, asked.settings?.maxOutput ?? maxOutput),
    ...settingsFor(asked, step === 1),
  };
}
