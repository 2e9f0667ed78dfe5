/** The files of the page: made of what is there, small, and sent as a browser needs them. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Hono } from "hono";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ASSETS, CHAT_PAGE, DOCTOR_PAGE } from "../../src/web/assets.ts";
import { buildDoctor } from "../../tools/build_doctor.ts";
import { buildScripts } from "../../tools/build_page.ts";

/** Bytes that a page may take on its way. */
const MAX_TRANSFER = 150_000;

function makeApp() {
  return createApp({
    agents: { default: { model: scripted({ script: () => ({ text: "" }) }) } },
    store: memoryStore(),
    auth: () => null,
  });
}

async function zipped(text: string): Promise<number> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(stream).arrayBuffer()).byteLength;
}

Deno.test("the scripts of the page are made of the modules as they are now", async () => {
  for (const [name, text] of Object.entries(await buildScripts())) {
    ok(ASSETS[name]?.text === text, `src/web/dist/${name} is stale: run deno task page:build`);
    ok(!/(?:from|import\(?)\s*"(?:node|npm):/.test(text), `${name} imports what a browser has not`);
    ok(!/^\/\/ \S*\//m.test(text), `${name} tells paths of the machine that it was made on`);
  }
});

Deno.test("all pages together take at most 150 kB on its way, in any language of the service", async () => {
  const texts = [CHAT_PAGE, DOCTOR_PAGE, ...Object.values(ASSETS)].map(({ text }) => text);
  const sizes = await Promise.all(texts.map(zipped));
  const sum = sizes.reduce((all, size) => all + size, 0);
  ok(sum <= MAX_TRANSFER, `found ${sum} bytes`);
});

Deno.test("GET /doctor lets the page ask nobody anything, wherever the service is mounted", async () => {
  const app = makeApp();
  const page = await app.request("/doctor");
  equal(page.status, 200, "it needs no key");
  equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  const policy = page.headers.get("content-security-policy") ?? "";
  match(policy, /connect-src 'none'/);
  match(policy, /default-src 'none'/);
  ok(!policy.includes("unsafe"));
  const text = await page.text();
  ok(!/<script(?![^>]*\bsrc=)|<style|\son[a-z]+=|\sstyle=/.test(text), "nothing is inline");
  const links = [...text.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, link = ""]) => link);
  deepEqual(links.sort(), ["assets/doctor.js", "assets/page.css"], "all links are relative");
  for (const link of links) equal((await app.request(`/${link}`)).status, 200, link);
});

Deno.test("GET / asks its own service alone, and runs nothing that is inline", async () => {
  const app = makeApp();
  const page = await app.request("/");
  equal(page.status, 200, "it needs no key");
  const policy = page.headers.get("content-security-policy") ?? "";
  match(policy, /default-src 'none'/);
  match(policy, /connect-src 'self'/);
  ok(!policy.includes("unsafe"));
  const text = await page.text();
  ok(!/<script(?![^>]*\bsrc=)|<style|\son[a-z]+=|\sstyle=/.test(text), "nothing is inline");
  const links = [...text.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, link = ""]) => link);
  deepEqual(links.sort(), ["assets/chat.css", "assets/chat.js", "assets/page.css"]);
  for (const link of links) equal((await app.request(`/${link}`)).status, 200, link);
});

Deno.test("a page that a browser has already stays under the policy that it came with", async () => {
  const app = makeApp();
  for (const path of ["/", "/doctor"]) {
    const tag = (await app.request(path)).headers.get("etag") ?? "";
    const again = await app.request(path, { headers: { "if-none-match": tag } });
    equal(again.status, 304);
    // A browser would take one of these for the page's own from now on.
    equal(again.headers.get("content-security-policy"), null, path);
  }
});

Deno.test("GET / finds what it is made of wherever the service is mounted", async () => {
  const other = new Hono();
  other.route("/agent", makeApp());
  for (const path of ["/agent", "/agent/"]) {
    const text = await (await other.request(path)).text();
    const links = [...text.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, link = ""]) => link);
    equal(links.length, 3, path);
    for (const link of links) {
      equal((await other.request(new URL(link, `http://localhost${path}`).pathname)).status, 200, link);
    }
  }
});

Deno.test("GET /assets/:name answers 304 to whoever has the file, small to who takes it so, 404 to the rest", async () => {
  const app = makeApp();
  const first = await app.request("/assets/doctor.js");
  const tag = first.headers.get("etag") ?? "";
  equal(first.headers.get("cache-control"), "no-cache");
  equal(await first.text(), ASSETS["doctor.js"]?.text);
  const again = await app.request("/assets/doctor.js", { headers: { "if-none-match": tag } });
  equal(again.status, 304);
  const small = await app.request("/assets/doctor.js", { headers: { "accept-encoding": "gzip" } });
  equal(small.headers.get("content-encoding"), "gzip");
  match(small.headers.get("vary") ?? "", /accept-encoding/i);
  const smallTag = small.headers.get("etag") ?? "";
  await small.body?.cancel();
  const known = await app.request("/assets/doctor.js", {
    headers: { "accept-encoding": "gzip", "if-none-match": smallTag },
  });
  equal(known.status, 304, "a browser that takes gzip has the file too");
  for (const name of ["none.js", "__proto__", "toString", "..%2fdeno.json"]) {
    equal((await app.request(`/assets/${name}`)).status, 404, name);
  }
});

Deno.test("buildDoctor() makes one file that needs nothing else, and may run nothing else", async () => {
  const page = await buildDoctor();
  ok(
    !/(?:src|href)="(?!data:)/.test(page.replaceAll(/<script[^>]*>[\s\S]*?<\/script>/g, "")),
    "no file beside it",
  );
  const [, policy = ""] = page.match(/content-security-policy" content="([^"]*)"/) ?? [];
  match(policy, /default-src 'none'; script-src 'sha256-/);
  ok(!/connect-src|unsafe/.test(policy), "it can ask nobody");
  equal(page.match(/<\/script>/g)?.length, 2, "no text in it ends a script too early");
});
