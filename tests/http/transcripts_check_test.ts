/** `POST /v1/check`. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { call, type Json, result, said, user } from "../support/chat.ts";
import { post, refused, send } from "../support/transcript_routes.ts";

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

Deno.test("README shows what POST /v1/check really answers", async () => {
  const readme = await Deno.readTextFile("README.md");
  const curl = readme.match(/^ {4}curl http:\/\/127\.0\.0\.1:8000\/v1\/check -d '(.*)'\n\n {4}(.*)$/m);
  ok(curl !== null, "the README has the example");
  equal((await send("check", curl[1])).text, curl[2]);
});
