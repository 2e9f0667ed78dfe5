import assert from "node:assert/strict";
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
