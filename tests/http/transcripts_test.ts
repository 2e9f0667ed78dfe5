import { deepEqual, equal, match, ok } from "node:assert/strict";
import { shortHash } from "../../src/compaction/digest.ts";
import { LEDGER_HEADER } from "../../src/compaction/ledger.ts";
import { createApp } from "../../src/http/mod.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";

// deno-lint-ignore no-explicit-any -- answers are looked at field by field
type Json = any;

const model = scripted({ script: () => ({ text: "Hello." }) });
const app = createApp({ agents: { default: { model } }, store: memoryStore() });

/** Posts a body, text as it is. */
async function send(route: string, body: unknown): Promise<{ status: number; type: string; text: string }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await app.request(`/v1/${route}`, { method: "POST", body: text });
  return {
    status: response.status,
    type: response.headers.get("content-type") ?? "",
    text: await response.text(),
  };
}

async function post(route: string, body: unknown): Promise<Json> {
  const { status, type, text } = await send(route, body);
  equal(status, 200, text.slice(0, 500));
  match(type, /^application\/json/);
  return JSON.parse(text);
}

async function refused(route: string, body: unknown): Promise<Json> {
  const { status, type, text } = await send(route, body);
  equal(type, "application/problem+json", text.slice(0, 500));
  const problem = JSON.parse(text);
  equal(problem.status, status);
  return problem;
}

interface Case {
  readonly id: string;
  readonly format: string;
  readonly messages: readonly Json[];
  readonly options: Json;
  readonly assert: Json;
}

/** Expands `{"$repeat": [text, times]}`. */
function expand(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expand);
  if (typeof value !== "object" || value === null) return value;
  const repeat = (value as Record<string, unknown>)["$repeat"];
  if (Array.isArray(repeat)) return String(repeat[0]).repeat(Number(repeat[1]));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, expand(inner)]));
}

const folder = new URL("../fixtures/cases/", import.meta.url);
const CASES: Case[] = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) =>
  name.endsWith(".json")
).sort().map((name) => expand(JSON.parse(Deno.readTextFileSync(new URL(name, folder)))) as Case);

const REPAIRABLE = [
  "missing_result",
  "orphan_result",
  "duplicate_result",
  "misplaced_result",
  "duplicate_call_id",
];

for (const { id, format, messages, options, assert } of CASES) {
  Deno.test(`case ${id} over HTTP: POST /v1/check finds what it asserts`, async () => {
    const found = await post("check", { format, messages, thinking: "ignore" });
    deepEqual(Object.keys(found), [
      "valid",
      "format",
      "violations",
      "notices",
      "atoms",
      "legalCuts",
      "pending",
      "abandoned",
      "openCalls",
    ]);
    const codes: string[] = found.violations.map((violation: Json) => violation.code);
    deepEqual(
      [...new Set(codes.filter((code) => REPAIRABLE.includes(code)))].sort(),
      [...assert.violations].sort(),
    );
    equal(found.valid, assert.input !== "invalid");
    deepEqual(found.pending, assert.pending);
    deepEqual(found.abandoned, assert.abandoned);
    deepEqual(found.legalCuts, assert.legalCuts);
    if (assert.legalCutsSignedThinking !== undefined) {
      deepEqual((await post("check", { format, messages })).legalCuts, assert.legalCutsSignedThinking);
    }
    if (assert.legalCutsWithLongRunning !== undefined) {
      const longRunning = options.longRunningIds;
      deepEqual(
        (await post("check", { format, messages, longRunning })).legalCuts,
        assert.legalCutsWithLongRunning,
      );
    }
    let at = 0;
    for (const atom of found.atoms) {
      equal(atom.from, at, "atoms follow one another without a gap");
      ok(atom.state === "open" || atom.state === "closed");
      ok(atom.tokens >= 0);
      at = atom.to;
    }
    equal(at, messages.length);
  });

  Deno.test(`case ${id} over HTTP: POST /v1/repair leaves nothing wrong and is done after one run`, async () => {
    const repaired = await post("repair", { format, messages, thinking: "ignore" });
    deepEqual(Object.keys(repaired).sort(), ["messages", "repairs", "violations"]);
    deepEqual(repaired.violations, []);
    const again = await post("repair", { format, messages: repaired.messages, thinking: "ignore" });
    deepEqual(again.repairs, []);
    deepEqual(again.messages, repaired.messages);
    if (repaired.repairs.length === 0) deepEqual(repaired.messages, messages);
  });

  Deno.test(`case ${id} over HTTP: POST /v1/compact severs nothing, and a second run answers nothing`, async () => {
    const { atoms } = await post("check", { format, messages });
    const total = atoms.reduce((sum: number, atom: Json) => sum + atom.tokens, 0);
    for (const part of [0.3, 0.6, 0.9]) {
      const budget = Math.max(200, Math.floor(total * part));
      const done = await post("compact", { format, messages, budget });
      ok(["compacted", "nothing", "deferred", "refused"].includes(done.outcome));
      if (done.outcome !== "compacted") continue;
      ok(assert.legalCuts.includes(done.cut.at));
      const after = await post("check", { format, messages: done.messages });
      deepEqual(after.violations, [], `budget ${budget}`);
      const again = await post("compact", { format, messages: done.messages, budget });
      equal(again.outcome, "nothing", `second run at ${budget}: ${again.reason}`);
      deepEqual(again.messages, done.messages);
    }
  });
}

const call = (id: string, args = "{}") => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "run", arguments: args } }],
});
const result = (id: string, content = "done") => ({ role: "tool", tool_call_id: id, content });
const user = (content: string) => ({ role: "user", content });
const said = (content: string) => ({ role: "assistant", content });

/** A conversation of rounds, `words` words a result. */
function rounds(count: number, words = 100): Json[] {
  return [
    user("Start."),
    ...Array.from({ length: count }, (_, n) => [call(`c${n}`), result(`c${n}`, `${n} word`.repeat(words))])
      .flat(),
  ];
}

Deno.test("POST /v1/check tells codes, conditions, places and sentences, and where calls are open", async () => {
  const found = await post("check", {
    messages: [user("Go."), result("x"), call("a"), user("Stop."), call("b")],
  });
  equal(found.valid, false);
  equal(found.format, "openai-chat");
  deepEqual(found.violations.map(({ message: _, ...rest }: Json) => rest), [
    { code: "orphan_result", condition: "C2", at: 1, callId: "x" },
    { code: "missing_result", condition: "C1", at: 2, callId: "a" },
  ]);
  match(found.violations[0].message, /^The result x answers no call/);
  deepEqual(found.pending, ["b"]);
  deepEqual(found.abandoned, ["a"]);
  deepEqual(found.openCalls, [
    { at: 2, call: 0, callId: "a", name: "run", state: "abandoned" },
    { at: 4, call: 0, callId: "b", name: "run", state: "in_flight" },
  ]);
  deepEqual(found.legalCuts, [0, 1, 2, 3, 4]);
  deepEqual(found.atoms.map((atom: Json) => [atom.from, atom.to, atom.kind, atom.state]), [
    [0, 1, "user", "closed"],
    [1, 2, "stray", "closed"],
    [2, 3, "assistant", "closed"],
    [3, 4, "user", "closed"],
    [4, 5, "assistant", "open"],
  ]);
});

Deno.test("POST /v1/check takes calls in flight by id and by place; without any all are abandoned", async () => {
  const messages = [user("Go."), call("a"), user("Wait."), call("a"), user("Well?")];
  const pending = async (inFlight: unknown) => {
    const { openCalls } = await post("check", { messages, inFlight });
    return openCalls.filter((open: Json) => open.state === "in_flight").map((open: Json) => open.at);
  };
  deepEqual(await pending(undefined), []);
  deepEqual(await pending(["a"]), [3], "an id is its last unanswered occurrence");
  deepEqual(await pending([{ at: 1, call: 0 }]), [1]);
  deepEqual(await pending([{ at: 1, call: 0 }, "a"]), [1, 3]);
  const open = [user("Go."), call("a")];
  deepEqual((await post("check", { messages: open })).pending, ["a"]);
  deepEqual((await post("check", { messages: open, inFlight: [] })).abandoned, ["a"]);
});

Deno.test("POST /v1/check names calls without an id by place", async () => {
  const parts = [{ functionCall: { name: "look", args: {} } }, { functionCall: { name: "run", args: {} } }];
  const messages = [{ role: "user", parts: [{ text: "Go." }] }, { role: "model", parts }];
  const { pending, format } = await post("check", { messages });
  equal(format, "gemini");
  deepEqual(pending, [{ at: 1, call: 0 }, { at: 1, call: 1 }]);
  const { abandoned } = await post("check", { messages, inFlight: [pending[1]] });
  deepEqual(abandoned, [{ at: 1, call: 0 }]);
});

Deno.test("POST /v1/check keeps long-running calls open, by id and by place, until their last result", async () => {
  const messages = [user("Go."), call("a"), result("a", "started"), user("And?"), result("a", "finished")];
  equal((await post("check", { messages })).valid, false);
  for (const longRunning of [["a"], [{ at: 1, call: 0 }], ["a", "a"]]) {
    const found = await post("check", { messages, longRunning });
    deepEqual(found.violations, []);
    deepEqual(found.legalCuts, [0, 1, 5]);
  }
});

Deno.test("POST /v1/check makes no cut in the last loop with signed thinking, unless told to ignore it", async () => {
  const use = (id: string, thinking: Json[] = []) => ({
    role: "assistant",
    content: [...thinking, { type: "tool_use", id, name: "run", input: {} }],
  });
  const answer = (id: string) => ({
    role: "user",
    content: [{ type: "tool_result", tool_use_id: id, content: "ok" }],
  });
  const messages = [
    user("Go."),
    use("a", [{ type: "thinking", thinking: "Hm.", signature: "sig" }]),
    answer("a"),
    use("b"),
    answer("b"),
  ];
  deepEqual((await post("check", { messages })).legalCuts, [0, 1, 5]);
  deepEqual((await post("check", { messages, thinking: "auto" })).legalCuts, [0, 1, 5]);
  deepEqual((await post("check", { messages, thinking: "ignore" })).legalCuts, [0, 1, 3, 5]);
});

Deno.test("POST /v1/check counts exactly, with the model's vocabulary or the caller's own counts", async () => {
  const text = "Zażółć gęślą jaźń, naïve façade: 1234567890";
  const tokensOf = async (more: Json) => {
    const { atoms } = await post("check", { messages: [user(text), said("ok")], ...more });
    return atoms.map((atom: Json) => atom.tokens);
  };
  const [o200k] = await tokensOf({});
  const [cl100k] = await tokensOf({ model: "gpt-4-0613" });
  ok(o200k !== cl100k, "the two vocabularies differ on this text");
  deepEqual((await tokensOf({ model: "openai/gpt-3.5-turbo" }))[0], cl100k);
  for (const model of ["gpt-4o", "gpt-4.1-mini", "claude-opus-4", "gpt-5"]) {
    deepEqual((await tokensOf({ model }))[0], o200k, model);
  }
  deepEqual(await tokensOf({ tokens: [7, 11] }), [7, 11]);
});

Deno.test("POST /v1/repair mends pairs and says what it did, and leaves calls in flight alone", async () => {
  const messages = [
    user("Go."),
    call("a"),
    user("Stop."),
    call("b"),
    result("b"),
    result("b", "again"),
    call("c"),
  ];
  const { repairs, violations, messages: made } = await post("repair", { messages });
  deepEqual(repairs.map(({ code, at, callId }: Json) => ({ code, at, callId })), [
    { code: "missing_result", at: 1, callId: "a" },
    { code: "duplicate_result", at: 5, callId: "b" },
  ]);
  for (const { message } of repairs) match(message, /^[A-Z]\w+ .*\w/, "a sentence that says what was done");
  deepEqual(violations, []);
  deepEqual(made.at(-1), call("c"));
  const promised = await post("repair", { messages, inFlight: ["a", "c"] });
  deepEqual(promised.repairs.map((repair: Json) => repair.code), ["duplicate_result"]);
  deepEqual(
    promised.violations,
    [],
    "a call that will be answered is no violation, wherever the repair moved it",
  );
});

Deno.test("POST /v1/compact answers all that was promised, and the ledger names the pairs", async () => {
  const messages = [{ role: "system", content: "Be brief." }, ...rounds(30)];
  const done = await post("compact", { messages, budget: 2_000 });
  deepEqual(Object.keys(done).sort(), [
    "cut",
    "format",
    "ledger",
    "messages",
    "nearest",
    "outcome",
    "reason",
    "repairs",
    "signed",
    "tokens",
    "trims",
    "violations",
  ]);
  equal(done.outcome, "compacted");
  deepEqual(Object.keys(done.cut).sort(), ["at", "distance", "lookbackUsed", "method"]);
  equal(done.tokens.budget, 2_000);
  ok(done.tokens.after < done.tokens.before && done.tokens.after <= 2_300);
  deepEqual(Object.keys(done.ledger[0]).sort(), [
    "arguments",
    "at",
    "callId",
    "digest",
    "outcome",
    "ref",
    "tool",
  ]);
  deepEqual(done.messages[0], messages[0], "the system message stays in front");
  match(done.messages[1].content, /^\[selvage ledger/);
  deepEqual(done.messages.slice(2), messages.slice(done.cut.at));
  deepEqual(
    done.ledger.map((pair: Json) => pair.at),
    messages.slice(0, done.cut.at).flatMap((message, at) => message.tool_calls ? [at] : []),
  );
  equal(done.reason, null);
  equal(done.nearest, null);
  const again = await post("compact", { messages: done.messages, budget: 2_000 });
  equal(again.outcome, "nothing");
  deepEqual(again.messages, done.messages);
});

Deno.test("POST /v1/compact with plan changes nothing; a second call with a summary applies it", async () => {
  const messages = rounds(30);
  const plan = await post("compact", { messages, budget: 2_000, plan: true });
  equal(plan.outcome, "compacted");
  equal(plan.plan, true);
  ok(!("messages" in plan), "nothing is applied, so there is no new transcript");
  deepEqual(plan.toSummarise, messages.slice(0, plan.cut.at));
  ok(plan.ledger.length > 0);
  const done = await post("compact", { messages, budget: 2_000, summary: "  Twenty runs, all fine.  " });
  deepEqual(done.cut, plan.cut);
  ok(done.messages[0].content.endsWith("\n\nTwenty runs, all fine."));
  // The next compaction keeps the prose, and merges the ledger.
  const more = [...done.messages, ...rounds(20).slice(1)];
  const next = await post("compact", { messages: more, budget: 2_000 });
  ok(next.messages[0].content.endsWith("\n\nTwenty runs, all fine."));
  equal(next.messages.filter((message: Json) => /\[selvage ledger/.test(message.content ?? "")).length, 1);
  const broken = [user("Go."), call("a"), user("Stop.")];
  const nothing = await post("compact", { messages: broken, budget: 2_000, plan: true });
  equal(nothing.outcome, "nothing");
  deepEqual(
    [nothing.plan, nothing.toSummarise, nothing.repairs, "messages" in nothing],
    [true, [], [], false],
    "a plan repairs nothing either",
  );
});

Deno.test("POST /v1/compact heeds policy, bounds, reserve, pins, own counts and repair", async () => {
  const messages = rounds(30);
  const compact = (more: Json) => post("compact", { messages, budget: 2_000, ...more });
  const plain = await compact({});
  const exact = await compact({ lookback: 0, lookahead: 0, policy: "backward" });
  equal(exact.outcome, "deferred");
  equal(exact.reason, "atom_too_wide");
  ok(exact.nearest.before < exact.nearest.after);
  const back = await compact({ policy: "backward", lookback: 0.3 });
  ok(back.cut.at < plain.cut.at || back.cut.distance >= 0);
  equal(back.cut.lookbackUsed, back.cut.distance);
  const reserved = await compact({ summaryReserve: 1_000 });
  ok(reserved.cut.at > plain.cut.at, "what the summary may take is not there for the tail");
  const pinned = await compact({ pinned: [0, 3] });
  deepEqual(pinned.messages.slice(1, 4), [messages[0], messages[3], messages[4]], "pins keep whole atoms");
  const counted = await compact({ tokens: messages.map(() => 1_000) });
  equal(counted.tokens.before, 61_000);
  ok(counted.cut.at > plain.cut.at);
  const broken = [user("Go."), call("a"), user("Stop."), ...messages];
  equal((await post("compact", { messages: broken, budget: 100_000 })).repairs.length, 1);
  const kept = await post("compact", { messages: broken, budget: 100_000, repair: false });
  deepEqual([kept.outcome, kept.messages, kept.repairs], ["nothing", broken, []]);
});

Deno.test("POST /v1/compact keeps calls in flight and long-running ones as they are, wherever they move", async () => {
  const tail = [
    call("a"),
    user("Wait."),
    call("b"),
    result("b", "started"),
    user("And?"),
    result("b", "finished"),
  ];
  const messages = [...rounds(30), ...tail];
  const at = messages.indexOf(tail[0]);
  for (
    const names of [
      { inFlight: ["a"], longRunning: ["b"] },
      { inFlight: [{ at, call: 0 }], longRunning: [{ at: at + 2, call: 0 }] },
    ]
  ) {
    for (const more of [{}, { tokens: messages.map(() => 100) }]) {
      const done = await post("compact", { messages, budget: 2_000, ...names, ...more });
      equal(done.outcome, "compacted", done.reason);
      deepEqual(done.messages.slice(-tail.length), tail);
      deepEqual(done.repairs, []);
    }
  }
});

Deno.test("POST /v1/compact defers behind a call in flight, and refuses what no later cut can help", async () => {
  const long = "word ".repeat(3_000);
  const open = [user("Go."), call("a"), ...Array.from({ length: 5 }, () => user(long))];
  const deferred = await post("compact", { messages: open, budget: 2_000, inFlight: ["a"] });
  deepEqual([deferred.outcome, deferred.reason], ["deferred", "open_call"]);
  equal(deferred.cut, null);
  deepEqual(deferred.messages, open);
  const refused = await post("compact", { messages: open, budget: 2_000, pinned: [2] });
  deepEqual([refused.outcome, refused.reason], ["refused", "pinned_too_big"]);
});

Deno.test("POST /v1/compact shortens results where one round is too wide, and says by how much", async () => {
  const long = "a line of output\n".repeat(2_000);
  const messages = [user("Go."), said("Yes."), call("a"), result("a", long), said("Read.")];
  const done = await post("compact", { messages, budget: 2_000 });
  equal(done.outcome, "compacted");
  equal(done.cut.method, "trim");
  deepEqual(done.trims.map((trim: Json) => [trim.at, trim.callId]), [[3, "a"]]);
  ok(done.trims[0].tokensAfter < done.trims[0].tokensBefore);
});

Deno.test("POST /v1/compact reports repairs by the message of the input", async () => {
  const messages = [...rounds(30), call("z"), user("Stop."), said("Stopped.")];
  const done = await post("compact", { messages, budget: 2_000 });
  equal(done.outcome, "compacted");
  deepEqual(
    done.repairs.map(({ code, at, callId }: Json) => ({ code, at, callId })),
    [{ code: "missing_result", at: 61, callId: "z" }],
  );
});

Deno.test("POST /v1/compact repairs first: a second run answers nothing, the cut is one that /v1/check lists", async () => {
  // Abandoned calls, an answer that came late, a second answer, an answer to nothing, a blank text.
  const messages = [
    user("Go."),
    ...rounds(6).slice(1),
    call("gone"),
    user(" "),
    call("late"),
    user("Meanwhile."),
    result("late", "late ".repeat(100)),
    result("c0", "once more ".repeat(50)),
    result("nobody", "whose? ".repeat(50)),
    ...Array.from({ length: 12 }, (_, n) => [call(`open${n}`), user(`On with ${n}.`)]).flat(),
  ];
  const { legalCuts } = await post("check", { messages });
  const cuts = new Set<number>();
  for (let budget = 100; budget < 1_500; budget += 50) {
    const done = await post("compact", { messages, budget, summaryReserve: 50 });
    ok(!/^rejected/.test(done.reason ?? ""), `${done.reason} at ${budget}`);
    deepEqual((await post("check", { messages: done.messages })).violations, []);
    if (done.outcome !== "compacted") continue;
    cuts.add(done.cut.at);
    ok(legalCuts.includes(done.cut.at), `${done.cut.at} is not among ${legalCuts}`);
    ok(done.ledger.every(({ at, callId }: Json) => messages[at].tool_calls[0].id === callId));
    const again = await post("compact", { messages: done.messages, budget, summaryReserve: 50 });
    deepEqual([again.outcome, again.repairs], ["nothing", []], `a second run at ${budget}`);
  }
  ok(cuts.size > 5);
});

Deno.test("kept messages come back to the letter: numbers, key order, equal keys, opaque blocks, white space", async () => {
  const opaque = [
    '{"role":"user","content":"Go.","x":1.0,"y":1e3,"z":12345678901234567890,"2":"b","1":"a","__proto__":{"a":1}}',
    '{ "role" : "assistant",\n "content":[{"type":"thinking","thinking":"Hm","signature":"\\u00e9=="},' +
    '{"type":"redacted_thinking","data":"AAA="},{"type":"tool_use","id":"a","name":"run","input":{"id":1234567890123456789,"f":0.10}}] }',
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok","cache_control":{"type":"ephemeral"}}]}',
    '{"role":"assistant","content":"Done \\ud800 \\u2028","role":"assistant"}',
  ];
  for (const route of ["repair", "compact"]) {
    const body = `{"budget":100000,"messages":[${opaque.join(" , ")}]}`;
    const { status, text } = await send(
      route,
      route === "repair" ? body.replace('"budget":100000,', "") : body,
    );
    equal(status, 200, text);
    ok(text.includes(`"messages":[${opaque.join(",")}]`), text);
  }
  // A message that is edited keeps its numbers too, and so does the ledger.
  const clash = opaque[1]?.replace("}] }", '}},{"type":"tool_use","id":"a","name":"run","input":{}}] }')
    .replace(
      "0.10}}}",
      "0.10}}",
    );
  const { text } = await send("repair", `{"messages":[${opaque[0]},${clash},${opaque[3]}]}`);
  ok(text.includes('"input":{"id":1234567890123456789,"f":0.10}'), text);
  const tail = JSON.stringify(Array.from({ length: 20 }, (_, n) => user(`${n} word `.repeat(100)))).slice(
    1,
    -1,
  );
  const body = `{"budget":1500,"thinking":"ignore","messages":[${opaque.join(",")},${tail}]}`;
  const done = JSON.parse((await send("compact", body)).text);
  equal(done.outcome, "compacted");
  match(done.ledger[0].arguments, /1234567890123456789/);
});

const KNOWN = [user("Go."), call("a"), result("a")];

const BAD: readonly {
  name: string;
  body: Json;
  code: string;
  field?: string;
  at?: number;
  status?: number;
}[] = [
  { name: "no JSON", body: '{"messages":[', code: "bad_json" },
  { name: "an empty body", body: "", code: "bad_json" },
  { name: "a number as the body", body: "3", code: "bad_request", field: "body" },
  { name: "no messages", body: {}, code: "bad_request", field: "messages" },
  { name: "an unknown field", body: { messages: [], budgt: 1 }, code: "bad_request", field: "budgt" },
  {
    name: "__proto__ as a field",
    body: '{"messages":[],"__proto__":{}}',
    code: "bad_request",
    field: "__proto__",
  },
  {
    name: "constructor as a field",
    body: { messages: [], constructor: 1 },
    code: "bad_request",
    field: "constructor",
  },
  { name: "an object as messages", body: { messages: {} }, code: "bad_transcript", field: "messages" },
  { name: "null as messages", body: { messages: null }, code: "bad_transcript", field: "messages" },
  { name: "a text as messages", body: { messages: "x" }, code: "bad_transcript", field: "messages" },
  {
    name: "a number as a message",
    body: { messages: [user("x"), 3] },
    code: "bad_message",
    at: 1,
    field: "messages[1]",
  },
  { name: "null as a message", body: { messages: [null] }, code: "bad_message", at: 0, field: "messages[0]" },
  { name: "a list as a message", body: { messages: [[]] }, code: "bad_message", at: 0, field: "messages[0]" },
  {
    name: "an unknown role",
    body: { messages: [user("x"), { role: "wizard", content: "x" }] },
    code: "bad_message",
    at: 1,
    field: "role",
  },
  {
    name: "constructor as a role",
    body: { messages: [{ role: "constructor", content: "x" }] },
    code: "bad_message",
    at: 0,
    field: "role",
  },
  {
    name: "__proto__ as a role",
    body: { messages: [{ role: "__proto__", content: "x" }] },
    code: "bad_message",
    at: 0,
    field: "role",
  },
  {
    name: "a number as a role",
    body: { messages: [{ role: 1, content: "x" }] },
    code: "unknown_format",
    at: 0,
    field: "role",
  },
  {
    name: "no role",
    body: { messages: [user("x"), { content: "x" }] },
    code: "unknown_format",
    at: 1,
    field: "role",
  },
  {
    name: "a number as content",
    body: { messages: [{ role: "user", content: 5 }] },
    code: "bad_message",
    at: 0,
    field: "content",
  },
  {
    name: "a number as a part",
    body: { messages: [{ role: "user", content: [5] }] },
    code: "bad_message",
    at: 0,
    field: "content[0]",
  },
  {
    name: "a part without a type",
    body: { messages: [{ role: "user", content: [{}] }] },
    code: "bad_message",
    at: 0,
    field: "content[0].type",
  },
  {
    name: "a number as a text",
    body: { messages: [{ role: "user", content: [{ type: "text", text: 1 }] }] },
    code: "bad_message",
    at: 0,
    field: "content[0].text",
  },
  {
    name: "an object as tool_calls",
    body: { messages: [{ role: "assistant", tool_calls: {} }] },
    code: "bad_message",
    at: 0,
    field: "tool_calls",
  },
  {
    name: "a call without a function",
    body: { messages: [{ role: "assistant", tool_calls: [{ id: "a" }] }] },
    code: "bad_message",
    at: 0,
    field: "tool_calls[0].function",
  },
  {
    name: "a number as a call id",
    body: { messages: [user("x"), { role: "tool", tool_call_id: 7, content: "x" }] },
    code: "bad_message",
    at: 1,
    field: "tool_call_id",
  },
  {
    name: "a number as a tool_use id",
    body: { messages: [{ role: "assistant", content: [{ type: "tool_use", id: 7, name: "x", input: {} }] }] },
    code: "bad_message",
    at: 0,
    field: "content[0].id",
  },
  {
    name: "an object as a UI part's state",
    body: {
      messages: [{ id: "1", role: "assistant", parts: [{ type: "tool-x", toolCallId: "a", state: {} }] }],
    },
    code: "bad_message",
    at: 0,
    field: "parts[0].state",
  },
  {
    name: "a text as a function call",
    body: { messages: [{ role: "model", parts: [{ functionCall: "x" }] }] },
    code: "bad_message",
    at: 0,
    field: "parts[0].functionCall",
  },
  {
    name: "a number as an item's call id",
    body: { messages: [{ type: "function_call", call_id: 1, name: "x", arguments: "{}" }] },
    code: "bad_message",
    at: 0,
    field: "call_id",
  },
  {
    name: "messages of another format",
    body: { format: "gemini", messages: [user("x")] },
    code: "bad_message",
    at: 0,
    field: "parts",
  },
  {
    name: "an unknown format",
    body: { format: "gemeni", messages: [user("x")] },
    code: "unknown_format",
    field: "format",
  },
  {
    name: "__proto__ as a format",
    body: { format: "__proto__", messages: [user("x")] },
    code: "unknown_format",
    field: "format",
  },
  {
    name: "a number as a format",
    body: { format: 1, messages: [user("x")] },
    code: "bad_request",
    field: "format",
  },
  {
    name: "an unknown call in flight",
    body: { messages: KNOWN, inFlight: ["z"] },
    code: "unknown_call",
    field: "inFlight",
  },
  {
    name: "a place without a call",
    body: { messages: KNOWN, inFlight: [{ at: 1, call: 1 }] },
    code: "unknown_call",
    field: "inFlight",
    at: 1,
  },
  {
    name: "a long-running place without a call",
    body: { messages: KNOWN, longRunning: [{ at: 0, call: 0 }] },
    code: "unknown_call",
    field: "longRunning",
    at: 0,
  },
  {
    name: "a negative place",
    body: { messages: KNOWN, inFlight: [{ at: -1, call: 0 }] },
    code: "bad_request",
    field: "inFlight.0.at",
  },
  {
    name: "a number as a call in flight",
    body: { messages: KNOWN, inFlight: [3] },
    code: "bad_request",
    field: "inFlight.0",
  },
  {
    name: "an unknown way to think",
    body: { messages: KNOWN, thinking: "hard" },
    code: "bad_request",
    field: "thinking",
  },
  { name: "too few tokens", body: { messages: KNOWN, tokens: [1, 2] }, code: "bad_tokens", field: "tokens" },
  {
    name: "too many tokens",
    body: { messages: KNOWN, tokens: [1, 2, 3, 4] },
    code: "bad_tokens",
    field: "tokens",
  },
  {
    name: "negative tokens",
    body: { messages: KNOWN, tokens: [1, -2, 3] },
    code: "bad_tokens",
    field: "tokens",
    at: 1,
  },
  {
    name: "tokens beyond counting",
    body: { messages: KNOWN, tokens: [1, 1e300, 3] },
    code: "bad_tokens",
    field: "tokens",
    at: 1,
  },
  {
    name: "null tokens",
    body: { messages: KNOWN, tokens: [1, null, 3] },
    code: "bad_request",
    field: "tokens.1",
  },
  {
    name: "a tool_use from the user",
    body: { messages: [{ role: "user", content: [{ type: "tool_use", id: "a", name: "x", input: {} }] }] },
    code: "bad_message",
    at: 0,
    field: "content[0]",
  },
  {
    name: "thinking from the user",
    body: { messages: [{ role: "user", content: [{ type: "thinking", thinking: "x", signature: "s" }] }] },
    code: "bad_message",
    at: 0,
    field: "content[0]",
  },
  {
    name: "a tool-call in a tool message",
    body: {
      messages: [user("x"), {
        role: "tool",
        content: [{ type: "tool-call", toolCallId: "a", toolName: "x" }],
      }],
    },
    code: "bad_message",
    at: 1,
    field: "content[0]",
  },
  {
    name: "a function call from the user",
    body: { messages: [{ role: "user", parts: [{ functionCall: { name: "x" } }] }] },
    code: "bad_message",
    at: 0,
    field: "parts[0]",
  },
];

const BAD_COMPACT: typeof BAD = [
  { name: "no budget", body: {}, code: "bad_request", field: "budget" },
  { name: "budget 0", body: { budget: 0 }, code: "bad_budget", field: "budget" },
  { name: "a negative budget", body: { budget: -5 }, code: "bad_budget", field: "budget" },
  {
    name: "NaN, which JSON cannot say, as a budget",
    body: { budget: NaN },
    code: "bad_request",
    field: "budget",
  },
  { name: "a budget as text", body: { budget: "1000" }, code: "bad_request", field: "budget" },
  {
    name: "a pin behind the end",
    body: { budget: 100, pinned: [3] },
    code: "bad_pin",
    field: "pinned",
    at: 3,
  },
  {
    name: "a negative pin",
    body: { budget: 100, pinned: [0, -1] },
    code: "bad_pin",
    field: "pinned",
    at: -1,
  },
  { name: "half a pin", body: { budget: 100, pinned: [0.5] }, code: "bad_request", field: "pinned.0" },
  { name: "a blank summary", body: { budget: 100, summary: " \n" }, code: "summary_blank", field: "summary" },
  { name: "an unknown policy", body: { budget: 100, policy: "wild" }, code: "bad_request", field: "policy" },
  {
    name: "a negative lookback",
    body: { budget: 100, lookback: -1 },
    code: "bad_request",
    field: "lookback",
  },
  {
    name: "a negative reserve",
    body: { budget: 100, summaryReserve: -1 },
    code: "bad_request",
    field: "summaryReserve",
  },
  { name: "plan as text", body: { budget: 100, plan: "yes" }, code: "bad_request", field: "plan" },
];

function expectProblem(problem: Json, { code, field, at, status = 400 }: (typeof BAD)[number]): void {
  equal(problem.code, code, problem.detail);
  equal(problem.status, status);
  equal(problem.field, field);
  equal(problem.at, at);
  ok(problem.detail.length < 1_000, "a sentence, whatever was sent");
}

for (const bad of BAD) {
  Deno.test(`POST /v1/check, /v1/repair and /v1/compact refuse ${bad.name} with ${bad.code}`, async () => {
    expectProblem(await refused("check", bad.body), bad);
    expectProblem(await refused("repair", bad.body), bad);
    const body = typeof bad.body === "string"
      ? bad.body.replace(/^\{/, '{"budget":1000,')
      : { ...bad.body, budget: 1_000 };
    expectProblem(await refused("compact", body), bad);
  });
}

for (const bad of BAD_COMPACT) {
  Deno.test(`POST /v1/compact refuses ${bad.name} with ${bad.code}`, async () => {
    expectProblem(await refused("compact", { messages: KNOWN, ...bad.body }), bad);
  });
}

Deno.test("POST /v1/compact refuses a summary over half of the reserve and says how much it takes", async () => {
  const problem = await refused("compact", {
    messages: rounds(30),
    budget: 2_000,
    summary: "word ".repeat(1_000),
  });
  equal(problem.code, "summary_too_large");
  equal(problem.status, 413);
  equal(problem.field, "summary");
  ok(problem.tokens > problem.limit);
});

Deno.test("POST /v1/compact takes a huge budget, and a tiny one, as they are", async () => {
  for (const budget of [1e308, Number.MAX_SAFE_INTEGER, 1e6]) {
    equal((await post("compact", { messages: rounds(5), budget })).outcome, "nothing");
  }
  for (const budget of [1, 0.5, 5e-324]) {
    equal((await post("compact", { messages: rounds(5), budget })).outcome, "refused");
  }
});

Deno.test("an empty list is a valid transcript with nothing to do", async () => {
  const found = await post("check", { messages: [] });
  deepEqual([found.valid, found.atoms, found.legalCuts], [true, [], [0]]);
  deepEqual(await post("repair", { messages: [] }), { messages: [], repairs: [], violations: [] });
  equal((await post("compact", { messages: [], budget: 10 })).outcome, "nothing");
  equal((await refused("compact", { messages: [], budget: 10, pinned: [0] })).code, "bad_pin");
});

/** JSON of this depth. */
function deep(levels: number): string {
  return '{"a":'.repeat(levels) + "1" + "}".repeat(levels);
}

const DEEP: readonly { name: string; message: string; field: RegExp }[] = [
  {
    name: "arguments of a tool_use",
    message: `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":${
      deep(10_000)
    }}]}`,
    field: /^content\[0\]\.input$/,
  },
  {
    name: "arguments as text",
    message: JSON.stringify(call("a", deep(10_000))),
    field: /^tool_calls\[0\]\.function\.arguments/,
  },
  {
    name: "an unknown field",
    message: `{"role":"user","content":"x","extra":${deep(100_000)}}`,
    field: /^extra/,
  },
  {
    name: "provider options",
    message: `{"role":"assistant","content":[{"type":"reasoning","text":"x","providerOptions":${
      deep(10_000)
    }}]}`,
    field: /^content\[0\]\.providerOptions/,
  },
  {
    name: "lists in a result",
    message: `{"role":"model","parts":[{"functionResponse":{"name":"x","response":{"r":${"[".repeat(20_000)}${
      "]".repeat(20_000)
    }}}}]}`.replace('"model"', '"user"'),
    field: /^parts\[0\]\.functionResponse/,
  },
];

for (const { name, message, field } of DEEP) {
  Deno.test(`deep JSON in ${name} is a problem with the message and the field, not a fault`, async () => {
    for (const route of ["check", "repair", "compact"]) {
      const budget = route === "compact" ? '"budget":50,' : "";
      const first = message.includes('"parts"')
        ? '{"role":"user","parts":[{"text":"x"}]}'
        : '{"role":"user","content":"x"}';
      const problem = await refused(route, `{${budget}"messages":[${first},${message}]}`);
      equal(problem.code, "bad_message");
      equal(problem.at, 1);
      match(problem.field, field);
    }
  });
}

Deno.test("JSON of 900 levels is checked, repaired and compacted like any other", async () => {
  const use = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":${deep(900)}}]}`;
  const rest = JSON.stringify(Array.from({ length: 8 }, (_, n) => user(`${n} word `.repeat(200)))).slice(
    1,
    -1,
  );
  const messages = `[{"role":"user","content":"x"},${use},${rest}]`;
  equal((await post("check", `{"messages":${messages}}`)).violations.length, 1);
  equal((await post("repair", `{"messages":${messages}}`)).repairs.length, 1);
  equal((await post("compact", `{"budget":1500,"messages":${messages}}`)).outcome, "compacted");
});

Deno.test("lone surrogates, __proto__ and constructor keys are data like any other", async () => {
  const args = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
  const use =
    `{"role":"assistant","__proto__":{"x":1},"content":[{"type":"tool_use","id":"__proto__","name":"constructor","input":${args}}]}`;
  const answer =
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"__proto__","content":"\\ud83d and \\udc00 alone"}]}';
  const rest = JSON.stringify(Array.from({ length: 8 }, (_, n) => said(`${n} word `.repeat(200)))).slice(
    1,
    -1,
  );
  const messages = `[{"role":"user","content":"\\ud800"},${use},${answer},${rest}]`;
  equal((await post("check", `{"messages":${messages}}`)).valid, true);
  const { text } = await send("repair", `{"messages":${messages}}`);
  ok(text.includes(use) && text.includes(answer));
  const done = await post("compact", `{"budget":1500,"messages":${messages}}`);
  equal(done.outcome, "compacted");
  equal(done.ledger[0].tool, "constructor");
  equal(({} as Json).polluted, undefined);
});

Deno.test("POST /v1/check answers a body of 16 MiB, and refuses one byte more", async () => {
  const frame = JSON.stringify({ messages: [user("")] });
  const most = 16 * 1024 * 1024;
  const found = await post("check", { messages: [user("w ".repeat((most - frame.length) / 2))] });
  equal(found.valid, true);
  for (const route of ["check", "repair", "compact"]) {
    const problem = await refused(route, { messages: [user("x".repeat(most - frame.length + 1))] });
    equal(problem.code, "body_too_large");
    equal(problem.status, 413);
    equal(problem.limit, most);
  }
});

Deno.test("100,000 messages are checked, repaired and compacted in time that grows with their number", async () => {
  const time = async (route: string, body: Json): Promise<number> => {
    const start = performance.now();
    await post(route, body);
    return performance.now() - start;
  };
  const [few, many] = [rounds(5_000, 3), rounds(50_000, 3)];
  for (const [route, more] of [["check", {}], ["repair", {}], ["compact", { budget: 20_000 }]] as const) {
    // Ten times as many: quadratic work would take a hundred times as long.
    await time(route, { messages: few, ...more });
    const ratio = await time(route, { messages: many, ...more }) /
      await time(route, { messages: few, ...more });
    ok(ratio < 50, `${route} took ${ratio} times as long`);
  }
});

Deno.test("a repair that takes a call away leaves those in flight as they are named", async () => {
  const hosted = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
  const messages = [
    user("Go."),
    { role: "assistant", content: [hosted, { type: "tool_use", id: "a", name: "run", input: {} }] },
    { role: "assistant", content: [{ type: "text", text: "Meanwhile." }] },
    user("And?"),
  ];
  const { violations, messages: made } = await post("repair", { messages, inFlight: ["a"] });
  deepEqual(violations, []);
  const { openCalls } = await post("check", { messages: made, inFlight: ["a"] });
  deepEqual(openCalls.map((open: Json) => [open.callId, open.state]), [["a", "in_flight"]]);
});

Deno.test("a long text that claims to be a ledger is read as fast as any other, whatever is in it", async () => {
  const time = async (text: string): Promise<number> => {
    const messages = [user(text), ...Array.from({ length: 30 }, (_, n) => user(`${n} word `.repeat(100)))];
    const start = performance.now();
    equal((await post("compact", { messages, budget: 2_000 })).outcome, "compacted");
    return performance.now() - start;
  };
  const bodies = [
    `e0.0 "${"a".repeat(1_000_000)}" {} -> ok: "x"`,
    `e0.0 run {}${' -> ok: "x'.repeat(100_000)}"`,
    `e0..e9 10 calls: "${"a".repeat(1_000_000)}" 1 ok`,
  ];
  await time("a".repeat(1_000_000));
  const plain = await time("a".repeat(1_000_000));
  for (const body of bodies) {
    const ratio = await time(`${LEDGER_HEADER}\n${body}\n[end of ledger; check ${shortHash(body)}]`) / plain;
    ok(ratio < 30, `${body.slice(0, 20)} took ${ratio} times as long as plain text`);
  }
});

Deno.test("the routes refuse bytes that are no UTF-8 instead of replacing them", async () => {
  const head = new TextEncoder().encode('{"budget":100,"messages":[{"role":"user","content":"');
  const tail = new TextEncoder().encode('"}]}');
  for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
    for (const route of ["check", "repair", "compact"]) {
      const body = new Uint8Array([...head, ...bytes, ...tail]);
      const response = await app.request(`/v1/${route}`, { method: "POST", body });
      equal(response.status, 400);
      const { code, detail } = await response.json();
      equal(code, "bad_json");
      match(detail, /found bytes that are no UTF-8/);
    }
  }
});

Deno.test("the routes refuse an encoded body with 415, and say what they take", async () => {
  const body = JSON.stringify({ messages: [] });
  const packed = new Response(body).body?.pipeThrough(new CompressionStream("gzip"));
  for (const [encoding, sent] of [["gzip", await new Response(packed).bytes()], ["br", body]] as const) {
    const headers = { "content-encoding": encoding };
    const response = await app.request("/v1/check", { method: "POST", body: sent, headers });
    equal(response.status, 415);
    equal(response.headers.get("accept-encoding"), "identity");
    equal((await response.json()).code, "unsupported_encoding");
  }
  const plain = { method: "POST", body, headers: { "content-encoding": "Identity" } };
  equal((await app.request("/v1/check", plain)).status, 200);
});

Deno.test("the routes take the shapes that requests to model services have, and a bare list", async () => {
  const anthropic = {
    model: "claude-sonnet-4-5",
    max_tokens: 1_000,
    system: "Be brief.",
    tools: [{ name: "run", input_schema: {} }],
    stream: true,
    messages: [user("Go.")],
  };
  equal((await post("check", anthropic)).valid, true);
  const items = [{ role: "user", content: "Go." }, {
    type: "function_call",
    call_id: "a",
    name: "x",
    arguments: "",
  }];
  equal((await post("check", { input: items, instructions: "Be brief." })).format, "openai-responses");
  equal((await post("check", { input: items.slice(0, 1) })).format, "openai-responses");
  const contents = [{ role: "user", parts: [{ text: "Go." }] }];
  equal((await post("check", { contents, systemInstruction: {} })).format, "gemini");
  equal((await post("check", [user("Go.")])).atoms.length, 1);
  // What was not edited comes back to the letter, whatever the list was called.
  const own = '{"role":"user",  "content":"Go.","n":1.0}';
  for (const body of [` [${own}]`, `{"x":[],"input": [${own}]}`.replace('"x":[],', ""), `{"contents":[]}`]) {
    const { status, text } = await send("repair", body);
    equal(status, 200, text);
    ok(body.includes("contents") || text.includes(`"messages":[${own}]`), text);
  }
  equal((await post("compact", { budget: 100, input: items.slice(0, 1) })).outcome, "nothing");
  for (const body of [{ msgs: [] }, {}, { messages: [], input: [] }]) {
    const problem = await refused("check", body);
    deepEqual([problem.code, problem.field], ["bad_request", "messages"]);
    match(
      problem.detail,
      /found (msgs|an empty object|both messages and input), wanted the messages as messages, or/,
    );
  }
});

Deno.test("the routes say where the messages are that something else wraps", async () => {
  const logs = {
    message: [{ type: "summary" }, { type: "user", uuid: "1", message: user("Go.") }],
    payload: [{ type: "session_meta", payload: {} }, { type: "response_item", payload: user("Go.") }],
  };
  for (const [inside, messages] of Object.entries(logs)) {
    for (const route of ["check", "repair", "compact"]) {
      const problem = await refused(route, { messages, ...(route === "compact" ? { budget: 100 } : {}) });
      deepEqual([problem.code, problem.at, problem.field], ["bad_message", 1, inside]);
      ok(problem.detail.includes(`the messages seem to be inside \`${inside}\``), problem.detail);
    }
  }
});

Deno.test("calls are named by place as reports and ledgers write it, unless an id looks like that", async () => {
  const messages = [user("Go."), call("a"), user("Wait."), call("a"), user("Well?")];
  const openAt = async (body: Json) =>
    (await post("check", body)).openCalls.flatMap((open: Json) =>
      open.state === "in_flight" ? [open.at] : []
    );
  for (const name of ["1.0", "e1.0", { at: 1, call: 0 }]) {
    deepEqual(await openAt({ messages, inFlight: [name] }), [1]);
  }
  equal((await refused("check", { messages, inFlight: ["e0.0"] })).code, "unknown_call");
  const ids = [user("Go."), call("0.0"), user("Wait."), call("e1.0"), user("Well?")];
  deepEqual(await openAt({ messages: ids, inFlight: ["0.0", "e1.0"] }), [1, 3]);
  const late = [user("Go."), call("a"), result("a", "started"), user("And?"), result("a", "finished")];
  equal((await post("check", { messages: late, longRunning: ["e1.0"] })).valid, true);
});

Deno.test("a body that does not fit is answered with what was found and what is wanted", async () => {
  const messages = [user("Go.")];
  const cases: readonly (readonly [Json, RegExp])[] = [
    [{}, /: budget: found nothing, wanted a number$/],
    [{ budget: "many" }, /: budget: found "many", wanted a number$/],
    [{ budget: 1, policy: "wild" }, /: policy: found "wild", wanted "full" or "backward"$/],
    [{ budget: 1, plan: 1 }, /: plan: found 1, wanted true or false$/],
    [{ budget: 1, lookback: -1 }, /: lookback: found -1, wanted at least 0$/],
    [{ budget: 1, pinned: {} }, /: pinned: found an object, wanted a list$/],
    [{ budget: 1, pinned: [0.5] }, /: pinned\.0: found 0\.5, wanted a whole number$/],
    [{ budget: 1, inFlight: [3] }, /: inFlight\.0: found 3, wanted text or an object$/],
    [{ budget: 1, summary: null }, /: summary: found null, wanted text$/],
    [
      { budget: 1, model: "m".repeat(300) },
      /: model: found a text of 300 characters, wanted at most 200 characters$/,
    ],
    [
      { budget: 1, budgt: 1 },
      /: budgt: found a field that nobody knows, wanted only format, messages, longRunning, /,
    ],
  ];
  for (const [more, wanted] of cases) match((await refused("compact", { messages, ...more })).detail, wanted);
});

Deno.test("a problem is a sentence, however long that is what was sent", async () => {
  const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`key${n}`, n]));
  const long = "x".repeat(1_000_000);
  for (
    const body of [
      { messages: [], ...keys },
      { messages: [], [long]: 1 },
      keys,
      { [long]: 1 },
      { messages: [], format: long },
      { messages: [user("a")], inFlight: [long] },
      { messages: [{ role: long, content: "x" }] },
      { messages: [{ role: "user", content: [{ type: long }] }] },
      `${long}`,
    ]
  ) {
    const { status, text } = await send("check", body);
    equal(status, 400);
    ok(text.length < 2_000, text.slice(0, 3_000));
  }
});

Deno.test("an upload that breaks off is no fault of the service: nothing is logged", async () => {
  const logged: unknown[] = [];
  const { error } = console;
  console.error = (...words: unknown[]) => logged.push(...words);
  const codes: (string | undefined)[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const response = await app.fetch(request);
    codes.push((await response.clone().json()).code);
    return response;
  });
  try {
    for (const length of ["Content-Length: 1000", "Transfer-Encoding: chunked"]) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
      const text = `POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\n${length}\r\n\r\n5\r\n{"mes\r\n`;
      await connection.write(new TextEncoder().encode(text));
      await connection.closeWrite();
      const answer = await new Response(connection.readable).text();
      match(answer, /^HTTP\/1\.1 400 /);
    }
  } finally {
    console.error = error;
    await server.shutdown();
  }
  deepEqual(codes, ["body_cut_off", "body_cut_off"]);
  deepEqual(logged, []);
});

Deno.test("a body whose length nobody has told is read, up to the limit", async () => {
  const sent = async (size: number) => {
    const body = new Response("x".repeat(size)).body;
    const response = await app.request("/v1/check", { method: "POST", body });
    return (await response.json()).code;
  };
  equal(await sent(16 * 1024 * 1024), "bad_json");
  equal(await sent(16 * 1024 * 1024 + 1), "body_too_large");
});

Deno.test("the routes take no other method than POST, and ask who is calling as all others do", async () => {
  for (const route of ["check", "repair", "compact"]) {
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
      const response = await app.request(`/v1/${route}`, { method });
      equal(response.status, 405);
      equal(response.headers.get("allow"), "POST");
      equal((await response.json()).code, "method_not_allowed");
    }
  }
  const closed = createApp({ agents: { default: { model } }, store: memoryStore(), auth: () => null });
  for (const route of ["check", "repair", "compact"]) {
    const response = await closed.request(`/v1/${route}`, { method: "POST", body: '{"messages":[]}' });
    equal((await response.json()).code, "unauthorized");
  }
});

Deno.test("README shows what POST /v1/check really answers", async () => {
  const readme = await Deno.readTextFile("README.md");
  const curl = readme.match(/^ {4}curl http:\/\/127\.0\.0\.1:8000\/v1\/check -d '(.*)'\n\n {4}(.*)$/m);
  ok(curl !== null, "the README has the example");
  equal((await send("check", curl[1])).text, curl[2]);
});

Deno.test("POST /v1/compact says what it had to do, and what it leaves behind", async () => {
  const step = (n: number): readonly Json[] => [
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: `Step ${n}.`, signature: `s${n}` },
        { type: "tool_use", id: `t${n}`, name: "run", input: {} },
      ],
    },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: `t${n}`, content: `${n} word `.repeat(60) }],
    },
  ];
  const messages = [user("Go."), ...Array.from({ length: 12 }, (_, n) => step(n)).flat()];
  const { legalCuts } = await post("check", { messages });
  const done = await post("compact", { messages, budget: 1_500 });
  deepEqual([done.outcome, done.reason, done.violations], ["compacted", "inside_signed_reasoning", []]);
  ok(!legalCuts.includes(done.cut.at) && done.signed.length > 0 && done.signed[0] >= done.cut.at);
  const asked = await post("compact", { messages, budget: 1_500, thinking: "ignore" });
  deepEqual([asked.outcome, asked.reason, asked.signed.length > 0], ["compacted", null, true]);
  const broken = await post("compact", {
    messages: [...messages, user("On.")].toSpliced(-2, 1),
    budget: 90_000,
    repair: false,
  });
  deepEqual(broken.violations.map(({ code }: Json) => code), ["missing_result"]);
  const small = await post("compact", { messages: [...messages, user("On.")], budget: 20 });
  deepEqual([small.outcome, small.reason, small.tokens.after], [
    "refused",
    "budget_too_small",
    small.tokens.before,
  ]);
});
