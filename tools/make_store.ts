/**
 * Makes the store of the present stored format for `tests/fixtures/stores`, once for each format:
 * `deno run -A tools/make_store.ts`. A store that is there is never made anew: it stands for the version that wrote it.
 */
import { createApp } from "../src/http/mod.ts";
import { clerk } from "../src/models/clerk.ts";
import { scripted } from "../src/models/scripted.ts";
import { SCHEMA } from "../src/store/_head.ts";
import { kvStore } from "../src/store/kv.ts";
import { workspaceTools } from "../src/tools/workspace.ts";

const folder = new URL("../tests/fixtures/stores/", import.meta.url).pathname;
const path = `${folder}format_${SCHEMA}.sqlite3`;
await Deno.mkdir(folder, { recursive: true });
if (await Deno.stat(path).then(() => true, () => false)) {
  console.error(`Cannot make ${path}: it is there`);
  Deno.exit(1);
}
const store = await kvStore({ path });
const model = scripted({ script: clerk, window: 8_000, maxOutput: 800 });
const app = createApp({
  agents: { default: { model, tools: workspaceTools(), maxSteps: 100 } },
  store,
  auth: () => ({ tenant: "acme", user: "ann" }),
});
for (const [session, input] of [["plain", "list units"], ["compacted", "audit 6 units"]]) {
  const body = JSON.stringify({ session, input, stream: false });
  const response = await app.request("/v1/turns", { method: "POST", body });
  console.log(session, (await response.json()).reason);
}
store.close();
