/** `POST /v1/repair`, and that what nobody repairs comes back as it was. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { call, type Json, result, user } from "../support/chat.ts";
import { post, send } from "../support/transcript_routes.ts";

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
  equal(done.outcome, "applied");
  match(done.ledger[0].arguments, /1234567890123456789/);
});
