/**
 * The service over HTTP.
 *
 * @module
 */
export { type App, createApp } from "./app.ts";
export { type Auth, openAccess, type Principal } from "./auth.ts";
export { Drain } from "./drain.ts";
export type { AppOptions } from "./options.ts";
