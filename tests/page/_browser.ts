/** A real Chromium, and pages in it that are watched. */
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";

const SHOTS = new URL(".shots/", import.meta.url).pathname;

/** Widths of a desk and of a phone. */
export const SIZES = {
  desk: { width: 1280, height: 900 },
  phone: { width: 390, height: 844 },
} as const;

export interface Rig extends AsyncDisposable {
  readonly browser: Browser;
  /** A page that nothing is left unsaid about: what it asked for, and what it complained of. */
  open(url: string, options?: PageOptions): Promise<Watched>;
}

export interface PageOptions {
  readonly size?: keyof typeof SIZES;
  readonly dark?: boolean;
}

export interface Watched {
  readonly page: Page;
  readonly requests: readonly string[];
  readonly complaints: readonly string[];
}

/** Starts Chromium without anything that it does by itself. */
export async function startChromium(): Promise<Rig> {
  const browser = await chromium.launch({
    executablePath: Deno.env.get("CHROMIUM") ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  return {
    browser,
    async open(url, { size = "desk", dark = false } = {}) {
      const context = await browser.newContext({
        viewport: SIZES[size],
        colorScheme: dark ? "dark" : "light",
        reducedMotion: "reduce",
        acceptDownloads: true,
      });
      const page = await context.newPage();
      const requests: string[] = [];
      const complaints: string[] = [];
      context.on("request", (request) => requests.push(request.url()));
      page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      await page.goto(url);
      return { page, requests, complaints };
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
    },
  };
}

/** Keeps a picture for whoever wants to look. */
export async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${SHOTS}${name}.png`, fullPage: true });
}

/** What axe finds that is serious, in words. */
export async function seriousFaults(page: Page): Promise<readonly string[]> {
  // By the protocol, not by an element: the page's policy lets no other script in.
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { readonly axe: typeof axe }).axe.run();
    return violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes[0]?.html ?? "" }));
  });
  return found.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, where }) => `${id}: ${where}`);
}

/** Drops a file onto the page, as a hand does. */
export async function drop(page: Page, name: string, text: string): Promise<void> {
  const transfer = await page.evaluateHandle(({ name, text }) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    return data;
  }, { name, text });
  await page.dispatchEvent("main", "drop", { dataTransfer: transfer });
}
