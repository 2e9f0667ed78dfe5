/**
 * The inspector: what a model was shown in a step, made again, is what the wire carried then, to the byte.
 */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { diffRequests, type InspectedRequest, inspectRequest } from "../../src/loop/inspect_request.ts";
import { anthropic } from "../../src/models/anthropic.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import type { Script } from "../../src/models/scripted.ts";
import type { Model, ModelRequest } from "../../src/ports.ts";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import { startDouble } from "../support/openai_double.ts";
import { Bench, calls, endOf, eventsOf, KEY, prose, replies, tool } from "../support/turns.ts";

/** A `fetch` that keeps the bytes of each request. */
function recorder(inner: typeof fetch) {
  const bodies: string[] = [];
  return {
    bodies,
    fetch: async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
      bodies.push(await new Response(init?.body).text());
      return await inner(url, init);
    },
  };
}

const script = (steps: number): Script =>
  replies(
    ...Array.from({ length: steps - 1 }, (_, n) =>
      n % 7 === 3
        ? calls("read", { n }, { n: n + 100 }, { n: n + 200 })
        : { text: `Step ${n}.`, ...calls("read", { n }) }),
    { text: "Read." },
  );

const tools = [
  tool("read", ({ n }) => Number(n) % 9 === 0 ? prose(9_000, Number(n)) : prose(1_500, Number(n))),
];

/** The bytes that an adapter sends for a request, and nothing more: the answer is not waited for. */
async function bytesOf(
  request: ModelRequest,
  make: (fetch: typeof globalThis.fetch) => Model,
): Promise<string> {
  const { bodies, fetch } = recorder(() => Promise.reject(new TypeError("enough")));
  const stop = new AbortController();
  try {
    for await (
      const _ of make(((...args) => fetch(...args).finally(() => stop.abort())) as typeof globalThis.fetch)
        .stream(request, stop.signal)
    );
  } catch { /* That is what it was made for. */ }
  return bodies[0] ?? "";
}

const SERVICES = [["openai", startDouble, openaiChat], [
  "anthropic",
  startAnthropicDouble,
  anthropic,
]] as const;

for (const [name, start, adapter] of SERVICES) {
  Deno.test(`inspectRequest() makes 30 steps over several compactions again as ${name} was sent them`, async () => {
    await using double = start({ script: script(30), window: 10_000 });
    const { bodies, fetch } = recorder(globalThis.fetch);
    const make = (fetch: typeof globalThis.fetch): Model =>
      adapter({ model: "m", apiKey: "k", baseURL: double.url, window: 10_000, maxOutput: 1_000, fetch });
    const bench = new Bench({
      tools,
      model: make(fetch as typeof globalThis.fetch),
      agent: { system: "Read on." },
    });
    const events = await bench.run("The task: read all of it.", { instructions: "Be brief." });
    equal(endOf(events), "stop");
    ok(eventsOf(events, "compaction").filter(({ phase }) => phase === "applied").length >= 3);
    deepEqual(double.violations, []);
    equal(bodies.length, 30);
    const views = new Set<number>();
    for (let step = 1; step <= 30; step++) {
      const shown = await inspectRequest(bench.store, { key: KEY, turn: "t0", step, agent: bench.agent });
      views.add(shown.view);
      equal(shown.isExact, true);
      equal(shown.refs.length, shown.request.messages.length);
      equal(await bytesOf(shown.request, make), bodies[step - 1], `step ${step}`);
    }
    ok(views.size >= 4, `found the views ${[...views]}`);
    await bench.assertSound();
  });
}

async function inspected(): Promise<{ bench: Bench; show: (step: number) => Promise<InspectedRequest> }> {
  const bench = new Bench({ tools, window: 9_000, script: script(20) });
  equal(endOf(await bench.run("Go")), "stop");
  return {
    bench,
    show: (step) => inspectRequest(bench.store, { key: KEY, turn: "t0", step, agent: bench.agent }),
  };
}

Deno.test("diffRequests() tells what a step added, and what a compaction took away", async () => {
  const { show } = await inspected();
  const steps = await Promise.all(Array.from({ length: 20 }, (_, n) => show(n + 1)));
  let compacted = 0;
  for (const [index, after] of steps.entries()) {
    const before = steps[index - 1];
    if (before === undefined) continue;
    const diff = diffRequests(before, after);
    equal(diff.frame, false);
    equal(diff.same + diff.changed.length + diff.added.length, after.request.messages.length);
    equal(diff.same + diff.changed.length + diff.removed.length, before.request.messages.length);
    if (before.view === after.view) {
      deepEqual([diff.removed, diff.changed], [[], []]);
      deepEqual(diff.added.length, 2, "an answer with calls, and their results");
      continue;
    }
    compacted++;
    ok(diff.removed.length > 0);
    const isNew = diff.added.some(({ refs }) => refs[0] === "summary");
    ok(isNew || diff.changed.some(({ refs }) => refs[0] === "summary"), "the ledger is told");
  }
  ok(compacted >= 2);
});

Deno.test("inspectRequest() says where the agent is not that of then, and drops no reasoning for it", async () => {
  const { bench, show } = await inspected();
  const now = await inspectRequest(bench.store, {
    key: KEY,
    turn: "t0",
    step: 3,
    agent: { ...bench.agent, system: "Another." },
  });
  const then = await show(3);
  deepEqual([now.isExact, then.isExact], [false, true]);
  equal(now.request.system, "Another.");
  deepEqual(now.request.messages, then.request.messages);
});

Deno.test("inspectRequest() refuses steps that there are not", async () => {
  const { bench } = await inspected();
  for (const place of [{ turn: "t0", step: 21 }, { turn: "t9", step: 1 }]) {
    await rejects(inspectRequest(bench.store, { key: KEY, ...place, agent: bench.agent }), {
      code: "step_not_found",
    });
  }
  const key = { ...KEY, tenant: "other" };
  await rejects(inspectRequest(bench.store, { key, turn: "t0", step: 1, agent: bench.agent }), {
    code: "step_not_found",
  });
});

Deno.test("GET /v1/turns/:id/steps/:n/request shows a request, and what differs from an earlier one", async () => {
  const bench = new Bench({ tools, window: 9_000, script: script(12) });
  let tenant = "a";
  const app = createApp({ agents: { default: bench.agent }, store: bench.store, auth: () => ({ tenant }) });
  const body = JSON.stringify({ session: "s", input: "Go", stream: false });
  const { turn } = await (await app.request("/v1/turns", { method: "POST", body })).json();
  const get = async (path: string) => {
    const response = await app.request(`/v1/turns/${turn}/steps/${path}`);
    return { status: response.status, ...await response.json() };
  };
  const shown = await get("5/request");
  deepEqual(shown.request, JSON.parse(JSON.stringify(bench.requests[4])));
  deepEqual([shown.session, shown.step, shown.isExact, shown.tokens.billed.inputTokens > 0], [
    "s",
    5,
    true,
    true,
  ]);
  const { diff, request } = await get("5/request?diff=n-1");
  equal(request, undefined);
  deepEqual(diff, (await get("5/request?diff=4")).diff);
  equal(diff.from, 4);
  ok(diff.added.length > 0);
  equal((await get("5/request?session=s")).step, 5);
  for (
    const [path, status, code] of [
      ["99/request", 404, "step_not_found"],
      ["0/request", 400, "bad_request"],
      ["x/request", 400, "bad_request"],
      ["5/request?diff=5", 400, "bad_request"],
      ["5/request?diff=0", 400, "bad_request"],
      ["5/request?diff=04", 400, "bad_request"],
      ["5/request?session=%2F", 400, "bad_request"],
      ["5/request?diff=n-9", 400, "bad_request"],
      ["5/request?session=none", 404, "turn_not_found"],
    ] as const
  ) {
    const answer = await get(path);
    deepEqual([answer.status, answer.code], [status, code], path);
  }
  tenant = "b";
  equal((await get("5/request")).code, "turn_not_found");
});
