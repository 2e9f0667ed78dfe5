/** The service, as an embedder makes it. Arguments: the model's address, and the store: `memory` or `kv`. */
import * as z from "zod";
import { createApp, defineTool, kvStore, memoryStore, openAccess, openaiChat } from "../../../src/mod.ts";
import { resultOf } from "./plan.ts";
import { serve } from "./serve.ts";

const [url = "", kind = "memory"] = Deno.args;

const readFile = defineTool({
  name: "read_file",
  description: "Reads a file",
  input: z.object({ path: z.string(), size: z.number() }),
  execute: ({ size }) => resultOf(size),
});
// So large that no compaction comes: each step checks whether one is due.
const model = openaiChat({ model: "m", baseURL: url, window: 1_000_000, maxOutput: 4_000 });

async function store() {
  if (kind === "memory") return memoryStore();
  const folder = await Deno.makeTempDir({ prefix: "bench_" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  return await kvStore({ path: `${folder}/kv.sqlite3` });
}

const app = createApp({
  agents: { default: { model, tools: [readFile], maxSteps: 1_000 } },
  store: await store(),
  auth: openAccess(),
});
serve(app.fetch);
