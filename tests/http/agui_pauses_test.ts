/** `/agui`: runs that wait for the frontend's tools or for a person, and how they go on. */
import assert from "node:assert/strict";
import type { AguiClient, AguiEvent } from "../support/agui_client.ts";
import { askColor, outline, rig } from "../support/agui_rig.ts";
import { assertLog, calls, prose, replies, reporting } from "../support/turns.ts";

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
  const { client, log, asked, ran } = rig(replies(
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
    const { client, log, ran } = rig(replies(calls("wipe", { disk: "sda" }), { text: "So be it." }));
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
  const { client, log, ran } = rig(
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

Deno.test("/agui refuses a decision that is none, and the call waits on", async () => {
  const { client, ran } = rig(replies(calls("wipe", { disk: "sda" }), { text: "So be it." }));
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
