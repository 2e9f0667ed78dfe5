/** The transcript doctor in a real Chromium, against a real server and as one file. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { Page } from "playwright-core";
import { buildDoctor } from "../../tools/build_doctor.ts";
import { BROKEN_EXAMPLE } from "../../src/web/doctor/example.ts";
import { runProcess } from "../support/command.ts";
import { type Server, startServer } from "../support/server.ts";
import { drop, type Rig, seriousFaults, shoot, SIZES, startChromium } from "./_browser.ts";

// One server and one browser for all: each page is a context of its own.
let server: Server;
let rig: Rig;
Deno.test.beforeAll(async () => {
  [server, rig] = await Promise.all([startServer({ SELVAGE_KV: ":memory:" }), startChromium()]);
});
Deno.test.afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** The sanitizers would blame a test for what the browser's connection does by itself. */
const SHARED = { sanitizeOps: false, sanitizeResources: false } as const;

const READY = { name: "Try a broken example" } as const;

async function ready(page: Page): Promise<void> {
  await page.getByRole("button", READY).waitFor();
}

/** Saves what a click gives to a file of the test's own, and gives its name and path. */
async function downloaded(
  page: Page,
  button: string,
): Promise<{ readonly name: string; readonly path: string }> {
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: button }).click();
  const download = await waiting;
  return { name: download.suggestedFilename(), path: await download.path() };
}

/** A history of many rounds, each with a result of so many characters; one result in the middle is lost. */
function longHistory(rounds: number, size: number): string {
  const messages: unknown[] = [{ role: "user", content: "Go through all of them." }];
  for (let n = 0; n < rounds; n++) {
    const call = { id: `c${n}`, type: "function", function: { name: "look", arguments: `{"at":${n}}` } };
    messages.push({ role: "assistant", content: null, tool_calls: [call] });
    if (n !== rounds >> 1) {
      messages.push({ role: "tool", tool_call_id: `c${n}`, content: `${n} `.repeat(size / 5) });
    }
  }
  messages.push({ role: "assistant", content: "Done." });
  return messages.map((message) => JSON.stringify(message)).join("\n");
}

/** A file for one test. */
async function tempFile(name: string, text: string): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/${name}`;
  await Deno.writeTextFile(path, text);
  return { path, [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }) };
}

for (const { size, dark } of [{ size: "desk", dark: false }, { size: "phone", dark: true }] as const) {
  Deno.test({
    name: `a broken transcript is dropped, read, mended and checked: ${size}, ${dark ? "dark" : "light"}`,
    ...SHARED,
    fn: async () => {
      const { page, requests, complaints } = await rig.open(`${server.url}/doctor`, { size, dark });
      await ready(page);
      deepEqual(await seriousFaults(page), []);
      await shoot(page, `doctor-empty-${size}`);
      const loaded = requests.length;
      equal(loaded, 4, requests.join(" "));

      await drop(page, "broken.json", BROKEN_EXAMPLE);
      await page.getByRole("heading", { name: "4 violations" }).waitFor();
      const first = page.locator(".fault").first();
      match(
        await first.innerText(),
        /message 3[\s\S]*c3 is passed over without a result[\s\S]*missing_result/,
      );
      await first.click();
      await page.locator(".atom .wrong").waitFor();
      match(
        await page.locator(".atom").innerText(),
        /The call c3 is passed over/,
        "it is marked in its place",
      );
      equal(await page.locator(".block.faulty").count(), 4);

      await page.getByLabel("Budget").fill("45");
      await page.locator(".outcome .applied").waitFor();
      equal(await page.locator(".block.cut-here").count(), 1);
      deepEqual(await seriousFaults(page), []);
      await shoot(page, `doctor-open-${size}`);
      ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");

      const repaired = await downloaded(page, "Download the repaired file");
      equal(repaired.name, "broken.repaired.json");
      const compacted = await downloaded(page, "Download the compacted file");
      equal(compacted.name, "broken.compacted.json");
      for (const { path } of [repaired, compacted]) {
        const { code, out, err } = await runProcess(["check", path]);
        equal(code, 0, out + err);
      }
      equal(
        await Deno.readTextFile(repaired.path),
        (await runProcess(["repair", "-"], { stdin: BROKEN_EXAMPLE })).out,
      );
      // Blobs are the page's own: they are on no wire.
      deepEqual(
        requests.slice(loaded).filter((url) => !url.startsWith("blob:")),
        [],
        "nothing was asked for",
      );
      deepEqual(complaints, []);
      await page.context().close();
    },
  });
}

Deno.test({
  name: "the browser itself keeps the page from sending anything",
  ...SHARED,
  fn: async () => {
    const { page } = await rig.open(`${server.url}/doctor`);
    await ready(page);
    const sent = await page.evaluate(async () => {
      const tries = [
        () => fetch("/healthz"),
        () =>
          Promise.resolve(navigator.sendBeacon("/healthz", "x")).then((isSent) => {
            if (!isSent) throw new Error("refused");
          }),
      ];
      const settled = await Promise.allSettled(tries.map((attempt) => attempt()));
      return settled.map(({ status }) => status);
    });
    equal(sent[0], "rejected");
    await page.context().close();
  },
});

Deno.test({
  name: "the strip is gone through by keys, and each block says what it is",
  ...SHARED,
  fn: async () => {
    const { page } = await rig.open(`${server.url}/doctor`);
    await ready(page);
    await page.getByRole("button", READY).click();
    await page.getByRole("heading", { name: "4 violations" }).waitFor();
    const blocks = page.getByRole("toolbar").getByRole("button");
    await blocks.first().focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    const label = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    match(
      label ?? "",
      /^Assistant, from message 3, about \d+ tokens, 1 violation, a legal cut in front of it$/,
    );
    equal(await page.locator(".tip").innerText(), label, "who looks sees the same");
    await page.keyboard.press("Enter");
    await page.locator(".atom .wrong").waitFor();
    await page.keyboard.press("End");
    equal(await page.locator('.block[tabindex="0"]').count(), 1, "Tab reaches one of them");
    await page.context().close();
  },
});

Deno.test({
  name: "5,000 atoms stay few blocks, which open into the ones they stand for",
  ...SHARED,
  fn: async () => {
    const { page } = await rig.open(`${server.url}/doctor`, { size: "phone" });
    await ready(page);
    await drop(page, "long.jsonl", longHistory(5_000, 100));
    await page.getByRole("heading", { name: "1 violation" }).waitFor();
    const blocks = page.locator(".block");
    // What is drawn before the strip knows its width is waited out.
    const areFew = () =>
      page.waitForFunction(() => {
        const { length } = document.querySelectorAll(".block");
        return length > 0 && length <= 60;
      });
    await areFew();
    ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await shoot(page, "doctor-5000-phone");
    await blocks.nth(10).click();
    await page.getByText(/^atoms [\d,]+ to [\d,]+ of 5,00\d$/).waitFor();
    // On a desk the place of a fault far into a file stands beside what is wrong.
    await page.setViewportSize(SIZES.desk);
    const where = page.locator(".fault .where").first();
    match(await where.innerText(), /^message \d{4,} · line \d{4,}$/);
    ok(await where.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth), "it has its room");
    await page.setViewportSize(SIZES.phone);
    // The fault leads to its own atom, whatever is drawn.
    await page.locator(".fault").first().click();
    await page.locator(".atom .wrong").waitFor();
    await areFew();
    await page.getByLabel("Budget").fill("20");
    await page.locator(".outcome .applied").waitFor();
    await page.getByRole("button", { name: "Whole transcript" }).click();
    ok(await page.locator(".block.gone").count() > 20);
    await page.context().close();
  },
});

Deno.test({
  name: "16 MB are read in the worker, and come back mended",
  ...SHARED,
  fn: async () => {
    const { page, complaints } = await rig.open(`${server.url}/doctor`);
    await ready(page);
    equal(page.workers().length, 1);
    const text = longHistory(1_800, 10_000);
    ok(text.length > 15_000_000 && text.length < 16_777_216, `${text.length}`);
    await drop(page, "large.jsonl", text);
    await page.getByRole("heading", { name: "1 violation" }).waitFor({ timeout: 120_000 });
    const { path } = await downloaded(page, "Download the repaired file");
    const lines = (await Deno.readTextFile(path)).split("\n");
    const kept = new Set(lines);
    const before = text.split("\n");
    equal(lines.length, before.length + 1, "one result was added");
    equal(before.filter((line) => !kept.has(line)).length, 0, "all others are as they were");
    deepEqual(complaints, []);
    await page.context().close();
  },
});

Deno.test({
  name: "what cannot be read is said, pasted text is taken, and a server that is away is named",
  ...SHARED,
  fn: async () => {
    const { page } = await rig.open(`${server.url}/doctor`);
    await ready(page);
    await drop(page, "half.json", "[{");
    match(await page.getByRole("alert").innerText(), /could not be read[\s\S]*half\.json/);
    const choosing = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Choose a file" }).click();
    await using chosen = await tempFile("chosen.jsonl", longHistory(3, 100));
    await (await choosing).setFiles(chosen.path);
    await page.getByText("chosen.jsonl").waitFor();
    await page.getByText("Paste text instead").click();
    await page.getByLabel("Transcript as JSON or JSON lines").fill('[{"role":"user","content":"Hi"}]');
    await page.getByRole("button", { name: "Examine" }).click();
    await page.getByRole("heading", { name: "Nothing is broken" }).waitFor();
    await page.route("**/doctor_worker.js", (route) => route.abort());
    await page.reload();
    match(await page.getByRole("alert").innerText(), /the server is away/);
    await page.context().close();
  },
});

Deno.test({
  name: "the doctor as one file works from a disk",
  ...SHARED,
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${folder}/doctor.html`, await buildDoctor());
      const { page, requests, complaints } = await rig.open(`file://${folder}/doctor.html`);
      await ready(page);
      await page.getByRole("button", READY).click();
      await page.getByRole("heading", { name: "4 violations" }).waitFor();
      const { path } = await downloaded(page, "Download the repaired file");
      equal((await runProcess(["check", path])).code, 0);
      deepEqual(requests.filter((url) => !/^(?:blob|data):/.test(url)), [`file://${folder}/doctor.html`]);
      deepEqual(complaints, []);
      await page.context().close();
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
