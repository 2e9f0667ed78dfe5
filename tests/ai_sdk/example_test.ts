import assert from "node:assert/strict";
import { startDouble } from "../support/openai_double.ts";

const ROOT = new URL("../../", import.meta.url);

/** Days that the messages of a request tell of: read in view, or in the ledger's ranges and lines. */
function daysIn(messages: readonly { readonly role: string; readonly content: unknown }[]): number {
  let days = messages.filter(({ role }) => role === "tool").length;
  for (const { role, content } of messages) {
    if (role !== "user" || typeof content !== "string" || !content.startsWith("[selvage ledger")) continue;
    for (const line of content.split("\n")) {
      if (/^e\d+\.0 readLog /.test(line)) days++;
      days += Number(line.match(/readLog (\d+) ok/)?.[1] ?? 0);
    }
  }
  return days;
}

Deno.test("examples/compact_steps.ts reads all logs in a small window", async () => {
  await using double = startDouble({
    window: 12_000,
    script({ messages }) {
      const read = daysIn(messages);
      if (read >= 60) return { text: "I have read all of them." };
      return { calls: [{ name: "readLog", input: { day: read + 1 } }] };
    },
  });
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-net=127.0.0.1", "--allow-env", "--allow-sys", "examples/compact_steps.ts"],
    cwd: ROOT,
    env: { NO_COLOR: "1", OPENAI_BASE_URL: double.url, OPENAI_API_KEY: "k", OPENAI_MODEL: "m" },
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  assert.deepEqual(double.violations, []);
  assert.match(text, /I have read all of them\.\n61 steps\n$/);
  assert.ok((text.match(/^compacted: \d+ calls went into the ledger$/gm) ?? []).length >= 3, text);
});
