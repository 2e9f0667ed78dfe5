/**
 * `/openapi.json` and `/reference`: what the service takes and answers, for programs and for people.
 *
 * @module
 */
import { Hono } from "hono";
import type { AppEnv } from "../env.ts";
import type { OpenApiDocument } from "../openapi/document.ts";
import { referencePage, STYLE } from "../openapi/page.ts";

/** Routes that anybody may ask for: they say nothing that is not in the program. */
export function openApiRoutes(): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  // Made when it is asked for first, for each place that the service is mounted at.
  const made = new Map<string, OpenApiDocument>();
  async function documentAt(path: string, name: string): Promise<OpenApiDocument> {
    const base = path.endsWith(name) ? path.slice(0, -name.length) : "";
    // Not before: its schemas are a good part of a start, and few ask for it.
    const { openApiDocument } = await import("../openapi/document.ts");
    const document = made.get(base) ?? openApiDocument(base);
    // A router that takes any place before it must not fill the memory.
    if (made.size < 16) made.set(base, document);
    return document;
  }
  app.get("/openapi.json", async (c) => c.json(await documentAt(c.req.path, "/openapi.json")));
  app.get("/reference", async (c) => c.html(referencePage(await documentAt(c.req.path, "/reference"))));
  app.get(
    "/reference.css",
    () => new Response(STYLE, { headers: { "content-type": "text/css; charset=utf-8" } }),
  );
  return app;
}
