import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { clerk } from "../../src/models/clerk.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { workspaceTools } from "../../src/tools/workspace.ts";
import { ManualClock } from "../support/clock.ts";

async function audited() {
  const model = scripted({ script: clerk, window: 8_000, maxOutput: 800 });
  const app = createApp({
    agents: { default: { model, tools: workspaceTools({ latencyMs: 0 }), maxSteps: 100 } },
    store: memoryStore(),
  });
  const body = JSON.stringify({ input: "audit 6 units", session: "s", stream: false });
  const document = await (await app.request("/v1/turns", { method: "POST", body })).json();
  return { app, document };
}

Deno.test("GET /v1/sessions/:id/context shows every atom, the legal cuts, the summary and the meter", async () => {
  const { app, document } = await audited();
  ok(
    document.compactions.some((event: { phase: string }) => event.phase === "applied"),
    "the turn was compacted",
  );
  const context = await (await app.request("/v1/sessions/s/context")).json();
  const { total } = await (await app.request("/v1/sessions/s/messages")).json();
  let at = 0;
  for (const atom of context.atoms) {
    equal(atom.from, at, "atoms follow one another without a gap");
    at = atom.to;
  }
  equal(at, total);
  equal(context.atoms[0].state, "pinned", "the running turn's task stays verbatim");
  ok(context.atoms.some((atom: { state: string }) => atom.state === "summarised"));
  ok(
    context.atoms.filter((atom: { from: number }) => atom.from >= context.cut).every((
      atom: { state: string },
    ) => atom.state === "raw" || atom.state === "shortened"),
  );
  ok(context.legalCuts.includes(context.cut), "the cut in force is a legal one");
  const starts = new Set(context.atoms.map((atom: { from: number }) => atom.from));
  ok(context.legalCuts.every((cut: number) => starts.has(cut) || cut === total));
  ok(context.summary.text.includes("run_check"), "the ledger records the pairs");
  ok(context.meter.tokens < context.meter.stopAt && context.meter.window === 8_000);
  equal(context.flag, null);
});

Deno.test("GET /v1/sessions/:id/entries/:ref gives every original, summarised ones too", async () => {
  const { app } = await audited();
  const { entries } = await (await app.request("/v1/sessions/s/messages")).json();
  const { cut } = await (await app.request("/v1/sessions/s/context")).json();
  const entry = entries.find((found: { calls?: unknown[]; seq: number }) => found.calls && found.seq < cut);
  const whole = await (await app.request(`/v1/sessions/s/entries/${entry.ref}`)).json();
  deepEqual(whole, entry);
  const call = await (await app.request(`/v1/sessions/s/entries/${entry.calls[0].ref}`)).json();
  equal(call.name, entry.calls[0].name);
  deepEqual(call.input, entry.calls[0].input);
  equal(call.result.call, entry.calls[0].ref);
});

Deno.test("GET /v1/sessions/:id/entries/:ref pages and searches the text of an original", async () => {
  const { app } = await audited();
  const get = async (path: string) => await (await app.request(`/v1/sessions/s/entries/${path}`)).json();
  const whole = await get("e0..e9?limit=100000");
  equal(whole.next, null);
  ok(whole.text.startsWith("e0 user:\naudit 6 units\n\ne1 assistant:"));
  let [text, offset] = ["", 0 as number | null];
  for (let pages = 0; offset !== null && pages < 100; pages++) {
    const page = await get(`e0..e9?offset=${offset}&limit=500`);
    [text, offset] = [text + page.text, page.next];
  }
  equal(text, whole.text);
  const { hits } = await get("e0..e999?search=audit*units");
  equal(hits[0].ref, "e0");
  equal((await get(`${hits[0].ref}?offset=${hits[0].at}&limit=13`)).text, "audit 6 units");
});

for (const query of ["limit=0", "limit=x", "offset=-1", "search="]) {
  Deno.test(`GET /v1/sessions/:id/entries/e0?${query} is refused with a sentence`, async () => {
    const { app } = await audited();
    const response = await app.request(`/v1/sessions/s/entries/e0?${query}`);
    equal(response.status, 400);
    equal((await response.json()).field, query.split("=")[0]);
  });
}

for (const ref of ["x", "e", "e9..e3", "e9999..e99999", "e99999", "e0.0", "e1.7", "e-1", "e1.0.0", "%00"]) {
  Deno.test(`GET /v1/sessions/:id/entries/${ref} is a 404 with a sentence`, async () => {
    const { app } = await audited();
    const response = await app.request(`/v1/sessions/s/entries/${ref}`);
    equal(response.status, 404);
    equal((await response.json()).code, "entry_not_found");
  });
}

Deno.test("DELETE /v1/sessions/:id deletes everything, once", async () => {
  const { app } = await audited();
  equal((await app.request("/v1/sessions/s", { method: "DELETE" })).status, 204);
  for (const path of ["", "/messages", "/context", "/entries/e0.0"]) {
    const response = await app.request(`/v1/sessions/s${path}`);
    equal(response.status, 404);
    await response.body?.cancel();
  }
  const again = await app.request("/v1/sessions/s", { method: "DELETE" });
  equal((await again.json()).code, "session_not_found");
});

Deno.test("GET /v1/sessions/:id tells what there is, and 404 for what there is not", async () => {
  const { app } = await audited();
  const session = await (await app.request("/v1/sessions/s")).json();
  equal(session.agent, "default");
  equal(session.running, null);
  ok(session.entries > 50 && session.view > 0);
  for (const id of ["nobody", "a%2Fb", "x".repeat(200)]) {
    const response = await app.request(`/v1/sessions/${id}`);
    equal(response.status, 404);
    equal((await response.json()).code, "session_not_found");
  }
});

Deno.test("GET /v1/sessions/:id/messages pages", async () => {
  const { app } = await audited();
  const whole = await (await app.request("/v1/sessions/s/messages")).json();
  equal(whole.next, null);
  const rest = await (await app.request("/v1/sessions/s/messages?from=5")).json();
  deepEqual(rest.entries, whole.entries.slice(5));
});

Deno.test("GET /v1/sessions/:id/export gives a session as JSONL, the log as it is", async () => {
  const { app } = await audited();
  const response = await app.request("/v1/sessions/s/export");
  equal(response.headers.get("content-type"), "application/x-ndjson");
  const lines = (await response.text()).trimEnd().split("\n").map((line) => JSON.parse(line));
  deepEqual([lines[0].kind, lines.at(-1).kind], ["session", "view"]);
  const { entries } = await (await app.request("/v1/sessions/s/messages")).json();
  deepEqual(lines.slice(1, -1), entries);
  equal((await app.request("/v1/sessions/none/export")).status, 404);
});

Deno.test("GET /v1/sessions/:id tells the branches, which can be read and are exported", async () => {
  const store = memoryStore();
  const agent = { model: scripted({ script: ({ messages }) => ({ text: `${messages.length}` }) }) };
  const app = createApp({ agents: { default: agent }, store });
  const turn = async (input: string, fork?: { at: number }): Promise<void> => {
    const request = { agent, session: "s", input, ...(fork === undefined ? {} : { fork }) };
    await Array.fromAsync(runTurn(request, { store }));
  };
  await turn("a");
  await turn("b");
  await turn("c", { at: 2 });
  const get = async (path: string) => await (await app.request(`/v1/sessions/s${path}`)).json();
  const { branch, branches, entries } = await get("");
  equal(branch, 1);
  equal(entries, 4);
  deepEqual(branches, [
    { branch: 0, parent: null, at: 0, entries: 4 },
    { branch: 1, parent: 0, at: 2, entries: 4 },
  ]);
  const inputs = async (query: string): Promise<string> => {
    const page = await get(`/messages${query}`);
    return page.entries.filter(({ kind }: { kind: string }) => kind === "user")
      .map(({ message }: { message: { content: string } }) => message.content).join("");
  };
  equal(await inputs(""), "ac");
  equal(await inputs("?branch=0"), "ab");
  const said = async (query: string) => (await get(`/entries/e2${query}`)).message.content;
  deepEqual([await said("?branch=0"), await said("?branch=1"), await said("")], ["b", "c", "c"]);
  equal((await get("/entries/e2?branch=2")).code, "branch_not_found");
  equal((await get("/messages?branch=2")).code, "branch_not_found");
  equal((await get("/messages?branch=x")).code, "bad_request");
  equal((await app.request("/v1/sessions/none?branch=0")).status, 404);
  const lines = (await (await app.request("/v1/sessions/s/export")).text()).trim().split("\n")
    .map((line) => JSON.parse(line));
  deepEqual(lines.map(({ kind, seq, branch }) => [kind, seq, branch]), [
    ["session", undefined, 1],
    ["user", 0, undefined],
    ["assistant", 1, undefined],
    ["user", 2, undefined],
    ["assistant", 3, undefined],
    ["user", 2, 0],
    ["assistant", 3, 0],
  ]);
});

Deno.test("GET /v1/sessions lists the owner's sessions in pages, the newest first, and refuses bad ones", async () => {
  const clock = new ManualClock();
  const app = createApp({
    agents: { default: { model: scripted({ script: () => ({ text: "Hi." }) }) } },
    store: memoryStore({ clock }),
    clock,
    auth: ({ headers }) => ({ tenant: headers.get("x-tenant") ?? "local" }),
  });
  const start = async (session: string, headers: Record<string, string> = {}): Promise<void> => {
    const body = JSON.stringify({ session, input: "Hi", stream: false });
    await (await app.request("/v1/turns", { method: "POST", headers, body })).json();
    await clock.advance(1);
  };
  for (let n = 0; n < 5; n++) await start(`s${n}`);
  await start("foreign", { "x-tenant": "other" });
  const names: string[] = [];
  let after = "";
  for (;;) {
    const page = await (await app.request(`/v1/sessions?limit=2${after}`)).json();
    names.push(...page.sessions.map(({ session }: { session: string }) => session));
    if (page.next === null) break;
    after = `&after=${page.next}`;
  }
  deepEqual(names, ["s4", "s3", "s2", "s1", "s0"]);
  for (const query of ["limit=0", "limit=x", "limit=501", "after=nonsense"]) {
    const refused = await app.request(`/v1/sessions?${query}`);
    equal(refused.status, 400);
    equal((await refused.json()).code, "bad_request");
  }
});

for (const query of ["messages?from=x", "messages?from=-1", "?branch=x"]) {
  Deno.test(`GET /v1/sessions/:id/${query} is refused and names the field`, async () => {
    const { app } = await audited();
    const response = await app.request(`/v1/sessions/s/${query}`.replace("/?", "?"));
    equal(response.status, 400);
    const { code, field, detail } = await response.json();
    deepEqual([code, field], ["bad_request", query.match(/\?(.*)=/)?.[1]]);
    match(detail, /^Cannot use the URL: \w+: found "(x|-1)", wanted a whole number$/);
  });
}

Deno.test("GET /v1/sessions/:id/context says so where no agent is left that could show it", async () => {
  const store = memoryStore();
  const agent = { model: scripted({ script: () => ({ text: "Hi." }) }) };
  await Array.fromAsync(runTurn({ agent, session: "s", input: "Hi" }, { store }));
  const response = await createApp({ agents: { other: agent }, store }).request("/v1/sessions/s/context");
  const { code, detail } = await response.json();
  deepEqual([response.status, code], [400, "unknown_agent"]);
  match(detail, /found no agent "default", wanted one of other/);
});
