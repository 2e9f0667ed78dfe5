/**
 * Routes whose code is loaded with the first request for one of them: a start serves one protocol at first, and the code
 * of the others is a fifth of all.
 *
 * @module
 */
import { Hono, type Next } from "hono";
import { once } from "../core/once.ts";
import type { AppEnv } from "./env.ts";

/** Routes that are made later. */
export interface LaterRoutes {
  /** Where they are mounted. */
  readonly at: string;
  /** All of them, as `METHOD /path`: what there is, is known from the start. */
  readonly routes: readonly `${string} /${string}`[];
  /** Makes them. */
  readonly load: () => Promise<Hono<AppEnv>>;
}

/** Adds routes to an app. */
export function addLater(app: Hono<AppEnv>, { at, routes, load }: LaterRoutes): void {
  const loaded = once(async () => new Hono<AppEnv>().route(at, await load()));
  for (const route of routes) {
    const [method = "", path = ""] = route.split(" ");
    app.on(method, path, async (c, next) => {
      const made = await loaded();
      const run = made.routes
        .filter((one) => one.method === method && one.path === path)
        .reduceRight<Next>((rest, { handler }) => async () => {
          const response = await handler(c, rest);
          if (response instanceof Response) c.res = response;
        }, next);
      await run();
    });
  }
}
