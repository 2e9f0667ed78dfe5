/** Bodies: their size, their encoding, their shape, and what is said of those that do not fit. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { type Json, user } from "../support/chat.ts";
import { app, model, post, refused, send } from "../support/transcript_routes.ts";

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

Deno.test("a body whose length nobody has told is read, up to the limit", async () => {
  const sent = async (size: number) => {
    const body = new Response("x".repeat(size)).body;
    const response = await app.request("/v1/check", { method: "POST", body });
    return (await response.json()).code;
  };
  equal(await sent(16 * 1024 * 1024), "bad_json");
  equal(await sent(16 * 1024 * 1024 + 1), "body_too_large");
});

Deno.test("an upload that breaks off is no fault of the service: nothing is logged", async () => {
  const logged: unknown[] = [];
  const { error } = console;
  console.error = (...words: unknown[]) => logged.push(...words);
  const codes: (string | undefined)[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request, info) => {
    const response = await app.fetch(request, info);
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

Deno.test("a value that is too long or too short is told with its length, and the length in words", async () => {
  const cases: readonly [route: string, body: Json, detail: string][] = [
    [
      "chat/completions",
      { model: "", messages: [user("x")] },
      'model: found \\"\\", wanted at least 1 character',
    ],
    [
      "chat/completions",
      { model: "default", messages: Array(20_001).fill(user("x")) },
      "messages: found a list of 20001, wanted at most 20000 of them",
    ],
  ];
  for (const [route, body, detail] of cases) {
    const { text } = await send(route, body);
    ok(text.includes(`Cannot use the body: ${detail}"`), text);
  }
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
