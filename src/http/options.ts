/**
 * What an app is made of.
 *
 * @module
 */
import type { Agent } from "../loop/agent.ts";
import type { Clock, Store } from "../ports.ts";
import type { Auth } from "./auth.ts";
import type { Drain } from "./drain.ts";
import type { LimitsOf } from "./limits.ts";
import type { Log } from "./log.ts";

/** Settings of `createApp()`. */
export interface AppOptions {
  /** Agents by name; `default` answers requests that name none. */
  readonly agents: Readonly<Record<string, Agent>>;
  /** Where sessions live. */
  readonly store: Store;
  /** Who may call. Default: `openAccess()`, this machine only. */
  readonly auth?: Auth;
  /** How much a caller may have: the same for all, or by caller. Default: no limits but those of the agents. */
  readonly limits?: LimitsOf;
  /** Bytes that the bodies of all requests under way may take together. Default 128 MiB. */
  readonly maxBodyBytes?: number;
  /** Origins of other sites whose pages may call, for example `https://app.example`. Default none. */
  readonly cors?: readonly string[];
  /** Takes what is told of requests and turns, for example `lineLog()`. Default: only faults are told, on the console. */
  readonly log?: Log;
  /** Whether the log gets what was said: inputs, answers, arguments and results. Default no. */
  readonly logContent?: boolean;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** Makes ids of turns and sessions. Default: random. */
  readonly newId?: (kind: "turn" | "session") => string;
  /** Once started, running turns are closed and new ones refused with `shutting_down`. */
  readonly drain?: Drain;
}
