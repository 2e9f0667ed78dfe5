/**
 * What the options of models have to be. Whether a number is in its range is said where defaults are filled in
 * (`hosted.ts`), since a default has to be, too. Private to the adapters.
 */
import {
  aClock,
  aFunction,
  aName,
  anything,
  byName,
  listOf,
  number,
  requireOptions,
  type Rule,
  rule,
  type Rules,
  secret,
  text,
} from "../core/options.ts";
import type { HostedModelOptions } from "./hosted.ts";

export const aNumber: Rule = rule("a number", (value) => typeof value === "number");

/** A number of tokens that nothing else looks at. */
export const tokens: Rule = number("tokens, over 0", { least: Number.MIN_VALUE });

/** Tools that a provider runs by itself. */
export const providerTools: Rule = listOf(
  "a list of tools in the provider's own form",
  byName("a tool in the provider's own form", anything),
);

/** Options of every model that is reached over HTTP. */
export const HOSTED: Rules<HostedModelOptions> = {
  model: aName,
  apiKey: secret(text),
  baseURL: secret(text),
  window: aNumber,
  maxOutput: aNumber,
  headers: secret(byName("headers by name", text)),
  fetch: aFunction,
  stallMs: aNumber,
  clock: aClock,
  maxRetries: aNumber,
  tokenFactor: aNumber,
};

/** Throws where the options of a model are not what they have to be. */
export function requireModelOptions(options: unknown, of: Rule): void {
  requireOptions("make the model", options, of);
}
