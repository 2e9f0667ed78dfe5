/**
 * What a request carries through the routes.
 *
 * @module
 */
import type { Context } from "hono";
import type { Principal } from "./auth.ts";
import type { Bodies } from "./bodies.ts";
import type { Refuse } from "./problem.ts";

/** Types of the Hono environment. */
export interface AppEnv {
  /** What `Deno.serve` tells of a connection: the second argument of `app.fetch`. */
  Bindings: { remoteAddr?: { hostname?: string } };
  Variables: {
    /** Whoever it comes from; an object of this request alone. */
    principal: Principal;
    /** Why its sender was not let in, for the log. */
    refused: readonly string[];
    /** Why something could not be had that the request needed, for the log. */
    cause: string | undefined;
    /** Id of the request. */
    requestId: string;
    /** Reads bodies. */
    bodies: Bodies;
    /** How the protocol of the route says that something went wrong; problem documents where it is not set. */
    refuse?: Refuse;
  };
}

/** Address of the machine at the other end of the connection; null where the server does not tell. */
export function peerOf({ env }: Context<AppEnv>): string | null {
  return (env as Partial<AppEnv["Bindings"]> | undefined)?.remoteAddr?.hostname ?? null;
}
