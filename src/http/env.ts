/**
 * What a request carries through the routes.
 *
 * @module
 */
import type { Principal } from "./auth.ts";

/** Types of the Hono environment. */
export interface AppEnv {
  Variables: { principal: Principal };
}
