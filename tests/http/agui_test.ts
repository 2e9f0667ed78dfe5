/** `/agui`: runs as the official client sees them, and what it sends. */
import assert from "node:assert/strict";
import type { AguiEvent } from "../support/agui_client.ts";
import { outline, PNG, rig } from "../support/agui_rig.ts";
import { assertLog, calls, prose, replies, reporting, tool } from "../support/turns.ts";

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

Deno.test("/agui shows the model a picture by its link, whether its type is told or not", async () => {
  const { client, asked } = rig(() => ({ text: "Seen." }));
  const url = "https://example.org/a.png";
  const content = [
    { type: "text", text: "Look" },
    { type: "image", source: { type: "url", value: url } },
    { type: "image", source: { type: "url", value: `data:image/png;base64,${PNG}` } },
    { type: "document", source: { type: "data", value: PNG, mimeType: "text/plain;charset=utf-8" } },
  ];
  const one = client();
  one.agent.addMessage({ id: "p", role: "user", content: content as AguiEvent });
  await one.run(null);
  assert.deepEqual(asked[0].messages[0].content, [
    { type: "text", text: "Look" },
    { type: "file", mediaType: "image/*", data: url },
    { type: "file", mediaType: "image/png", data: `data:image/png;base64,${PNG}` },
    {
      type: "file",
      mediaType: "text/plain;charset=utf-8",
      data: `data:text/plain;charset=utf-8;base64,${PNG}`,
    },
  ]);
});

Deno.test("/agui tells a picture that a tool gave as a data URL without its head", async () => {
  const draw = tool(
    "draw",
    () => [{ type: "file", mediaType: "image/png", data: `data:image/png;base64,${PNG}` }],
  );
  const { client } = rig(replies(calls("draw", {})), { agent: { tools: [draw] } });
  const one = client();
  await one.run("Draw.");
  assert.deepEqual(one.of("TOOL_CALL_RESULT")[0].content, [
    { type: "image", source: { type: "data", value: PNG, mimeType: "image/png" } },
  ]);
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
