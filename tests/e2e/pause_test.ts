/** A turn that waits while its servers are killed: real processes on one database file. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { parseFrames } from "../support/sse.ts";
import { startServer, tempKv } from "../support/server.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** An agent that asks for the client's place and for a mail, which leaves a line in a file, and then repeats both. */
const CONFIG = (tally: string) => `
import { defineTool, scripted } from "@selvage/selvage";
import * as z from "zod";
const send = defineTool({
  name: "send",
  description: "Sends a mail",
  input: z.object({}),
  needsApproval: true,
  execute: () => {
    Deno.writeTextFileSync(${JSON.stringify(tally)}, "sent\\n", { append: true });
    return "sent";
  },
});
const locate = defineTool({ name: "locate", description: "Asks the client", input: z.object({}) });
const model = scripted({
  script: ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role !== "tool") return { calls: [{ name: "locate", input: {} }, { name: "send", input: {} }] };
    return { text: last.content.map(({ output }) => output.value).join(", ") };
  },
});
export default { agents: { default: { model, tools: [locate, send] } } };
`;

Deno.test("a turn that waits outlives kill -9 before, between and behind its answers", async () => {
  await using kv = await tempKv();
  const folder = `${ROOT}${kv.path.slice(0, kv.path.lastIndexOf("/"))}`;
  const [config, tally] = [`${folder}/config.ts`, `${folder}/tally.txt`];
  await Deno.writeTextFile(config, CONFIG(tally));
  const env = { SELVAGE_KV: kv.path, SELVAGE_CONFIG: config };
  const post = (url: string, path: string, body: unknown) =>
    fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body) });
  let turn = "";
  {
    await using server = await startServer(env);
    const paused = await (await post(server.url, "/v1/turns", { session: "s", input: "Go", stream: false }))
      .json();
    equal(paused.reason, "paused", JSON.stringify(paused));
    turn = paused.turn;
    server.kill("SIGKILL");
    await server.status;
  }
  {
    await using server = await startServer(env);
    const body = { results: [{ ref: "e1.0", output: "Oslo" }], stream: false };
    const half = await (await post(server.url, `/v1/turns/${turn}/results`, body)).json();
    deepEqual(half.pending.map(({ ref }: { ref: string }) => ref), ["e1.1"]);
    server.kill("SIGKILL");
    await server.status;
  }
  await using server = await startServer(env);
  const { paused } = await (await fetch(`${server.url}/v1/sessions/s`)).json();
  deepEqual(paused.pending.map(({ ref }: { ref: string }) => ref), ["e1.1"]);
  const approvals = [{ ref: "e1.1", approved: true }];
  const frames = parseFrames(
    await (await post(server.url, `/v1/turns/${turn}/results`, { approvals })).text(),
  );
  equal(frames.at(-1)?.data.reason, "stop");
  const said = frames.filter(({ event }) => event === "text.delta").map(({ data }) => data.text).join("");
  equal(said, "Oslo, sent");
  equal(await Deno.readTextFile(tally), "sent\n");
  const late = await post(server.url, `/v1/turns/${turn}/results`, { approvals });
  equal(late.status, 409);
  await late.body?.cancel();
  // Every event once, in numbers that rise, over three processes.
  const all = parseFrames(await (await fetch(`${server.url}/v1/turns/${turn}/events`)).text());
  const numbers = all.map(({ id }) => Number(id?.split(":")[1]));
  deepEqual(numbers, numbers.toSorted((a, b) => a - b));
  ok(new Set(numbers).size === numbers.length);
  equal(all.filter(({ event }) => event === "turn.started").length, 1);
});
