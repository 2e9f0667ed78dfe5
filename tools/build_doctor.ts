/**
 * Makes the doctor one file, which can be put anywhere and opened from a disk.
 *
 *     deno task doctor:build [FILE]
 *
 * @module
 */
import { ASSETS, DOCTOR_PAGE } from "../src/web/assets.ts";

function textOf(name: string): string {
  const asset = ASSETS[name];
  if (asset === undefined) throw new Error(`Cannot build the doctor: there is no ${name}`);
  return asset.text;
}

/** Script text that cannot end the element it is in. */
function inScript(text: string): string {
  return text.replaceAll(/<(?=\/script|!--)/gi, "\\x3C");
}

async function hashOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return `'sha256-${bytes.toBase64()}'`;
}

/** The doctor as one HTML document. Its own policy lets it run what it holds, and send nothing anywhere. */
export async function buildDoctor(): Promise<string> {
  const style = textOf("page.css");
  const script = inScript(textOf("doctor.js"));
  const policy = [
    "default-src 'none'",
    `script-src ${await hashOf(script)}`,
    `style-src ${await hashOf(style)}`,
    "img-src data:",
    "worker-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const replaced: Readonly<Record<string, string>> = {
    '<meta charset="utf-8">':
      `<meta charset="utf-8">\n<meta http-equiv="content-security-policy" content="${policy}">`,
    '<link rel="stylesheet" href="assets/page.css">': `<style>${style}</style>`,
    '<script type="module" src="assets/doctor.js"></script>': "",
    "</body>": `<script type="text/plain" id="doctor-worker">${inScript(textOf("doctor_worker.js"))}` +
      `</script>\n<script type="module">${script}</script>\n</body>`,
  };
  let page = DOCTOR_PAGE.text;
  for (const [from, to] of Object.entries(replaced)) {
    if (!page.includes(from)) throw new Error(`Cannot build the doctor: its page has no ${from}`);
    page = page.replace(from, () => to);
  }
  return page;
}

if (import.meta.main) {
  const file = Deno.args[0] ?? "doctor.html";
  const page = await buildDoctor();
  await Deno.writeTextFile(file, page);
  console.log(`${file}: ${page.length.toLocaleString("en-US")} characters, nothing else is needed`);
}
