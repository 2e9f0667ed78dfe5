/**
 * `GET /`, `GET /doctor`, and what pages are made of. Anybody may have them: they hold nothing but themselves.
 *
 * @module
 */
import { type Context, Hono } from "hono";
import { compress } from "hono/compress";
import { etag } from "hono/etag";
import type { Asset } from "../../web/assets.ts";
import type { AppEnv } from "../env.ts";
import { PAGE_POLICY } from "../headers.ts";

/** What the doctor may do: as other pages, but for asking anybody anything. The browser itself sees to it. */
const DOCTOR_POLICY = PAGE_POLICY.replace("connect-src 'self'", "connect-src 'none'");

/** The files, which are half a megabyte of text: read for the first browser, not for each start. */
const assets = () => import("../../web/assets.ts");

/** Sends a file. A browser asks each time whether its copy is still the one, and mostly it is. */
function send(c: Context<AppEnv>, { type, text }: Asset): Response {
  return c.body(text, 200, { "content-type": type, "cache-control": "no-cache", "vary": "accept-encoding" });
}

/** A page whose links count from its own path, also where the service is mounted at one that ends without a slash. */
function linked({ type, text }: Asset, pathname: string): Asset {
  const last = pathname.slice(pathname.lastIndexOf("/") + 1).replaceAll("&", "&amp;");
  return { type, text: last === "" ? text : text.replaceAll('="assets/', () => `="./${last}/assets/`) };
}

/** The routes of the pages. */
export function pageRoutes(): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  const small = [compress(), etag()] as const;
  const page = async (c: Context<AppEnv>) => send(c, linked((await assets()).CHAT_PAGE, c.req.path));
  app.get("/", ...small, page);
  // The same with a slash behind it, where the service is mounted: `/agent/`. Alone it has no such path, so that this
  // is no route of its own.
  app.use(
    "/:slash{^$}",
    ...small,
    async (c, next) => /^(?:GET|HEAD)$/.test(c.req.method) ? await page(c) : await next(),
  );
  app.get("/doctor", ...small, async (c) => {
    c.header("content-security-policy", DOCTOR_POLICY);
    return send(c, (await assets()).DOCTOR_PAGE);
  });
  app.get("/assets/:name", ...small, async (c) => {
    const { ASSETS } = await assets();
    const name = c.req.param("name");
    const asset = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
    return asset === undefined ? c.notFound() : send(c, asset);
  });
  return app;
}
