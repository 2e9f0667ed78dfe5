import { deepEqual, equal, match, ok } from "node:assert/strict";
import { startServer } from "../support/server.ts";
import { type Frame, readFrames } from "../support/sse.ts";

const readme = await Deno.readTextFile("README.md");
const config = JSON.parse(await Deno.readTextFile("deno.json"));

/** Ids and figures that differ from run to run. */
function normalise(text: string): string {
  return text.replace(/t_[0-9a-f]{20}/g, "t_ID").replace(/"ms":\d+/g, '"ms":0');
}

Deno.test("README shows what the curl example really prints", async () => {
  const curl = readme.match(/^ {4}curl -N http:\/\/127\.0\.0\.1:8000(\S+) -d '(.*)'$/m);
  ok(curl !== null, "the README has a curl example");
  await using server = await startServer({ SELVAGE_KV: ":memory:" });
  const response = await fetch(`${server.url}${curl[1]}`, { method: "POST", body: curl[2] ?? "" });
  const printed = normalise(await response.text()).trimEnd().split("\n");
  const start = readme.indexOf("    : selvage\n");
  const block = readme.slice(start).split(/\n(?=\S)/)[0] ?? "";
  const shown = normalise(block).split("\n").map((line) => line.replace(/^ {4}/, "").trimEnd());
  const gap = shown.indexOf("…");
  const tail = shown.slice(gap + 1).filter((line) => line !== "");
  deepEqual(shown.slice(0, gap - 1), printed.slice(0, gap - 1), "up to the gap");
  deepEqual(tail, printed.slice(-tail.length), "after the gap");
});

Deno.test("docs/http.md shows a turn that can be left, read on, told something and ended, each by a curl", async () => {
  const text = await Deno.readTextFile("docs/http.md");
  const [, part = ""] = /^## A turn to practise on$(.*?)^## /ms.exec(text) ?? [];
  const [begin, readOn, say, end] = [...part.matchAll(/^ {4}curl (.*)$/gm)].map(([, words = ""]) => words);
  await using server = await startServer({ SELVAGE_KV: ":memory:" });
  let seen: Frame | undefined;
  /** Does what a command does, for the turn that was seen. */
  async function curl(words = ""): Promise<Response> {
    const [turn = "", number = ""] = seen?.id?.split(":") ?? [];
    const meant = words.replaceAll("TURN:52", `TURN:${number}`).replaceAll("TURN", turn);
    const [, path = ""] = /http:\/\/127\.0\.0\.1:8000(\S+)/.exec(meant) ?? [];
    const body = / -d '(.*)'$/.exec(meant)?.[1] ?? null;
    const [, name, value = ""] = / -H '(.*?): (.*)'/.exec(meant) ?? [];
    const headers = name === undefined ? {} : { [name]: value };
    const method = body === null && !meant.includes("-X POST") ? "GET" : "POST";
    return await fetch(`${server.url}${path}`, { method, body, headers });
  }
  for await (const frame of readFrames(await curl(begin))) {
    seen = frame;
    if (frame.event === "tool.result") break;
  }
  const rest = readFrames(await curl(readOn));
  equal((await rest.next()).value?.id, seen?.id?.replace(/\d+$/, (number) => `${Number(number) + 1}`));
  equal((await (await curl(say)).json()).message, 0);
  const told: (string | undefined)[] = [];
  let ended: Promise<unknown> | undefined;
  for await (const { event } of rest) {
    told.push(event);
    if (event === "user.message") ended = curl(end).then((response) => response.json());
  }
  equal(told.at(-1), "turn.finished");
  deepEqual(await ended, { turn: seen?.id?.split(":")[0], cancelled: true });
});

Deno.test("README stays as short as CONTRIBUTING asks", async () => {
  const [, most = ""] = /stays under\s+([\d,]+)\s+words/.exec(await Deno.readTextFile("CONTRIBUTING.md")) ??
    [];
  // Signs of tables and drawings are no words.
  const words = readme.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
  ok(words < Number(most.replace(",", "")), `${words} words, wanted under ${most}`);
});

Deno.test("README and the documents beside it name tasks, variables and defaults that exist", async () => {
  const source = await Deno.readTextFile("config.ts");
  for (const text of (await documents()).values()) {
    for (const [, task] of text.matchAll(/deno(?:@2\.9\.6)? task ([a-z:]+)/g)) {
      ok(task !== undefined && task in config.tasks, `the task ${task}`);
    }
    for (const [, name, fallback] of text.matchAll(/^\| `([A-Z_]+)` +\| (\S*) /gm)) {
      ok(source.includes(`${name}: [`), `the variable ${name}`);
      const digits = fallback?.match(/^`([\d.]+)`$/)?.[1];
      if (digits === undefined) continue;
      const declared = source.slice(source.indexOf(`${name}: [`)).match(/default\("?([\d_.]+)"?\)/)?.[1];
      equal(declared?.replaceAll("_", ""), digits, `the default of ${name}`);
    }
  }
  match(readme, /npx -y deno@2\.9\.6 task demo/);
});

Deno.test("links between the documents lead to files and headings that exist", async () => {
  const texts = await documents();
  let seen = 0;
  for (const [from, text] of texts) {
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const { href, hash } = new URL(link, from);
      const file = new URL(href.slice(0, href.length - hash.length));
      ok((await Deno.stat(file)).isFile, link);
      if (hash !== "") {
        ok(headingsOf(texts.get(file.href) ?? "").includes(hash.slice(1)), `${link} in ${from}`);
      }
      seen++;
    }
  }
  ok(seen > 20, `${seen} links`);
});

Deno.test("ARCHITECTURE and CONTRIBUTING name files and folders that exist", async () => {
  const root = new URL("../../", import.meta.url);
  const names = new Set<string>();
  for (const document of ["ARCHITECTURE.md", "CONTRIBUTING.md"]) {
    const text = await Deno.readTextFile(new URL(document, root));
    for (const [, name = ""] of text.matchAll(/`((?:[a-z_]+\/)+[a-z_]*(?:\.ts)?)`/g)) names.add(name);
  }
  ok(names.size > 40, `${names.size} names`);
  for (const name of names) {
    // Folders of the sources are named without theirs, and a module may go without its ending.
    const places = [name, `${name}.ts`, `src/${name}`, `src/${name}.ts`];
    const found = places.map((place) => Deno.stat(new URL(place, root)).then(() => true, () => false));
    ok((await Promise.all(found)).includes(true), name);
  }
});

/** The documents that users read, by their addresses. */
async function documents(): Promise<ReadonlyMap<string, string>> {
  const root = new URL("../../", import.meta.url);
  const files = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "UPGRADING.md"].map((name) =>
    new URL(name, root)
  );
  const docs = new URL("docs/", root);
  for await (const { name } of Deno.readDir(docs)) files.push(new URL(name, docs));
  const read = files.map(async (file) => [file.href, await Deno.readTextFile(file)] as const);
  return new Map(await Promise.all(read));
}

/** Headings as links name them. */
function headingsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
  );
}
