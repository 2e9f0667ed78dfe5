/** A disk that is full, under a real server. */
import { equal, match, ok } from "node:assert/strict";
import { startServer, tempKv } from "../support/server.ts";

const MOUNT_BYTES = 4 * 1024 * 1024;

/** Runs a command; says whether it went well. */
async function run(command: string, ...args: readonly string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(command, { args: [...args], stderr: "null" }).output();
    return success;
  } catch {
    return false;
  }
}

/** A small disk in memory at a folder; null where none may be mounted. */
async function mountSmall(folder: string): Promise<AsyncDisposable | null> {
  const isMounted = await run("mount", "-t", "tmpfs", "-o", `size=${MOUNT_BYTES}`, "tmpfs", folder);
  return isMounted
    ? {
      async [Symbol.asyncDispose]() {
        ok(await run("umount", folder), `${folder} is still mounted`);
      },
    }
    : null;
}

Deno.test("a full disk is a 503 with its own code, unready until there is room again, and loses nothing", async (t) => {
  await using kv = await tempKv();
  const folder = new URL(`../../${kv.path}`, import.meta.url).pathname.replace(/\/[^/]+$/, "");
  await using disk = await mountSmall(folder);
  if (disk === null) {
    // Only a test that is registered can be ignored; whether one may mount is known when it was tried.
    await t.step({ name: "ignored: no disk may be mounted here", ignore: true, fn: () => {} });
    return;
  }
  await using server = await startServer({ SELVAGE_KV: kv.path, SELVAGE_LOG: "info,json" });
  const statusOf = async (path: string) => {
    const response = await fetch(`${server.url}${path}`);
    await response.body?.cancel();
    return response.status;
  };
  const post = (input: string) =>
    fetch(`${server.url}/v1/turns`, {
      method: "POST",
      headers: { "idempotency-key": "k1" },
      body: JSON.stringify({ session: "s1", input, stream: false }),
    });
  equal(await statusOf("/readyz"), 200);
  const ballast = `${folder}/ballast`;
  const filled = await Deno.open(ballast, { write: true, create: true });
  try {
    for (;;) await filled.write(new Uint8Array(4_096));
  } catch {
    // It is full.
  } finally {
    filled.close();
  }

  const input = `list units ${"word ".repeat(12_000)}`;
  const refused = await post(input);
  const problem = await refused.json();
  equal(`${refused.status} ${problem.code}`, "503 store_unavailable");
  equal(refused.headers.get("retry-after"), "5");
  equal(await statusOf("/readyz"), 503);
  equal(await statusOf("/healthz"), 200);
  match(server.log.join("\n"), /database or disk is full/);
  ok(!JSON.stringify(problem).includes("disk"));

  await Deno.remove(ballast);
  for (let waited = 0; await statusOf("/readyz") !== 200; waited += 250) {
    ok(waited < 30_000, "there is room again, and it is not ready");
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const taken = await post(input);
  const { reason, turn } = await taken.json();
  equal(`${taken.status} ${reason}`, "200 stop");
  const { entries } = await (await fetch(`${server.url}/v1/sessions/s1/messages`)).json();
  equal(
    entries.filter(({ kind, turn: of }: { kind: string; turn: string }) => kind === "user" && of === turn)
      .length,
    1,
  );
});
