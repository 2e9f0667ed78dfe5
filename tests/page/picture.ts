/**
 * Takes the picture that the README opens with: the page, in the middle of the demo.
 *
 *     deno task page:picture
 */
import { Buffer } from "node:buffer";
import { PNG } from "pngjs";
import { startServer } from "../support/server.ts";
import { startChromium } from "./_browser.ts";

const FILE = new URL("../../docs/page.png", import.meta.url).pathname;

/** Bytes that it may have. */
const MOST = 120_000;

await using server = await startServer({ SELVAGE_KV: ":memory:" });
await using rig = await startChromium();
const { page } = await rig.open(`${server.url}/`);
await page.setViewportSize({ width: 1140, height: 768 });
await page.getByRole("button", { name: "Watch the demo" }).click();
// Behind the archive, which is read at once: a deferral is to be seen, and what came of it.
await page.getByText("24 units are sealed").waitFor({ timeout: 120_000 });
await page.waitForFunction(() =>
  document.querySelectorAll(".window .block").length > 18 && document.querySelector(".cutting") === null
);
// Text and flat colours take a quarter less without filters, which the browser's own encoder uses.
const { data, width, height } = PNG.sync.read(Buffer.from(await page.screenshot()));
const whole = { data, width, height };
const picture = PNG.sync.write(Object.assign(new PNG(whole), whole), {
  colorType: 2,
  inputHasAlpha: true,
  filterType: 0,
  deflateLevel: 9,
  deflateStrategy: 0,
});
if (picture.length > MOST) {
  throw new Error(`Cannot keep the picture: found ${picture.length} bytes, wanted ${MOST}`);
}
await Deno.writeFile(FILE, picture);
console.log(`docs/page.png: ${picture.length.toLocaleString("en-US")} bytes`);
