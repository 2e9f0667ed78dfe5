/** `/agui`: runs as the official client sees them, what it sends, and what is refused. */
import assert from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { AguiEncoder, aguiFrames } from "../../src/http/encode/agui.ts";
import type { Agent } from "../../src/loop/agent.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { type Script, scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { AguiClient, type AguiEvent } from "../support/agui_client.ts";
import { assertLog, calls, prose, replies, reporting, tool } from "../support/turns.ts";
import * as z from "zod";

const PNG = "iVBORw0KGgo=";
const ran: string[] = [];
const tools = [
  tool("read", ({ n, length }) => prose(Number(length ?? 100), Number(n))),
  tool("draw", () => [{ type: "text", text: "drawn" }, { type: "file", mediaType: "image/png", data: PNG }]),
  defineTool({
    name: "wipe",
    description: "Wipes",
    input: z.object({ disk: z.string() }),
    needsApproval: true,
    execute: ({ disk }) => {
      ran.push(disk);
      return `wiped ${disk}`;
    },
  }),
  defineTool({
    name: "count",
    description: "Counts",
    input: z.object({}),
    execute: async function* () {
      yield await Promise.resolve("one");
      return "two";
    },
  }),
];
const askColor = {
  name: "ask_color",
  description: "Asks for a color",
  parameters: { type: "object", properties: {} },
};

/** A service, its sessions, and what its model was sent. */
function rig(
  script: Script,
  { window, agent = {} }: { readonly window?: number; readonly agent?: Partial<Agent> } = {},
) {
  const asked: AguiEvent[] = [];
  const model = scripted({
    script: (request) => {
      asked.push(structuredClone(request));
      return script(request);
    },
    maxOutput: 500,
    ...(window === undefined ? {} : { window }),
  });
  const store = memoryStore();
  const app = createApp({
    agents: { default: { model, tools, ...agent }, other: { model, system: "Other." } },
    store,
  });
  const ask = (url: string, init: RequestInit) => Promise.resolve(app.request(url, init));
  const log = async (session = "t1") => (await store.read({ tenant: "local", session }))?.entries ?? [];
  const client = (options: ConstructorParameters<typeof AguiClient>[1] = {}, path = "/agui") =>
    new AguiClient(`http://localhost${path}`, { fetch: ask, ...options });
  return { app, asked, log, client };
}

/** Texts of messages, one letter for the role before each. */
function outline(messages: readonly AguiEvent[]): string[] {
  return messages.map(({ role, content, toolCalls = [] }) =>
    [
      role[0],
      content,
      ...toolCalls.map((call: AguiEvent) => `${call.function.name}${call.function.arguments}`),
    ]
      .filter((word) => word !== undefined && word !== "").join(" ")
  );
}

Deno.test("/agui tells a turn with tools, progress, pictures and the state of the context", async () => {
  const { client, log } = rig(replies(
    {
      text: "Let me see.",
      calls: [{ name: "read", input: { n: 1, length: 12 } }, { name: "count", input: {} }],
    },
    calls("draw", {}),
    { reasoning: "All done?", text: "Done it is." },
    { text: "So it is." },
  ));
  const one = client({ initialState: { page: 3 } });
  const end = await one.run("Go.");
  assert.deepEqual(end.outcome, { type: "success" });
  assert.deepEqual(end.result, { reason: "stop", steps: 3 });
  assert.equal(end.usage[0].model, "scripted");
  assert.equal(one.of("RUN_STARTED")[0].protocolVersion, "1.0");
  assert.deepEqual(
    outline(one.messages),
    [
      "u Go.",
      'a Let me see. read{"n":1,"length":12} count{}',
      "t two",
      `t ${prose(12, 1)}`,
      "a draw{}",
      "t [object Object],[object Object]",
      "r All done?",
      "a Done it is.",
    ].toSorted((a, b) => outline(one.messages).indexOf(a) - outline(one.messages).indexOf(b)),
  );
  const drawn = one.messages.find(({ role, content }) => role === "tool" && typeof content !== "string");
  assert.deepEqual(drawn.content, [
    { type: "text", text: "drawn" },
    { type: "image", source: { type: "data", value: PNG, mimeType: "image/png" } },
  ]);
  assert.deepEqual(one.of("STEP_STARTED").map(({ stepName }) => stepName), ["step-1", "step-2", "step-3"]);
  assert.deepEqual(one.of("CUSTOM").map(({ name, value }) => [name, value.data]), [["tool.progress", "one"]]);
  const { page, selvage } = one.agent.state;
  assert.equal(page, 3);
  assert.ok(selvage.context.tokens > 0 && selvage.context.stopAt > selvage.context.compactAt);
  assert.deepEqual([selvage.agent, selvage.compactions], ["default", 0]);
  const before = (await log()).length;
  await one.run("Done?");
  assert.equal((await log()).length, before + 2);
});

Deno.test("/agui tells compactions of a long turn, and the thread goes on behind it", async () => {
  const steps = Array.from({ length: 20 }, (_, n) => calls("read", { n, length: 4_000 }));
  const { client, log, asked } = rig(replies(...steps, { text: "Twenty read." }, { text: "Yes." }), {
    window: 12_000,
  });
  const one = client();
  const end = await one.run("Read all.");
  assert.deepEqual(end.outcome, { type: "success" });
  assert.equal(one.of("TOOL_CALL_RESULT").length, 20);
  const applied = one.of("CUSTOM").filter(({ name, value }) =>
    name === "compaction" && value.phase === "applied"
  );
  assert.ok(applied.length > 0);
  assert.equal(one.agent.state.selvage.compactions, applied.length);
  const before = (await log()).length;
  await one.run("All of them?");
  const entries = await log();
  assertLog(entries);
  assert.equal(entries.length, before + 2, "the log goes on, and nothing of it was brought along again");
  assert.ok(asked.at(-1).messages.length < before);
});

Deno.test("/agui ends a run with what a frontend's tool is to do, and goes on with what it gave", async () => {
  const { client, log, asked } = rig(replies(
    { calls: [{ name: "ask_color", input: {} }, { name: "read", input: { n: 1, length: 5 } }] },
    { text: "Blue then." },
  ));
  const one = client();
  const end = await one.run("Paint.", { tools: [askColor] });
  const [asking] = one.of("TOOL_CALL_START").filter(({ toolCallName }) => toolCallName === "ask_color");
  assert.deepEqual(end.outcome, { type: "success", pendingToolCallIds: [asking.toolCallId] });
  one.answer(asking.toolCallId, "blue");
  const then = await one.run(null, { tools: [askColor] });
  assert.deepEqual(then.outcome, { type: "success" });
  assert.deepEqual(one.of("TOOL_CALL_RESULT"), [], "the client has the result");
  assert.deepEqual(outline(one.messages), [
    "u Paint.",
    'a ask_color{} read{"n":1,"length":5}',
    `t ${prose(5, 1)}`,
    "t blue",
    "a Blue then.",
  ]);
  const results = asked.at(-1).messages.filter(({ role }: AguiEvent) => role === "tool");
  assert.ok(JSON.stringify(results).includes("blue"));
  assertLog(await log());
  // Nothing waits any more: the same again is told, and changes nothing.
  const late = await rigPost(one, { threadId: "t1", runId: "r", messages: one.messages.slice(0, 4) });
  assert.equal(late.status, 409);
});

Deno.test("/agui takes what a frontend's tool gave with a new message, and the thread goes on behind both", async () => {
  const both = { calls: [{ name: "ask_color", input: {} }, { name: "wipe", input: { disk: "a" } }] };
  ran.length = 0;
  const { client, log, asked } = rig(replies(
    { calls: [{ name: "ask_color", input: {} }] },
    { text: "A blue boat then." },
    { text: "Gladly." },
    both,
    { text: "Red, and no wiping." },
  ));
  const one = client();
  const end = await one.run("Paint.", { tools: [askColor] });
  one.answer(end.outcome.pendingToolCallIds[0], "blue");
  assert.deepEqual((await one.run("A boat, please.", { tools: [askColor] })).outcome, { type: "success" });
  const roles = (messages: AguiEvent[]) => messages.map(({ role }) => role);
  assert.deepEqual(roles(asked.at(-1).messages), ["user", "assistant", "tool", "user"]);
  assert.ok(JSON.stringify(asked.at(-1).messages).includes("blue"));
  await one.run("Thanks.", { tools: [askColor] });
  assert.deepEqual(roles(asked.at(-1).messages), ["user", "assistant", "tool", "user", "assistant", "user"]);
  // Of two calls the user answers one, and goes on: the other one is closed, and nothing of the first is lost.
  await one.run("Again.", { tools: [askColor] });
  one.agent.pendingInterrupts = [];
  const waiting = one.messages.at(-1).toolCalls.find((call: AguiEvent) => call.function.name === "ask_color");
  one.answer(waiting.id, "red");
  await one.run("Leave the disk.", { tools: [askColor] });
  const entries = await log();
  assertLog(entries);
  assert.deepEqual(
    entries.flatMap((entry) => entry.kind === "result" ? [[entry.toolName, entry.status]] : []),
    [["ask_color", "ok"], ["ask_color", "ok"], ["wipe", "error"]],
  );
  assert.equal(entries.filter(({ kind }) => kind === "user").length, 5, "nothing was brought along again");
  assert.deepEqual(ran, []);
});

async function rigPost(client: AguiClient, body: unknown): Promise<Response> {
  const { agent } = client;
  return await (agent as AguiEvent).fetch(agent.url, { method: "POST", body: JSON.stringify(body) });
}

Deno.test("/agui tells the model what went wrong in a frontend's tool", async () => {
  const { client, log } = rig(replies(calls("ask_color", {}), { text: "No color." }));
  const one = client();
  const end = await one.run("Paint.", { tools: [askColor] });
  one.agent.addMessage({
    id: "x",
    role: "tool",
    toolCallId: end.outcome.pendingToolCallIds[0],
    content: "",
    error: "the user is away",
  });
  await one.run(null, { tools: [askColor] });
  const result = (await log()).find(({ kind }) => kind === "result") as AguiEvent;
  assert.deepEqual([result.status, result.output.value], ["error", "the user is away"]);
});

Deno.test("/agui interrupts a run where a person is to decide, and goes on with the decision", async () => {
  for (
    const [payload, wanted] of [[{ approved: true }, "wiped sda"], [
      { approved: false, reason: "no" },
      "no",
    ]] as const
  ) {
    ran.length = 0;
    const { client, log } = rig(replies(calls("wipe", { disk: "sda" }), { text: "So be it." }));
    const one = client();
    const end = await one.run("Wipe it.");
    assert.equal(end.outcome.type, "interrupt");
    const [{ id, toolCallId, responseSchema, metadata, reason }] = end.outcome.interrupts;
    assert.deepEqual([reason, metadata], ["tool_approval", { toolName: "wipe", input: { disk: "sda" } }]);
    assert.deepEqual(responseSchema.required, ["approved"]);
    assert.deepEqual(ran, []);
    // The client itself refuses a run that leaves the interrupt open.
    await assert.rejects(one.run(null), /pending interrupt/);
    const then = await one.run(null, { resume: [{ interruptId: id, status: "resolved", payload }] });
    assert.deepEqual(then.outcome, { type: "success" });
    const [result] = one.of("TOOL_CALL_RESULT");
    assert.equal(result.toolCallId, toolCallId);
    assert.match(result.content, new RegExp(wanted));
    assert.deepEqual(ran, payload.approved ? ["sda"] : []);
    assertLog(await log());
    const again = await one.run("Thanks.");
    assert.deepEqual(again.outcome, { type: "success" });
    assert.equal((await log()).filter(({ kind }) => kind === "user").length, 2);
  }
});

Deno.test("/agui takes a cancelled interrupt as a no, and a new message as giving up what waited", async () => {
  ran.length = 0;
  const { client, log } = rig(
    replies(calls("wipe", { disk: "a" }), { text: "Left." }, calls("wipe", { disk: "b" })),
  );
  const one = client();
  const first = await one.run("Wipe it.");
  const [{ id }] = first.outcome.interrupts;
  await one.run(null, { resume: [{ interruptId: id, status: "cancelled" }] });
  assert.match(one.of("TOOL_CALL_RESULT")[0].content, /did not allow/);
  await one.run("Wipe b.");
  one.agent.pendingInterrupts = [];
  assert.deepEqual((await one.run("Never mind.")).outcome, { type: "success" });
  const entries = await log();
  assertLog(entries);
  assert.deepEqual(entries.flatMap((entry) => entry.kind === "result" ? [entry.status] : []), [
    "error",
    "aborted",
  ]);
  assert.deepEqual(ran, []);
});

Deno.test("/agui leaves the log where the history was changed, and brings along what the log does not have", async () => {
  const { client, log, asked } = rig(() => ({ text: "Well." }));
  const one = client();
  await one.run("First.");
  await one.run("Second.");
  assert.equal((await log()).length, 4);
  one.agent.messages = one.agent.messages.slice(0, 2);
  await one.run("Other second.");
  assert.deepEqual(
    (await log()).map((entry: AguiEvent) => entry.message.content).filter((said) => typeof said === "string"),
    [
      "First.",
      "Other second.",
    ],
  );
  const foreign = [
    { id: "f0", role: "system", content: "Be brief." },
    { id: "f1", role: "user", content: "Where?" },
    { id: "f2", role: "reasoning", content: "hm" },
    {
      id: "f3",
      role: "assistant",
      toolCalls: [{ id: "c1", type: "function", function: { name: "find", arguments: '{"q":1}' } }],
    },
    { id: "f4", role: "tool", toolCallId: "c1", content: "Oslo" },
    { id: "f5", role: "assistant", content: "In Oslo." },
  ];
  const other = client({ threadId: "t2", initialMessages: foreign });
  await other.run("Sure?", { context: [{ description: "page", value: "home" }] });
  const entries = await log("t2");
  assertLog(entries);
  assert.deepEqual(entries.map(({ kind }) => kind), [
    "user",
    "assistant",
    "result",
    "assistant",
    "user",
    "assistant",
  ]);
  assert.match(asked.at(-1).system, /Be brief\.\n\nContext from the application:\n- page: home/);
  await other.run("Really?");
  assert.equal((await log("t2")).length, 8, "the second time nothing is brought along");
});

Deno.test("/agui takes pictures of a user, and another agent by the address", async () => {
  const { client, asked, log } = rig(() => ({ text: "Seen." }));
  const one = client({}, "/agui?agent=other");
  one.agent.addMessage({
    id: "p",
    role: "user",
    content: [
      { type: "text", text: "Look" },
      { type: "image", source: { type: "data", value: PNG, mimeType: "image/png" } },
    ],
  });
  await one.run(null);
  assert.equal(asked[0].system, "Other.");
  assert.deepEqual(asked[0].messages[0].content, [
    { type: "text", text: "Look" },
    { type: "file", mediaType: "image/png", data: `data:image/png;base64,${PNG}` },
  ]);
  await one.run("And?");
  assert.equal((await log()).length, 4);
});

Deno.test("/agui tells a failure as the end of the run, and goes on with the next", async () => {
  let n = 0;
  const { client, log } = rig(() => {
    if (n++ === 0) throw new Error("a secret");
    return { text: "Better." };
  });
  const one = client();
  await reporting(() => one.run("Go.").catch(() => {}));
  const end = one.events.at(-1);
  assert.deepEqual([end.type, end.code], ["RUN_ERROR", "internal"]);
  assert.ok(!JSON.stringify(one.events).includes("secret"));
  assert.deepEqual((await one.run("Again.")).outcome, { type: "success" });
  assert.equal((await log()).filter(({ kind }) => kind === "user").length, 2);
});

Deno.test("/agui ends the turn when the client aborts its run", async () => {
  const gone = Promise.withResolvers<void>();
  const hang = tool("hang", (_, { signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        gone.resolve();
        reject(signal.reason);
      });
    }));
  const { client, log, app } = rig(replies(calls("hang", {}), { text: "Back." }), {
    agent: { tools: [hang] },
  });
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, app.fetch);
  const one = client({ fetch });
  one.agent.url = `http://127.0.0.1:${server.addr.port}/agui`;
  one.onEvent = ({ type }) => {
    if (type === "TOOL_CALL_END") one.agent.abortRun();
  };
  await one.run("Hang.").catch(() => {});
  await gone.promise;
  one.onEvent = () => {};
  const end = await one.run("Again.");
  assert.deepEqual(end.outcome, { type: "success" });
  const entries = await log();
  assertLog(entries);
  assert.deepEqual(entries.flatMap((entry) => entry.kind === "result" ? [entry.status] : []), ["aborted"]);
});

Deno.test("aguiFrames() has an end for what has none", async () => {
  const options = {
    threadId: "t",
    runId: "r",
    turn: "x",
    agent: "default",
    model: "m",
    state: null,
    answered: new Set<string>(),
  };
  const usage = { inputTokens: 1, outputTokens: 1 };
  const cases = [
    [[], null, { type: "RUN_ERROR", code: "turn_suspended" }],
    [[{ type: "step.started", step: 1 }, { type: "text.delta", step: 1, text: "a" }], null, {
      code: "turn_suspended",
    }],
    [[{ type: "text.delta", step: 1, text: "a" }], new Error("broken"), {
      type: "RUN_ERROR",
      code: "broken",
    }],
    [[{ type: "turn.finished", reason: "aborted", usage, steps: 1 }], null, {
      outcome: { type: "cancelled" },
    }],
    [
      [{ type: "error", code: "context_exhausted", message: "m", retryable: false }, {
        type: "turn.finished",
        reason: "error",
        usage,
        steps: 1,
      }],
      null,
      { type: "RUN_ERROR", code: "context_exhausted", message: "m" },
    ],
  ] as const;
  for (const [events, error, wanted] of cases) {
    const source = (async function* () {
      yield* events.map((event, n) => ({ ...event, id: `x:${n}` }) as AguiEvent);
      if (error !== null) throw await Promise.resolve(error);
    })();
    const frames = aguiFrames(source, {
      encoder: new AguiEncoder(options),
      problemOf: () => ({ code: "broken", detail: "d" }),
    });
    const text = (await Array.fromAsync(frames)).join("");
    const told = text.split("\n\n").filter((frame) => frame !== "").map((frame) =>
      JSON.parse(frame.slice(6))
    );
    assert.equal(told[0].type, "RUN_STARTED");
    assert.partialDeepStrictEqual(told.at(-1), wanted);
    const open = told.filter(({ type }) => type === "TEXT_MESSAGE_START").length;
    assert.equal(told.filter(({ type }) => type === "TEXT_MESSAGE_END").length, open);
  }
});

Deno.test("aguiFrames() tells a step that begins anew so that a client can follow", async () => {
  const call = { step: 1, call: 0, ref: "e1.0", name: "read" };
  const usage = { inputTokens: 1, outputTokens: 1 };
  const events: readonly AguiEvent[] = [
    { type: "turn.started", turn: "x", session: "t1", agent: "default", model: "m" },
    { type: "step.started", step: 1 },
    { type: "text.delta", step: 1, text: "Let" },
    { type: "tool.input.delta", ...call, delta: '{"n":' },
    { type: "step.started", step: 1 },
    { type: "text.delta", step: 1, text: "Look" },
    { type: "tool.input.delta", ...call, delta: '{"n":2}' },
    { type: "tool.call", ...call, input: { n: 2 } },
    { type: "tool.result", ...call, status: "ok", output: "two", shortened: false, ms: 1 },
    { type: "tool.call", ...call, input: { n: 2 } },
    { type: "tool.result", ...call, status: "ok", output: "two", shortened: false, ms: 1 },
    { type: "step.started", step: 2 },
    { type: "text.delta", step: 2, text: "Two." },
    { type: "turn.finished", reason: "stop", usage, steps: 2 },
  ];
  const one = new AguiClient("http://localhost/agui", {
    fetch: async (_, { body }) => {
      const { threadId, runId } = JSON.parse(String(body));
      const encoder = new AguiEncoder({
        threadId,
        runId,
        turn: "x",
        agent: "default",
        model: "m",
        state: null,
        answered: new Set(),
      });
      const source = (async function* () {
        yield* await Promise.resolve(events);
      })();
      const problemOf = () => ({ code: "broken", detail: "d" });
      const frames = await Array.fromAsync(aguiFrames(source, { encoder, problemOf }));
      return new Response(frames.join(""), { headers: { "content-type": "text/event-stream" } });
    },
  });
  assert.deepEqual((await one.run("Go.")).outcome, { type: "success" });
  assert.deepEqual(outline(one.messages), [
    "u Go.",
    'a Let read{"n":',
    'a Look read{"n":2}',
    "t two",
    "a Two.",
  ]);
});

const user = { id: "u", role: "user", content: "Hi" };
const BAD: readonly (readonly [unknown, number, string])[] = [
  ["no json", 400, "bad_json"],
  [{}, 400, "bad_request"],
  [{ threadId: "a/b", runId: "r", messages: [user] }, 400, "bad_request"],
  [{ threadId: "t", runId: "", messages: [user] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: "hi" }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [{ ...user, role: "robot" }] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [{ ...user, content: 1 }] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [{ ...user, content: [{ type: "image" }] }] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [{ ...user, content: "" }] }, 400, "input_empty"],
  [
    { threadId: "t", runId: "r", messages: [user, { id: "a", role: "assistant", content: "Hi" }] },
    400,
    "bad_request",
  ],
  [
    { threadId: "t", runId: "r", messages: [user, { id: "a", role: "assistant", toolCalls: [{ id: "c" }] }] },
    400,
    "bad_request",
  ],
  [
    { threadId: "t", runId: "r", messages: [user, { id: "x", role: "tool", toolCallId: "c", content: "" }] },
    409,
    "turn_not_paused",
  ],
  [{ threadId: "t", runId: "r", messages: [user], tools: [{ name: "a b" }] }, 400, "bad_request"],
  [{ threadId: "t", runId: "r", messages: [user], tools: [{ name: "read" }] }, 400, "bad_client_tools"],
  [
    { threadId: "t", runId: "r", messages: [user], tools: [{ name: "a", parameters: { type: "string" } }] },
    400,
    "bad_request",
  ],
  [{ threadId: "t", runId: "r", messages: [user], context: [{ value: "x" }] }, 400, "bad_request"],
  [
    { threadId: "t", runId: "r", messages: [user], resume: [{ interruptId: "x", status: "maybe" }] },
    400,
    "bad_request",
  ],
  [
    { threadId: "t", runId: "r", messages: [user], resume: [{ interruptId: "x", status: "resolved" }] },
    404,
    "call_not_found",
  ],
];

Deno.test("/agui refuses what is no run before it begins one, with a code and a field", async () => {
  const { app, log } = rig(() => ({ text: "Hello." }));
  const post = (body: unknown, path = "/agui") =>
    app.request(path, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) });
  for (const [body, status, code] of BAD) {
    const response = await post(body);
    const problem = await response.json();
    assert.deepEqual([response.status, problem.code], [status, code], JSON.stringify(body));
    assert.ok(problem.detail.length < 500);
  }
  const run = { threadId: "t", runId: "r", messages: [user] };
  assert.equal((await (await post(run, "/agui?agent=none")).json()).code, "unknown_agent");
  const big = await post({ ...run, state: "x".repeat(9 * 1024 * 1024) });
  assert.deepEqual([big.status, (await big.json()).code], [413, "body_too_large"]);
  assert.equal((await app.request("/agui")).status, 405);
  assert.deepEqual(await log("t"), []);
});

Deno.test("/agui refuses a decision that is none, and the call waits on", async () => {
  ran.length = 0;
  const { client } = rig(replies(calls("wipe", { disk: "sda" }), { text: "So be it." }));
  const one = client();
  const end = await one.run("Wipe it.");
  const [{ id }] = end.outcome.interrupts;
  for (const payload of [undefined, "yes", { approved: "yes" }]) {
    const answer = () => one.run(null, { resume: [{ interruptId: id, status: "resolved", payload }] });
    // The client reports a failure on the console, and throws it.
    await reporting(() => assert.rejects(answer, { status: 400 }));
  }
  assert.deepEqual(ran, []);
  await one.run(null, { resume: [{ interruptId: id, status: "resolved", payload: true }] });
  assert.deepEqual(ran, ["sda"]);
});
