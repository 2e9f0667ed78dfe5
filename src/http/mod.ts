/**
 * The service over HTTP.
 *
 * @module
 */
export { type App, createApp } from "./app.ts";
export { apiKeys, hashKey } from "./api_keys.ts";
export {
  anyOf,
  type Auth,
  type AuthContext,
  openAccess,
  type OpenAccessOptions,
  type Principal,
} from "./auth.ts";
export { Drain } from "./drain.ts";
export { jwt, type JwtOptions } from "./jwt.ts";
export { lineLog, type LineLogOptions, type Log, type LogEntry, type LogLevel } from "./log.ts";
export type { Limits, LimitsOf } from "./limits.ts";
export type { AppOptions } from "./options.ts";
export { trustedHeader, type TrustedHeaderOptions } from "./trusted_header.ts";
