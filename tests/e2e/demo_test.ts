import { equal, ok } from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url).pathname;

Deno.test("the demo keeps its promises, and README shows what it prints", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-P=demo", "tools/demo.ts"],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  equal(code, 0, new TextDecoder().decode(stderr));
  const row = (name: string): string => text.match(new RegExp(`^${name} +(.*?)(?: {2,}|$)`, "m"))?.[1] ?? "";
  ok(Number(row("tool calls")) >= 170, row("tool calls"));
  ok(Number(row("compactions")) >= 5, row("compactions"));
  ok(Number(row("deferrals")) >= 2, row("deferrals"));
  equal(row("violations"), "0");
  ok(text.includes("resolves the deferral within the turn"));
  ok(text.includes("resolves the deferral at the turn boundary"));
  // README shows lines of it in their order. Tokens differ a little with the order in which parallel reads end.
  const readme = await Deno.readTextFile(`${ROOT}README.md`);
  const sample = readme.match(/as it happens:\n\n((?: {4}.*\n|\n)+)/)?.[1]?.trimEnd() ?? "";
  ok(sample.split("\n").length > 10, "README has no sample of the demo");
  const shape = (line: string): string =>
    /^(tool calls|compactions|deferrals|violations)/.test(line.trim())
      ? line.trim()
      : line.trim().replace(/[\d,]+/g, "N").replace(/ {2,}/g, "  ").replace(/[█·]+/g, "█");
  const printed = text.split("\n").map(shape);
  let at = 0;
  for (const line of sample.split("\n").map(shape)) {
    const found = printed.indexOf(line, at);
    ok(found >= 0, `README shows a line that the demo does not print there: ${line}`);
    at = found;
  }
});
