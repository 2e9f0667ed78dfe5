/** Paused turns over HTTP: answers, their races, and what clients find meanwhile, in whichever process. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import * as z from "zod";
import { createApp, Drain } from "../../src/http/mod.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { parseFrames } from "../support/sse.ts";

const CLIENT_TOOLS = [{ name: "locate", description: "Where it is", inputSchema: { type: "object" } }];

/** Two apps on one store, whose model asks for a place and for a mail, and says that it is done once it has both. */
function makeApps() {
  const clock = new ManualClock();
  const store = memoryStore({ clock });
  const sent: unknown[] = [];
  const send = defineTool({
    name: "send",
    description: "Sends a mail",
    input: z.object({ to: z.string() }),
    needsApproval: true,
    execute: (input) => {
      sent.push(input);
      return "sent";
    },
  });
  const model = scripted({
    script: ({ messages }) =>
      messages.at(-1)?.role === "tool" || messages.at(-1)?.content === "And then?"
        ? { text: "All is done." }
        : {
          calls: [{ name: "locate", input: {} }, { name: "send", input: { to: "Ada" } }],
        },
  });
  const drains = [new Drain(), new Drain()] as const;
  const auth = (request: Request) => ({ tenant: request.headers.get("x-tenant") ?? "local" });
  const apps = drains.map((drain) =>
    createApp({ agents: { default: { model, tools: [send] } }, store, clock, auth, drain })
  );
  const post = async (app: 0 | 1, path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
    await apps[app]!.request(path, { method: "POST", headers, body: JSON.stringify(body) });
  const get = async (app: 0 | 1, path: string, headers: Record<string, string> = {}) =>
    await apps[app]!.request(path, { headers });
  const start = async (rest: Record<string, unknown> = {}) => {
    const body = { session: "s", input: "go", clientTools: CLIENT_TOOLS, stream: false, ...rest };
    return await (await post(0, "/v1/turns", body)).json();
  };
  const running = <T>(work: Promise<T>): Promise<T> => {
    let isOver = false;
    const done = work.finally(() => isOver = true);
    return (async () => {
      while (!isOver) await clock.advance(100);
      return await done;
    })();
  };
  return { clock, store, drains, apps, post, get, start, sent, running };
}

/** Lists in lists. */
function nested(levels: number): unknown {
  return JSON.parse("[".repeat(levels) + "]".repeat(levels));
}

const PENDING = [
  { ref: "e1.0", call: 0, name: "locate", input: {}, reason: "tool" },
  { ref: "e1.1", call: 1, name: "send", input: { to: "Ada" }, reason: "approval" },
];
const PLACE = { results: [{ ref: "e1.0", output: { city: "Oslo" } }] };
const YES = { approvals: [{ ref: "e1.1", approved: true }] };

Deno.test("POST /v1/turns/:id/results takes answers one by one, in any process, and goes on with the last", async () => {
  const { post, get, start, sent } = makeApps();
  const document = await start();
  equal(document.reason, "paused");
  deepEqual(document.pending, PENDING);
  const shown = await (await get(1, "/v1/sessions/s")).json();
  equal(shown.running, null);
  deepEqual(shown.paused, { turn: document.turn, pending: PENDING });
  const half = await (await post(1, `/v1/turns/${document.turn}/results`, { ...PLACE, stream: false }))
    .json();
  deepEqual([half.turn, half.session, half.agent, half.reason], [document.turn, "s", "default", "paused"]);
  deepEqual(half.pending, PENDING.slice(1));
  deepEqual(half.calls.map(({ ref, output }: { ref: string; output: unknown }) => [ref, output]), [
    ["e1.0", { city: "Oslo" }],
  ]);
  deepEqual(sent, []);
  const response = await post(0, `/v1/turns/${document.turn}/results`, YES);
  equal(response.headers.get("content-type"), "text/event-stream");
  const frames = parseFrames(await response.text());
  equal(frames.find(({ event }) => event !== "context")?.event, "tool.call");
  equal(frames.at(-1)?.data.reason, "stop");
  deepEqual(sent, [{ to: "Ada" }]);
  // Whoever reads all of it, or goes on reading over the pause, is told everything once and in order.
  const all = parseFrames(await (await get(1, `/v1/turns/${document.turn}/events`)).text());
  deepEqual(all.slice(-frames.length), frames);
  equal(all.filter(({ event }) => event === "turn.paused").length, 2);
  const paused = all.findIndex(({ event }) => event === "turn.paused");
  const rest = await get(0, `/v1/turns/${document.turn}/events`, { "last-event-id": all[paused]?.id ?? "" });
  deepEqual(parseFrames(await rest.text()), all.slice(paused + 1));
  equal((await (await get(1, "/v1/sessions/s")).json()).paused, null);
});

Deno.test("a paused turn has no more events until it is answered, and is found however long that takes", async () => {
  const { clock, post, get, start } = makeApps();
  const { turn } = await start();
  const frames = parseFrames(await (await get(1, `/v1/turns/${turn}/events`)).text());
  equal(frames.at(-1)?.event, "turn.paused");
  const last = { "last-event-id": frames.at(-1)?.id ?? "" };
  for (const app of [0, 1] as const) equal((await get(app, `/v1/turns/${turn}/events`, last)).status, 204);
  await clock.advance(400 * 24 * 3_600_000);
  const answered = await post(1, `/v1/turns/${turn}/results`, { ...PLACE, ...YES, stream: false });
  equal((await answered.json()).reason, "stop");
  deepEqual(clock.sleeping, []);
});

Deno.test("answers that do not fit are refused with a code, and nothing is stored of them", async () => {
  const { post, get, start } = makeApps();
  const { turn } = await start();
  const log = await (await get(0, "/v1/sessions/s/messages")).text();
  const cases: [number, string, unknown][] = [
    [404, "call_not_found", { results: [PLACE.results[0], { ref: "e7.0", output: 1 }] }],
    [409, "call_not_pending", { results: [{ ref: "e1.1", output: 1 }] }],
    [409, "call_not_pending", { approvals: [{ ref: "e1.0", approved: true }] }],
    [400, "bad_request", {}],
    [400, "bad_request", { results: [...PLACE.results, ...PLACE.results] }],
    [400, "bad_request", { results: [{ ref: "e1.0" }] }],
    [400, "bad_request", { results: [{ ref: "e1.0", output: 1, error: "x" }] }],
    [400, "bad_request", { approvals: [{ ref: "e1.1" }] }],
    [400, "bad_request", { results: "e1.0" }],
  ];
  for (const [status, code, body] of cases) {
    const refused = await post(0, `/v1/turns/${turn}/results`, body);
    deepEqual([refused.status, (await refused.json()).code], [status, code], JSON.stringify(body));
  }
  equal(await (await get(0, "/v1/sessions/s/messages")).text(), log);
  for (const [path, headers] of [["none", {}], [turn, { "x-tenant": "other" }]] as const) {
    const refused = await post(0, `/v1/turns/${path}/results`, PLACE, headers);
    deepEqual([refused.status, (await refused.json()).code], [404, "turn_not_found"]);
  }
  await (await post(0, `/v1/turns/${turn}/results`, { ...PLACE, ...YES, stream: false })).json();
  const late = await post(1, `/v1/turns/${turn}/results`, PLACE);
  deepEqual([late.status, (await late.json()).code], [409, "turn_not_paused"]);
});

Deno.test("POST /v1/turns/:id/results takes what the user says behind the last answers, once, in any process", async () => {
  const { post, get, start, sent } = makeApps();
  const { turn } = await start();
  const early = await post(1, `/v1/turns/${turn}/results`, { ...PLACE, input: "And then?", stream: false });
  deepEqual([early.status, (await early.json()).code], [409, "turn_paused"]);
  equal((await (await get(0, "/v1/sessions/s")).json()).paused.pending.length, 2);
  const bad = await post(1, `/v1/turns/${turn}/results`, { ...PLACE, ...YES, input: 5 });
  deepEqual([bad.status, (await bad.json()).field], [400, "input"]);
  const key = { "idempotency-key": "k" };
  const body = { ...PLACE, ...YES, input: "And then?" };
  const frames = parseFrames(await (await post(1, `/v1/turns/${turn}/results`, body, key)).text());
  equal(frames.at(-1)?.data.reason, "stop");
  deepEqual(frames.filter(({ event }) => event === "user.message").map(({ data }) => data.input), [
    "And then?",
  ]);
  const again = await post(0, `/v1/turns/${turn}/results`, body, key);
  equal(again.headers.get("idempotency-replayed"), "true");
  deepEqual(parseFrames(await again.text()), frames);
  deepEqual(sent, [{ to: "Ada" }]);
  const { entries } = await (await get(0, "/v1/sessions/s/messages")).json();
  deepEqual(entries.map(({ kind }: { kind: string }) => kind), [
    "user",
    "assistant",
    "result",
    "result",
    "user",
    "assistant",
  ]);
});

Deno.test("of answers that race in two processes one is taken, and the same request sent twice is one", async () => {
  const { post, start, sent, running } = makeApps();
  const { turn } = await start();
  const all = { ...PLACE, ...YES, stream: false };
  const other = { ...YES, results: [{ ref: "e1.0", output: "Bergen" }], stream: false };
  const answers = await running(Promise.all([
    post(0, `/v1/turns/${turn}/results`, all, { "idempotency-key": "a" }),
    post(1, `/v1/turns/${turn}/results`, other, { "idempotency-key": "b" }),
    post(1, `/v1/turns/${turn}/results`, all, { "idempotency-key": "a" }),
  ]));
  const statuses = answers.map(({ status }) => status).toSorted();
  ok(statuses.join() === "200,200,409" || statuses.join() === "200,409,409", statuses.join());
  deepEqual(sent, [{ to: "Ada" }]);
  const documents = await Promise.all(answers.map((answer) => answer.json()));
  const won = answers[0]?.status === 200 ? "a" : "b";
  // Sent once more, the one that was taken is told again, and the one that was not is refused again.
  for (const [key, body] of [["a", all], ["b", other]] as const) {
    const again = await running(post(0, `/v1/turns/${turn}/results`, body, { "idempotency-key": key }));
    equal(again.status, key === won ? 200 : 409);
    if (key !== won) continue;
    equal(again.headers.get("idempotency-replayed"), "true");
    equal((await again.json()).text, "All is done.");
  }
  const reused = await post(0, `/v1/turns/${turn}/results`, PLACE, { "idempotency-key": won });
  equal(reused.status, 422);
  ok(documents.some(({ text }) => text === "All is done."));
});

Deno.test("a new turn on a paused session is refused with what waits, or closes its calls where it says so", async () => {
  const { post, get, start } = makeApps();
  const { turn } = await start();
  const refused = await post(1, "/v1/turns", { session: "s", input: "next" });
  equal(refused.status, 409);
  const problem = await refused.json();
  deepEqual([problem.code, problem.turn], ["turn_paused", turn]);
  deepEqual(problem.pending.map(({ ref }: { ref: string }) => ref), ["e1.0", "e1.1"]);
  const next = await start({ input: "next", onPaused: "abort" });
  equal(next.reason, "paused");
  const frames = parseFrames(await (await get(1, `/v1/turns/${turn}/events`)).text());
  deepEqual(frames.slice(-3).map(({ event, data }) => [event, data.ref ?? data.reason, data.status]), [
    ["tool.result", "e1.0", "aborted"],
    ["tool.result", "e1.1", "aborted"],
    ["turn.finished", "aborted", undefined],
  ]);
});

Deno.test("a cancel and the deletion of its session end a paused turn", async () => {
  for (const how of ["cancel", "delete"] as const) {
    const { apps, post, get, start } = makeApps();
    const { turn } = await start();
    if (how === "cancel") {
      deepEqual(await (await post(1, `/v1/turns/${turn}/cancel`)).json(), { turn, cancelled: true });
      const log = await (await get(0, "/v1/sessions/s/messages")).json();
      deepEqual(log.entries.slice(2).map(({ call, status }: Record<string, unknown>) => [call, status]), [
        ["e1.0", "aborted"],
        ["e1.1", "aborted"],
      ]);
    } else equal((await apps[1]!.request("/v1/sessions/s", { method: "DELETE" })).status, 204);
    const late = await post(0, `/v1/turns/${turn}/results`, PLACE);
    equal(late.status, how === "cancel" ? 409 : 404);
    equal((await start({ input: "again" })).reason, "paused");
  }
});

Deno.test("a process that goes down leaves a paused turn as it is, and takes no answers", async () => {
  const { drains, post, start } = makeApps();
  const { turn } = await start();
  await drains[0].start();
  const refused = await post(0, `/v1/turns/${turn}/results`, { ...PLACE, ...YES });
  equal(refused.status, 503);
  await refused.body?.cancel();
  const answered = await (await post(1, `/v1/turns/${turn}/results`, { ...PLACE, ...YES, stream: false }))
    .json();
  equal(answered.text, "All is done.");
});

Deno.test("POST /v1/turns refuses tools of the client that are none, and names the field", async () => {
  const { post } = makeApps();
  const tool = CLIENT_TOOLS[0];
  const cases: [string, unknown][] = [
    ["clientTools.0.name", [{ ...tool, name: "no spaces" }]],
    ["clientTools.0.description", [{ ...tool, description: "x".repeat(5_000) }]],
    ["clientTools.0.inputSchema.type", [{ ...tool, inputSchema: {} }]],
    ["clientTools", Array.from({ length: 65 }, (_, n) => ({ ...tool, name: `t${n}` }))],
    ["clientTools", [{ ...tool, inputSchema: { type: "object", description: "x".repeat(70_000) } }]],
    ["clientTools", [{ ...tool, inputSchema: { type: "object", deep: nested(3_000) } }]],
    ["clientTools", [{ ...tool, name: "send" }]],
  ];
  for (const [field, clientTools] of cases) {
    const refused = await post(0, "/v1/turns", { session: "s", input: "go", clientTools });
    equal(refused.status, 400);
    const problem = await refused.json();
    equal(problem.field, field);
    match(problem.detail, /found/);
  }
  const { get } = makeApps();
  equal((await get(0, "/v1/sessions/s")).status, 404);
});

Deno.test("POST /v1/turns/:id/results refuses answers that are nested too deeply, and takes others after it", async () => {
  const { post, start } = makeApps();
  const { turn } = await start();
  for (const answer of [{ output: nested(3_000) }, { error: nested(501) }]) {
    const refused = await post(0, `/v1/turns/${turn}/results`, { results: [{ ref: "e1.0", ...answer }] });
    const { code, detail } = await refused.json();
    deepEqual([refused.status, code], [400, "bad_request"]);
    match(detail, /nested more than 500 levels deep/);
  }
  const results = [{ ref: "e1.0", output: nested(500) }];
  const taken = await post(0, `/v1/turns/${turn}/results`, { results, stream: false });
  const { reason, pending } = await taken.json();
  deepEqual([taken.status, reason, pending.length], [200, "paused", 1]);
});
