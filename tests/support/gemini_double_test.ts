import assert from "node:assert/strict";
import type { AnyDouble, StreamFault } from "./double_server.ts";
import { type GeminiDoubleOptions, startGeminiDouble } from "./gemini_double.ts";
import type { Json } from "./wire_json.ts";

const user = { role: "user", parts: [{ text: "hi" }] };
const base = { contents: [user] };

const called = (name = "get", more: Json = {}): Json => ({ functionCall: { name, args: {}, ...more } });
const answered = (name = "get", more: Json = {}): Json => ({
  functionResponse: { name, response: {}, ...more },
});
const says = (...parts: Json[]): Json => ({ role: "model", parts });
const asks = (...parts: Json[]): Json => ({ role: "user", parts });

function start(options: Partial<GeminiDoubleOptions> = {}): AnyDouble {
  return startGeminiDouble({ script: ({ messages }) => ({ text: `got ${messages.length}` }), ...options });
}

function post(
  double: AnyDouble,
  body: unknown,
  { action = "streamGenerateContent?alt=sse", key = "k" }: {
    readonly action?: string;
    readonly key?: string;
  } = {},
): Promise<Response> {
  return fetch(`${double.url}/models/m:${action}`, {
    method: "POST",
    headers: key === "" ? {} : { "x-goog-api-key": key },
    body: JSON.stringify(body),
  });
}

async function partsOf(response: Response): Promise<readonly Json[]> {
  const frames = (await response.text()).split("\r\n\r\n").filter((frame) => frame !== "");
  return frames.flatMap((frame) => JSON.parse(frame.slice(6)).candidates[0].content.parts);
}

const VIOLATIONS: readonly (readonly [string, Json, RegExp])[] = [
  ["no contents", { contents: [] }, /contents is not specified/],
  ["an unknown field", { messages: [] }, /Unknown name "messages"/],
  ["an unknown field of a part", { contents: [asks({ text: "x", cache: 1 })] }, /Unknown name "cache"/],
  ["an unknown setting", { generationConfig: { max: 1 } }, /Unknown name "max" at 'generation_config'/],
  ["settings that are none", { generationConfig: 1 }, /Invalid value at 'generation_config'/],
  ["a limit out of range", { generationConfig: { maxOutputTokens: 70_000 } }, /supported range is from 1/],
  ["a system text without parts", { systemInstruction: { parts: [] } }, /must not be empty/],
  ["an empty system text", { systemInstruction: { parts: [{ text: "" }] } }, /only text/],
  ["tools that are none", { tools: {} }, /Invalid value at 'tools'/],
  ["an empty tool", { tools: [{ functionDeclarations: [] }] }, /tool_type/],
  ["a bad name", { tools: [{ functionDeclarations: [{ name: "1 x" }] }] }, /Invalid function name/],
  ["two tools of a name", { tools: [{ functionDeclarations: [{ name: "a" }, { name: "a" }] }] }, /Duplicate/],
  ["a content that is none", { contents: [1] }, /Invalid value at 'contents\[0\]'/],
  ["another role", { contents: [{ role: "assistant", parts: [{ text: "x" }] }] }, /valid role/],
  ["no parts", { contents: [asks()] }, /parts: must not be empty/],
  ["a part of nothing", { contents: [asks({})] }, /one initialized field/],
  ["a part of two kinds", { contents: [asks({ text: "x", fileData: {} })] }, /one initialized field/],
  ["an empty text", { contents: [asks({ text: "" })] }, /must have a text parameter/],
  [
    "data that is no base64",
    { contents: [asks({ inlineData: { mimeType: "image/png", data: "?" } })] },
    /TYPE_BYTES/,
  ],
  [
    "a type that is none",
    { contents: [asks({ inlineData: { mimeType: "png", data: "AAAA" } })] },
    /MIME type/,
  ],
  ["a link that is none", { contents: [asks({ fileData: { fileUri: "x" } })] }, /file uri/],
  ["a call of the user's", { contents: [asks(called())] }, /is the model's/],
  ["a call without a name", { contents: [user, says(called(""))] }, /Name cannot be empty/],
  ["arguments that are no object", { contents: [user, says(called("get", { args: "{}" }))] }, /Struct/],
  ["a call first", { contents: [says(called()), asks(answered())] }, /immediately after a user turn/],
  ["an answer to nothing", { contents: [asks(answered())] }, /immediately after a function call turn/],
  [
    "too few answers",
    { contents: [user, says(called(), called()), asks(answered())] },
    /equal to the number/,
  ],
  ["no answer", { contents: [user, says(called()), user] }, /equal to the number/],
  [
    "an answer of another name",
    { contents: [user, says(called()), asks(answered("put"))] },
    /does not match/,
  ],
  [
    "an answer of another id",
    { contents: [user, says(called("get", { id: "a" })), asks(answered("get", { id: "b" }))] },
    /does not match/,
  ],
  ["an end with the model", { contents: [user, says({ text: "x" })] }, /end with a user role/],
  ["a signature that was not given", {
    contents: [user, says({ text: "x", thoughtSignature: "S" }), user],
  }, /Corrupted thought signature/],
];

Deno.test.each(VIOLATIONS)("startGeminiDouble() refuses %s", async (_, body, message) => {
  await using double = start();
  const response = await post(double, { ...base, ...body });
  assert.equal(response.status, 400);
  const { error } = await response.json();
  assert.deepEqual([error.code, error.status], [400, "INVALID_ARGUMENT"]);
  assert.match(error.message, message);
  assert.deepEqual(double.violations, [error.message]);
});

Deno.test("startGeminiDouble() refuses what is too long, other keys, other places and other forms", async () => {
  await using double = start({ window: 3, token: "k" });
  const long = await post(double, base);
  assert.match(await long.text(), /token count \(\d+\) exceeds the maximum number of tokens allowed \(3\)/);
  for (
    const [options, status] of [
      [{ key: "x" }, 400],
      [{ key: "" }, 403],
      [{ action: "countTokens" }, 404],
      [{ action: "streamGenerateContent" }, 400],
    ] as const
  ) {
    const response = await post(double, base, options);
    assert.equal(response.status, status);
    await response.body?.cancel();
  }
  const broken = await fetch(`${double.url}/models/m:generateContent`, {
    method: "POST",
    headers: { "x-goog-api-key": "k" },
    body: "{",
  });
  assert.match(await broken.text(), /Invalid JSON payload/);
});

Deno.test("startGeminiDouble() takes answers in any order, and signatures back as they were", async () => {
  await using double = start({
    signs: true,
    script: ({ messages, system, tools }) =>
      messages.length > 1 ? { text: `${system} ${tools.length} ${JSON.stringify(messages.slice(1))}` } : {
        reasoning: "hm hm",
        text: "So.",
        calls: [{ name: "get", input: { q: 1 } }, { name: "get", input: {} }],
      },
  });
  const parts = await partsOf(await post(double, base));
  assert.deepEqual(parts.map(({ text, thought }) => [text, thought]), [
    ["hm", true],
    [" hm", true],
    ["So.", undefined],
    [undefined, undefined],
    [undefined, undefined],
  ]);
  const [first, second] = parts.slice(3);
  assert.ok(first !== undefined && second !== undefined);
  assert.equal(first["thoughtSignature"], "sig/1==");
  const ids = [first, second].map(({ functionCall }) => (functionCall as Json)["id"]);
  const asked = {
    contents: [
      user,
      says({ text: "hm hm", thought: true }, first, second),
      asks(
        answered("get", { id: ids[1], response: { content: "b" } }),
        answered("get", { id: ids[0], response: { error: "a" } }),
        { inlineData: { mimeType: "image/png", data: "AAAA" } },
      ),
    ],
    systemInstruction: { parts: [{ text: "Be brief." }] },
    tools: [{ functionDeclarations: [{ name: "get" }] }],
  };
  const [answer] = await partsOf(
    await post(double, asked, { action: "generateContent" }).then(async (response) =>
      new Response(`data: ${await response.text()}\r\n\r\n`)
    ),
  );
  assert.match(String(answer?.["text"]), /^Be brief\. 1 .*"reasoning".*"error-text","value":"a".*"AAAA"/);
  const { thoughtSignature: _, ...unsigned } = first;
  const stripped = { contents: [user, says(unsigned, second), asks(answered(), answered())] };
  assert.match(await (await post(double, stripped)).text(), /missing a thought_signature/);
  const moved = { contents: [user, says({ text: "x", thoughtSignature: "sig/1==" }), user] };
  assert.match(await (await post(double, moved)).text(), /Corrupted thought signature/);
});

Deno.test.each<[StreamFault, RegExp]>([
  [{ garbageAfter: 1 }, /got"\}.*\{"candidates":\[\{\r\n/s],
  [{ errorFrameAfter: 1 }, /got"\}.*"INTERNAL"/s],
  [{ noDone: true }, /got"\}/],
  [{ status: 503, body: "busy" }, /^busy$/],
  [{ status: 500 }, /"fault"/],
])("startGeminiDouble() breaks an answer by %j", async (fault, wire) => {
  await using double = start({ faults: () => fault });
  assert.match(await (await post(double, base)).text(), wire);
});

Deno.test("startGeminiDouble() counts who leaves, and reports a script that throws", async () => {
  await using double = start({
    faults: (number) => number === 1 ? { hangAfter: 1 } : undefined,
    script: ({ messages }) => {
      if (messages.length > 1) throw new Error("lost");
      return { text: "one two" };
    },
  });
  const response = await post(double, base);
  assert.equal(double.open, 1);
  await response.body?.cancel();
  await double.untilLeft(1);
  assert.equal(double.open, 0);
  const failed = await post(double, { contents: [user, says({ text: "x" }), user] });
  assert.equal(failed.status, 500);
  await failed.body?.cancel();
  assert.match(double.violations.join(), /lost/);
  assert.equal(double.requests.length, 2);
});
