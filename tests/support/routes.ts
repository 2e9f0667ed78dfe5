/** The routes of an app as its router has them, for tests that leave none out. */
import type { App } from "../../src/http/mod.ts";

export interface Route {
  readonly method: string;
  readonly path: string;
}

/** What anybody may ask for without showing who they are; everything else is shut. */
export const PUBLIC: readonly string[] = [
  "GET /healthz",
  "GET /readyz",
  "GET /openapi.json",
  "GET /reference",
  "GET /reference.css",
  "GET /",
  "GET /doctor",
  "GET /assets/:name",
];

/** Every route, once. What stands for all methods is no route: it runs in front of others, or refuses them. */
export function routesOf(app: App): readonly Route[] {
  const found = new Map<string, Route>();
  for (const { method, path } of app.routes) {
    if (method === "ALL") continue;
    found.set(`${method} ${path}`, { method, path });
  }
  return [...found.values()];
}

/** A path with each of its parameters filled in. */
export function fill(path: string, value: (name: string) => string): string {
  return path.replace(/:([A-Za-z]+)(?:\{[^}]*\})?\??/g, (_, name: string) => encodeURIComponent(value(name)));
}
