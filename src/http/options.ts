/**
 * What an app is made of.
 *
 * @module
 */
import type { Agent } from "../loop/agent.ts";
import type { Clock, Store } from "../ports.ts";
import type { Auth } from "./auth.ts";
import type { Drain } from "./drain.ts";

/** Settings of `createApp()`. */
export interface AppOptions {
  /** Agents by name; `default` answers requests that name none. */
  readonly agents: Readonly<Record<string, Agent>>;
  /** Where sessions live. */
  readonly store: Store;
  /** Who may call. Default: `openAccess()`, this machine only. */
  readonly auth?: Auth;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
  /** Makes ids of turns and sessions. Default: random. */
  readonly newId?: (kind: "turn" | "session") => string;
  /** Once started, running turns are closed and new ones refused with `shutting_down`. */
  readonly drain?: Drain;
}
