/** The page in a real Chromium, against real servers. Over 300 lines: they are started once, for all cases. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { Page } from "playwright-core";
import { type Server, startServer } from "../support/server.ts";
import { type Rig, seriousFaults, shoot, startChromium } from "./_browser.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** Agents that ask for what a person and a client have to give, and one that writes what a page must not run. */
const CONFIG = `
import { defineTool, scripted } from ${JSON.stringify(`${ROOT}src/mod.ts`)};
import * as z from ${JSON.stringify(import.meta.resolve("zod"))};
const send = defineTool({
  name: "send", description: "Sends a mail", input: z.object({ to: z.string() }), needsApproval: true,
  execute: ({ to }) => "sent to " + to,
});
const locate = defineTool({ name: "locate", description: "Asks the client", input: z.object({}) });
const HOSTILE = "# Found\\n\\n<img src=https://evil.example/a.png onerror=alert(1)> ![p](https://evil.example/b.png) " +
  "[bad](javascript:alert(1)) [good](https://good.example/)\\n\\n<script>document.title = 'taken'</script>\\n\\n" +
  "| a | b |\\n|---|---|\\n| 1 | 2 |\\n";
const script = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === "tool") return { text: last.content.map(({ output }) => String(output.value)).join(", ") };
  const text = typeof last?.content === "string" ? last.content : "";
  if (text === "mail") {
    return { reasoning: "Ask first.", calls: [{ name: "send", input: { to: "ada" } }, { name: "locate", input: {} }] };
  }
  return { text: text === "hostile" ? HOSTILE : "You said: " + text };
};
export default { agents: { default: { model: scripted({ script }), tools: [send, locate] } } };
`;

// Two servers and one browser for all: each page is a context of its own.
let plain: Server;
let own: Server;
let rig: Rig;
let folder: string;
Deno.test.beforeAll(async () => {
  await Deno.mkdir(`${ROOT}.selvage`, { recursive: true });
  folder = await Deno.makeTempDir({ dir: `${ROOT}.selvage`, prefix: "test-" });
  await Deno.writeTextFile(`${folder}/config.ts`, CONFIG);
  // The module reads the project's own, which it can name only once there is a package of it.
  const args = ["--allow-read", "--host", "127.0.0.1", "--port", "0"];
  [plain, own, rig] = await Promise.all([
    startServer({ SELVAGE_KV: ":memory:" }),
    startServer({ SELVAGE_KV: ":memory:", SELVAGE_CONFIG: `${folder}/config.ts` }, { args }),
    startChromium(),
  ]);
});
Deno.test.afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await plain[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
  await Deno.remove(folder, { recursive: true });
});

/** The sanitizers would blame a test for what the browser's connection does by itself. */
const SHARED = { sanitizeOps: false, sanitizeResources: false } as const;

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.keyboard.press("Enter");
}

async function requireFits(page: Page): Promise<void> {
  const wide = await page.evaluate(() =>
    [...document.querySelectorAll("html, .context, .scroll, .card")].filter(({ scrollWidth, clientWidth }) =>
      clientWidth > 0 && scrollWidth > clientWidth
    ).map(({ className, scrollWidth, clientWidth }) => `${className}: ${scrollWidth} of ${clientWidth}`)
  );
  deepEqual(wide, [], "nothing sticks out");
}

for (const { size, dark } of [{ size: "desk", dark: false }, { size: "phone", dark: true }] as const) {
  Deno.test({
    name: `the demo compacts, goes on after a reload, and gives back originals: ${size}, ${
      dark ? "dark" : "light"
    }`,
    ...SHARED,
    fn: async () => {
      const { page, requests, complaints } = await rig.open(`${plain.url}/`, { size, dark });
      await page.getByRole("button", { name: "Watch the demo" }).waitFor();
      deepEqual(await seriousFaults(page), []);
      await requireFits(page);
      await shoot(page, `chat-empty-${size}`);

      await page.getByRole("button", { name: "Watch the demo" }).click();
      await page.locator(".mark.applied").first().waitFor({ timeout: 60_000 });
      await page.locator(".window .block.summary").waitFor();
      match(
        await page.locator(".mark.applied").first().innerText(),
        /\d+ calls moved into the summary, [\d,]+ → [\d,]+/,
      );
      const calls = await page.locator(".call").count();

      await page.reload();
      await page.locator(".mark.applied").first().waitFor();
      await page.waitForFunction(
        (calls) => document.querySelectorAll(".call").length > calls + 8,
        calls,
        { timeout: 60_000 },
      );
      await shoot(page, `chat-running-${size}`);
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("The turn was stopped.").waitFor();
      const ids = await page.locator(".call-body > p:first-child code").allTextContents();
      equal(new Set(ids).size, ids.length, "no call is shown twice");

      await page.getByRole("button", { name: /^Summary, about/ }).click();
      await page.getByRole("heading", { name: "The summary" }).waitFor();
      const ref = page.locator("code", { hasText: /^e\d+\.\d+$/ });
      const pair = page.locator(".ledger-lines li").filter({ has: ref }).first();
      await pair.getByRole("button", { name: /^Recall e/ }).click();
      const original = pair.getByLabel(/^Original e/);
      await original.waitFor();
      match(await original.innerText(), /call of \w+: \{[\s\S]*result of \w+ \(ok\):/);
      await requireFits(page);
      deepEqual(await seriousFaults(page), []);
      await shoot(page, `chat-ledger-${size}`);

      await page.locator(".log .block").first().click();
      await page.locator(".details, .crumbs").first().waitFor();
      match(
        await page.locator(".timeline svg").getAttribute("aria-label") ?? "",
        /Tokens over \d+ steps: [1-9]/,
      );
      deepEqual(
        requests.filter((url) => !url.startsWith(`${plain.url}/`) && !url.startsWith("data:")),
        [],
        "nobody else is asked for anything",
      );
      deepEqual(complaints, []);
      await page.context().close();
    },
  });
}

Deno.test({
  name: "a message is answered, and its call shows arguments and result",
  ...SHARED,
  fn: async () => {
    const { page, complaints } = await rig.open(`${plain.url}/`);
    await say(page, "check 07");
    await page.locator(".answer").waitFor();
    const call = page.locator(".call");
    const [stop, room] = await Promise.all(
      [".limit.stop-at span", ".room"].map((part) => page.locator(part).boundingBox()),
    );
    ok(
      stop && room && stop.x + stop.width <= room.x + room.width + 0.5,
      "the words of the last limit end where the room does",
    );
    match(await call.innerText(), /run_check\s+07\s+error/);
    await call.locator("summary").click();
    match(await call.getByLabel("Result").innerText(), /BUFFER_BYTES in units\/07\/buffer\.ts is 9216/);
    equal(await page.getByText("Working …").count(), 0);
    // What was said is found again under its address.
    await page.reload();
    await page.locator(".answer").waitFor();
    equal(await page.locator(".said").innerText(), "check 07");
    await page.getByRole("link", { name: "New session" }).click();
    await page.getByRole("heading", { name: "Say something, and watch the context" }).waitFor();
    deepEqual(complaints, []);
    await page.context().close();
  },
});

Deno.test({
  name: "calls that wait are answered, also after a reload: one is allowed, one gets its result",
  ...SHARED,
  fn: async () => {
    const { page, complaints } = await rig.open(`${own.url}/`, { size: "phone" });
    const focused = () => page.evaluate("document.activeElement.tagName");
    await say(page, "mail");
    await page.getByRole("heading", { name: "May send run?" }).waitFor();
    equal(await focused(), "TEXTAREA", "nobody loses the place where they type");
    await page.getByRole("status").filter({ hasText: "2 calls wait for you" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "May send run?" }).waitFor();
    deepEqual(await seriousFaults(page), []);
    await shoot(page, "chat-waiting-phone");
    // What was typed for one call outlives the answer to another.
    await page.getByLabel("Its result, as text or JSON").fill("Oslo");
    await page.getByRole("button", { name: "Allow", exact: true }).press("Enter");
    await page.getByRole("heading", { name: "May send run?" }).waitFor({ state: "detached" });
    equal(await focused(), "DIV", "the focus is on what was said");
    await page.getByRole("button", { name: "Send the result" }).click();
    await page.locator(".answer", { hasText: "sent to ada, Oslo" }).waitFor();
    deepEqual(await page.locator(".call .state").allInnerTexts(), ["done", "done"]);
    equal(await page.locator(".waiting").count(), 0);
    deepEqual(complaints, []);
    await page.context().close();
  },
});

Deno.test({
  name: "an answer that another window was first with is told so, until the turn is over",
  ...SHARED,
  fn: async () => {
    const { page: first } = await rig.open(`${own.url}/#two-windows`);
    await say(first, "mail");
    await first.getByRole("button", { name: "Allow", exact: true }).waitFor();
    const { page: second } = await rig.open(`${own.url}/#two-windows`);
    await second.getByRole("button", { name: "Do not allow" }).waitFor();
    await first.getByRole("button", { name: "Allow", exact: true }).click();
    await first.getByRole("heading", { name: "May send run?" }).waitFor({ state: "detached" });
    await second.getByRole("button", { name: "Do not allow" }).click();
    const notice = second.getByText("Already answered in another window.");
    await notice.waitFor();
    await second.getByRole("heading", { name: "May send run?" }).waitFor({ state: "detached" });
    await second.getByLabel("Its result, as text or JSON").fill("Oslo");
    await second.getByRole("button", { name: "Send the result" }).click();
    await second.locator(".answer", { hasText: "sent to ada, Oslo" }).waitFor();
    await notice.waitFor({ state: "detached" });
    await Promise.all([first.context().close(), second.context().close()]);
  },
});

Deno.test({
  name: "a call that is not allowed is told so, and a turn that waits can be stopped",
  ...SHARED,
  fn: async () => {
    const { page } = await rig.open(`${own.url}/`);
    await say(page, "mail");
    await page.getByLabel("Why not, for the model (optional)").fill("not on a Sunday");
    await page.getByRole("button", { name: "Do not allow" }).click();
    await page.locator(".call.error", { hasText: "send" }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".call.aborted", { hasText: "locate" }).waitFor();
    equal(await page.locator(".waiting").count(), 0);
    await say(page, "hello");
    await page.getByText("You said: hello").waitFor();
    await page.context().close();
  },
});

Deno.test({
  name: "what a model writes is drawn and never run, and asks nobody for anything",
  ...SHARED,
  fn: async () => {
    const { page, requests, complaints } = await rig.open(`${own.url}/`);
    await say(page, "hostile");
    await page.locator(".answer table").waitFor();
    equal(await page.locator(".answer img, .answer script").count(), 0);
    deepEqual(
      await page.locator(".answer a").evaluateAll((links) =>
        links.map((link) => [link.getAttribute("href"), link.getAttribute("rel")?.includes("noopener")])
      ),
      [["https://evil.example/b.png", true], ["https://good.example/", true]],
    );
    match(await page.locator(".answer").innerText(), /<script>document\.title = 'taken'<\/script>/);
    match(await page.title(), /· Selvage$/);
    deepEqual(requests.filter((url) => url.includes("evil.example")), []);
    deepEqual(complaints, []);
    await page.context().close();
  },
});

Deno.test({
  name: "a server that is away is named, and what was said meanwhile is answered when it is back",
  ...SHARED,
  fn: async () => {
    const { page } = await rig.open(`${own.url}/`);
    await say(page, "first");
    await page.getByText("You said: first").waitFor();
    await page.context().setOffline(true);
    await say(page, "second");
    await page.getByRole("alert").filter({ hasText: "The server is away." }).waitFor();
    deepEqual(await seriousFaults(page), []);
    await page.context().setOffline(false);
    await page.getByText("You said: second").waitFor();
    equal(await page.getByText("The server is away.").count(), 0);
    await page.context().close();
  },
});

Deno.test({
  name: "a message that has not arrived yet can be stopped while the server is away",
  ...SHARED,
  fn: async () => {
    const { page } = await rig.open(`${own.url}/`);
    await page.context().setOffline(true);
    await say(page, "mail");
    await page.getByRole("alert").filter({ hasText: "The server is away." }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("status").filter({ hasText: "Stopping …" }).waitFor();
    ok(await page.getByRole("button", { name: "Stop" }).isDisabled());
    await page.context().setOffline(false);
    await page.getByRole("textbox", { name: "Message" }).fill("more");
    await page.locator(".composer:not(:has(button:text-is('Stop'))) button:text-is('Send'):enabled")
      .waitFor();
    await page.getByText("Stopped before it began: it is not part of the session.").waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("You said: more").waitFor();
    await page.reload();
    await page.getByText("You said: more").waitFor();
    equal(await page.getByText("mail", { exact: true }).count(), 0);
    equal(await page.locator(".waiting").count(), 0);
    await page.context().close();
  },
});

Deno.test({
  name: "what was said in another window is shown when somebody comes back to this one",
  ...SHARED,
  fn: async () => {
    const { page: first } = await rig.open(`${own.url}/#shared`);
    await say(first, "hello");
    await first.getByText("You said: hello").waitFor();
    const { page: second } = await rig.open(`${own.url}/#shared`);
    await second.getByText("You said: hello").waitFor();
    await say(second, "from the second");
    await second.getByText("You said: from the second").waitFor();
    await first.evaluate(() => dispatchEvent(new Event("focus")));
    await first.getByText("You said: from the second").waitFor();
    await say(second, "mail");
    await second.getByRole("heading", { name: "May send run?" }).waitFor();
    await first.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await first.getByRole("heading", { name: "May send run?" }).waitFor();
    await Promise.all([first.context().close(), second.context().close()]);
  },
});

Deno.test({
  name: "a key is asked for, held in the tab's memory alone, and asked for again after a reload",
  ...SHARED,
  fn: async () => {
    const key = "a-key-of-the-tests-0123456789";
    await using server = await startServer({ SELVAGE_KV: ":memory:", SELVAGE_API_KEYS: `acme=${key}` });
    const { page } = await rig.open(`${server.url}/`);
    const field = page.getByLabel("Key");
    await field.waitFor();
    deepEqual(await seriousFaults(page), []);
    await shoot(page, "chat-key-desk");
    await field.fill("another-key-0123456789");
    await page.keyboard.press("Enter");
    await page.getByText("That key was not taken.").waitFor();
    await field.fill(`“${key}”`);
    await page.keyboard.press("Enter");
    await page.getByText("A key has letters, digits and signs of ASCII only").waitFor();
    equal(await page.getByText("The server is away.").count(), 0);
    await field.fill(`\u200b${key} `);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Say something, and watch the context" }).waitFor();
    await say(page, "check 07");
    await page.locator(".answer").waitFor();
    const kept = await page.evaluate(() =>
      JSON.stringify([
        { ...localStorage },
        { ...sessionStorage },
        document.cookie,
        location.href,
        history.state,
      ])
    );
    ok(!kept.includes(key), kept);
    await page.reload();
    await field.waitFor();
    await page.context().close();
  },
});

Deno.test({
  name: "an address that names no session is told so at once, and leads to a new one",
  ...SHARED,
  fn: async () => {
    const { page, requests, complaints } = await rig.open(`${own.url}/#..`);
    await page.getByRole("heading", { name: "The address names no session" }).waitFor();
    equal(await page.getByRole("textbox").count(), 0);
    deepEqual(requests.filter((url) => /sessions|turns/.test(url)), []);
    deepEqual(await seriousFaults(page), []);
    await page.getByRole("main").getByRole("link", { name: "New session" }).click();
    await page.getByRole("heading", { name: "Say something, and watch the context" }).waitFor();
    deepEqual(complaints, []);
    await page.context().close();
  },
});

Deno.test({
  name: "the window is gone through by keys, and each block says what it is",
  ...SHARED,
  fn: async () => {
    const { page } = await rig.open(`${own.url}/`);
    await say(page, "hello");
    await page.getByText("You said: hello").waitFor();
    const blocks = page.getByRole("toolbar", { name: "The log, block by block" }).getByRole("button");
    await blocks.nth(1).waitFor();
    await blocks.first().focus();
    await page.keyboard.press("ArrowRight");
    const label = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    match(
      label ?? "",
      /^Assistant, e1(?:, “You said: hello”)?, about \d+ tokens, a legal cut in front of it$/,
    );
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Assistant e1" }).waitFor();
    match(await page.getByLabel("Original e1").innerText(), /You said: hello/);
    await page.getByRole("button", { name: "Close" }).focus();
    await page.keyboard.press("Escape");
    await page.locator(".details").waitFor({ state: "detached" });
    match(await page.locator(":focus").getAttribute("aria-label") ?? "", /^Assistant, e1/);
    // The first two things that Tab comes to lead past all the rest.
    await page.reload();
    await page.locator(".window .block").first().waitFor();
    await page.keyboard.press("Tab");
    equal(await page.locator(":focus").innerText(), "To the message");
    await page.keyboard.press("Tab");
    equal(await page.locator(":focus").innerText(), "To the context");
    deepEqual(await seriousFaults(page), []);
    await page.keyboard.press("Enter");
    match(await page.locator(".window :focus").getAttribute("aria-label") ?? "", /^Instructions and tools/);
    await page.getByRole("button", { name: "To the message" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.type("by keys");
    equal(await page.getByRole("textbox", { name: "Message" }).inputValue(), "by keys");
    await page.context().close();
  },
});

Deno.test({
  name: "a session of 5,000 atoms is drawn, gone through and gone on with",
  ...SHARED,
  fn: async () => {
    const messages = Array.from({ length: 5_000 }, (_, at) => ({
      id: `m${at}`,
      role: at % 2 === 0 ? "user" : "assistant",
      parts: [{ type: "text", text: `${at} `.repeat(12) }],
    }));
    const sent = await fetch(`${own.url}/api/chat`, {
      method: "POST",
      body: JSON.stringify({
        id: "long",
        messages: [...messages, { id: "last", role: "user", parts: [{ type: "text", text: "long" }] }],
      }),
    });
    match(await sent.text(), /"finishReason":"stop"/);
    const began = performance.now();
    const { page, complaints } = await rig.open(`${own.url}/#long`, { size: "phone" });
    await page.getByText("You said: long").waitFor();
    await page.locator(".log .block").first().waitFor();
    ok(performance.now() - began < 60_000);
    // The first drawing does not know the width that it has.
    await page.waitForFunction(() => document.querySelectorAll(".block").length <= 160);
    ok(await page.locator(".items > li").count() <= 200);
    await requireFits(page);
    await shoot(page, "chat-5000-phone");
    await page.locator(".log .block").nth(10).click();
    await page.getByText(/^atoms [\d,]+ to [\d,]+ of 5,00\d$/).waitFor();
    await say(page, "more");
    await page.getByText("You said: more").waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: /^Show earlier/ }).click();
    ok(await page.locator(".items > li").count() > 400);
    deepEqual(complaints, []);
    await page.context().close();
  },
});
