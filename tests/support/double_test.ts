import assert from "node:assert/strict";

const main = new URL("./double.ts", import.meta.url).pathname;
const contents = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };
const chat = { model: "m", messages: [{ role: "user", content: "hi" }] };
const headers = { "x-api-key": "k", "anthropic-version": "2023-06-01", "x-goog-api-key": "k" };

function command(...names: readonly string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-lock", "--allow-net=127.0.0.1", "--allow-env=SELVAGE_DOUBLE_PORT", main, ...names],
    stdout: "piped",
    stderr: "piped",
  });
}

Deno.test.each([
  [[], "/v1", "/chat/completions", chat],
  [["openai"], "/v1", "/chat/completions", chat],
  [["responses"], "/v1", "/responses", { model: "gpt-5", input: "hi", max_output_tokens: 128_000 }],
  [["anthropic"], "", "/v1/messages", { ...chat, max_tokens: 100 }],
  [["gemini"], "/v1beta", "/models/m:generateContent", contents],
])("double.ts serves %j as a program", async (names, base, path, body) => {
  await using process = command(...names).spawn();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  const url = /^Listening on (http:\/\/127\.0\.0\.1:\d+(?:\/\w+)?)\n/.exec(value)?.[1] ?? "";
  assert.equal(new URL(url).pathname, base === "" ? "/" : base);
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  assert.match(await response.text(), /You sent 1 message\./);
  await reader.cancel();
  await process.stderr.cancel();
});

Deno.test("double.ts names the doubles where it does not know one", async () => {
  const { code, stderr } = await command("nobody").output();
  assert.equal(code, 2);
  assert.match(
    new TextDecoder().decode(stderr),
    /"nobody": wanted one of openai, responses, anthropic, gemini/,
  );
});
