/** A store of each stored format opens in this version, and goes on. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { kvStore } from "../../src/store/kv.ts";

const FOLDER = new URL("../fixtures/stores/", import.meta.url);

const names = [...Deno.readDirSync(FOLDER)].map(({ name }) => name).filter((name) =>
  name.endsWith(".sqlite3")
);
for (const name of names.toSorted()) {
  Deno.test(`kvStore() opens ${name}, reads its sessions and goes on with them`, async () => {
    const folder = await Deno.makeTempDir();
    const path = `${folder}/kv.sqlite3`;
    await Deno.copyFile(new URL(name, FOLDER), path);
    const store = await kvStore({ path });
    try {
      const app = createApp({
        agents: { default: { model: scripted({ script: () => ({ text: "Still here." }) }) } },
        store,
        auth: () => ({ tenant: "acme", user: "ann" }),
      });
      const { sessions } = await (await app.request("/v1/sessions")).json();
      deepEqual(sessions.map(({ session }: { session: string }) => session), ["compacted", "plain"]);
      const plain = await (await app.request("/v1/sessions/plain/messages")).json();
      deepEqual(plain.entries.map(({ kind }: { kind: string }) => kind), [
        "user",
        "assistant",
        "result",
        "assistant",
      ]);
      const { summary, cut } = await (await app.request("/v1/sessions/compacted/context")).json();
      ok(cut > 0 && summary.text.includes("run_check"), "the ledger is there");
      const body = JSON.stringify({ session: "compacted", input: "Are you there?", stream: false });
      const turn = await (await app.request("/v1/turns", { method: "POST", body })).json();
      equal(turn.text, "Still here.");
    } finally {
      store.close();
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("there is a store of the format that this version writes", async () => {
  const { SCHEMA } = await import("../../src/store/_head.ts");
  ok(names.includes(`format_${SCHEMA}.sqlite3`), names.join());
});
