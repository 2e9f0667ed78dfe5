/**
 * What an app is made of.
 *
 * @module
 */
import {
  aClock,
  aFunction,
  anything,
  byName,
  hasMethods,
  listOf,
  number,
  optionsOf,
  orFunction,
  requireOptions,
  rule,
  type Rules,
  text,
  yesOrNo,
} from "../core/options.ts";
import type { Agent } from "../loop/agent.ts";
import type { Clock, Store } from "../ports.ts";
import type { Auth } from "./auth.ts";
import type { Drain } from "./drain.ts";
import { LIMITS, type LimitsOf } from "./limits.ts";
import type { Log } from "./log.ts";

/** Settings of `createApp()`. */
export interface AppOptions {
  /** Agents by name; `default` answers requests that name none, which are refused where there is no such agent. */
  readonly agents: Readonly<Record<string, Agent>>;
  /** Where sessions live. */
  readonly store: Store;
  /** Who may call. Default: `openAccess()`, this machine only, and pages of `cors`. */
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

const RULES: Rules<AppOptions> = {
  // Each agent is looked at by its name.
  agents: byName("agents by name", anything),
  store: rule(
    "a store, such as memoryStore() or await kvStore()",
    (value) => hasMethods(value, ["read", "acquire", "commit", "events", "claim"]),
  ),
  auth: aFunction,
  limits: orFunction(optionsOf(LIMITS)),
  maxBodyBytes: number("bytes, over 0", { least: Number.MIN_VALUE }),
  cors: listOf("a list of origins", text),
  log: aFunction,
  logContent: yesOrNo,
  clock: aClock,
  newId: aFunction,
  drain: rule("a Drain", (value) => hasMethods(value, ["start", "enter"])),
};
const options = optionsOf(RULES, ["agents", "store"]);

/** What an agent may be called: requests name it in bodies, in a query and in a path, and the log between words. */
const AGENT_NAME = /^[^\s\p{Cc}]{1,128}$/u;

/**
 * Throws where an option of an app is unknown or of another kind, and where there is no agent, or one that has no name.
 *
 * @throws {TypeError} Naming the option, what was found and what is wanted.
 */
export function requireAppOptions(found: AppOptions): void {
  requireOptions("make the app", found, options);
  const names = Object.keys(found.agents);
  if (names.length === 0) {
    throw new TypeError("Cannot make the app: found no agent, wanted at least one in `agents`");
  }
  const wrong = names.find((name) => !AGENT_NAME.test(name));
  if (wrong === undefined) return;
  throw new TypeError(
    `Cannot make the app: found an agent of the name ${JSON.stringify(wrong.slice(0, 128))}, ` +
      "wanted 1 to 128 characters, none of them a blank or a control character",
  );
}
