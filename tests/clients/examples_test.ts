import assert from "node:assert/strict";
import { TextLineStream } from "@std/streams";
import { Chat } from "@ai-sdk/react";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { ChatPage, loadChat } from "../../examples/use_chat.tsx";
import { startServer, tempKv } from "../support/server.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

Deno.test("examples/openai_client.ts runs as it stands against a server that was just started", async () => {
  await using kv = await tempKv();
  await using server = await startServer({ SELVAGE_KV: kv.path });
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--config=tests/clients/deno.json",
      "--allow-net=127.0.0.1",
      "--allow-env",
      "examples/openai_client.ts",
    ],
    cwd: ROOT,
    env: { SELVAGE_URL: `${server.url}/v1`, NO_COLOR: "1" },
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  assert.match(text, /> check 07\n {2}\(run_check\)\n/);
  assert.match(text, /> read units\/07\/README\.md\n {2}\(read_file\)\n.*\w/s);
});

/** Starts an example that serves, and gives its address. */
async function startExample(name: string): Promise<AsyncDisposable & { readonly url: string }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-net=127.0.0.1", "--allow-env=PORT", `examples/${name}`],
    cwd: ROOT,
    env: { PORT: "0", NO_COLOR: "1" },
    stdin: "null",
    stderr: "piped",
  }).spawn();
  const lines = child.stderr.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  let url: string | undefined;
  const seen: string[] = [];
  for await (const line of lines) {
    seen.push(line);
    url = line.match(/Listening on (http:\/\/[^/ ]+)/)?.[1];
    if (url !== undefined) break;
  }
  const end = async (): Promise<void> => {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await child.status;
  };
  if (url === undefined) {
    await end();
    throw new Error(`examples/${name} does not listen:\n${seen.join("\n")}`);
  }
  return { url, [Symbol.asyncDispose]: end };
}

Deno.test("examples/hono_app.ts serves the agent under a prefix, and examples/use_chat.tsx shows its chat", async () => {
  await using site = await startExample("hono_app.ts");
  assert.equal(await (await fetch(site.url)).text(), "A site with an agent");
  const api = `${site.url}/agent/api/chat`;
  const chat = new Chat(await loadChat(api, "c1"));
  await chat.sendMessage({ text: "What time is it?" });
  assert.equal(chat.error, undefined);
  const html = renderToString(createElement(ChatPage, { init: { chat } }));
  assert.match(html, /What time is it\?.*Let me see\..*time .*Oslo.*output-available.*Noon, in Oslo\./s);
  // After a reload the page is the same.
  const again = new Chat(await loadChat(api, "c1"));
  assert.equal(renderToString(createElement(ChatPage, { init: { chat: again } })), html);
  await again.resumeStream();
  await again.regenerate();
  assert.equal(again.messages.length, 2);
  const { branches } = await (await fetch(`${site.url}/agent/v1/sessions/c1`)).json();
  assert.equal(branches.length, 2);
});
