/** What is deep, long, or named like something else. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { shortHash } from "../../src/compaction/digest.ts";
import { LEDGER_HEADER } from "../../src/compaction/ledger.ts";
import { call, type Json, result, rounds, said, user } from "../support/chat.ts";
import { processorMs } from "../support/processor.ts";
import { post, refused, send } from "../support/transcript_routes.ts";

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
  equal((await post("compact", `{"budget":1500,"messages":${messages}}`)).outcome, "applied");
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
  equal(done.outcome, "applied");
  equal(done.ledger[0].tool, "constructor");
  equal(({} as Json).polluted, undefined);
});

Deno.test("100,000 messages are checked, repaired and compacted in time that grows with their number", async () => {
  const time = (route: string, body: Json) => processorMs(() => post(route, body));
  const [few, many] = [rounds(5_000, 3), rounds(50_000, 3)];
  for (const [route, more] of [["check", {}], ["repair", {}], ["compact", { budget: 20_000 }]] as const) {
    // Ten times as many: quadratic work would take a hundred times as long.
    await time(route, { messages: few, ...more });
    const ratio = await time(route, { messages: many, ...more }) /
      await time(route, { messages: few, ...more });
    ok(ratio < 50, `${route} took ${ratio} times as long`);
  }
});

Deno.test("a long text that claims to be a ledger is read as fast as any other, whatever is in it", async () => {
  const time = async (text: string): Promise<number> => {
    const messages = [user(text), ...Array.from({ length: 30 }, (_, n) => user(`${n} word `.repeat(100)))];
    const start = performance.now();
    equal((await post("compact", { messages, budget: 2_000 })).outcome, "applied");
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

/** Characters that are parsed while something is done. */
async function parsed(work: () => Promise<void>): Promise<number> {
  const { parse } = JSON;
  let sum = 0;
  JSON.parse = (text: string, ...rest) => {
    sum += text.length;
    return parse(text, ...rest);
  };
  try {
    await work();
  } finally {
    JSON.parse = parse;
  }
  return sum;
}

Deno.test("a body of nothing but brackets is refused before it is parsed, by every route that takes one", async () => {
  const levels = 500_000;
  const brackets = "[".repeat(levels) + "]".repeat(levels);
  const first = '{"role":"user","content":"x"}';
  const use = JSON.stringify(call("a", brackets));
  for (const route of ["check", "repair", "compact"]) {
    const end = route === "compact" ? ',"budget":9}' : "}";
    const bodies: readonly { body: string; at?: number; field?: string; code?: string }[] = [
      {
        body: `{"messages":[${first},{"role":"user","content":${brackets}}]${end}`,
        at: 1,
        field: "content[0][0]",
      },
      {
        body: `{"messages":[${first},${use}]${end}`,
        at: 1,
        field: "tool_calls[0].function.arguments[0][0][0]",
      },
      { body: `[${first},{"role":"user","content":${brackets}}]`, at: 1, field: "content[0][0]" },
      { body: `{"tools":${brackets},"messages":[${first}]${end}`, code: "bad_json" },
      { body: brackets, at: 0, code: "bad_message" },
    ];
    for (const { body, at, field, code = "bad_message" } of bodies) {
      // The text of arguments is parsed with the body that it stands in.
      const isText = field?.startsWith("tool_calls") === true;
      const sum = await parsed(async () => {
        const problem = await refused(route, body);
        equal(problem.code, code, problem.detail);
        match(problem.detail, /nested more than \d+ levels deep/);
        equal(problem.at, at);
        if (field !== undefined) equal(problem.field, field);
      });
      ok(sum < (isText ? 1.2 * body.length : 50_000), `${sum} of ${body.length} characters were parsed`);
    }
  }
  const short = brackets.slice(levels - 20_000, levels + 20_000);
  for (const route of ["turns", "turns/t/results", "turns/t/messages", "chat/completions"]) {
    ok(await parsed(async () => equal((await send(route, short)).status, 400)) < 25_000);
  }
});

Deno.test("a body of more values than a transcript has is refused before it is parsed, by every route that takes one", async () => {
  const many = (item: string, count: number): string => `[${Array(count).fill(item).join()}]`;
  const wide: readonly string[] = [
    many("[]", 500_001),
    many("{}", 500_001),
    many("0", 1_000_001),
    many('""', 1_000_001),
    many('{"role":"user","x":""}', 333_334),
    // What is too deep as well is refused for its width: it is parsed up to there otherwise.
    `${many("[]", 500_001).slice(0, -1)},${"[".repeat(20_000)}`,
  ];
  for (const list of wide) {
    for (
      const [route, body] of [
        ["check", `{"messages":${list}}`],
        ["repair", list],
        ["compact", `{"budget":9,"messages":[{"role":"user","content":"x"}],"tools":${list}}`],
        ["chat/completions", `{"model":"default","messages":${list}}`],
      ] as const
    ) {
      let text = "";
      const sum = await parsed(async () => {
        const { status, text: told } = await send(route, body);
        equal(status, 413, told.slice(0, 300));
        text = told;
      });
      equal(sum, 0);
      match(text, /found \d+ commas and opening brackets in its JSON, wanted at most 1000000/);
      match(text, /body_too_large/);
    }
  }
});

Deno.test("arguments that come as text count with the values of their body, wherever a call has them", async () => {
  const half = `[${Array(250_001).fill("[]").join()}]`;
  const calls: readonly Json[][] = [
    [1, 2].map((n) => call(`c${n}`, half)),
    [{ type: "function_call", call_id: "a", name: "x", arguments: half }],
    [{ role: "assistant", content: [{ type: "tool_use", id: "a", name: "x", input: half }] }],
    [{ role: "model", parts: [{ functionCall: { name: "x", args: half } }] }],
  ].map((list) => list.length > 1 ? list : [...list, ...list]);
  for (const messages of calls) {
    // What is parsed is the body alone, with the arguments as the texts that they are.
    const body = JSON.stringify({ messages: [user("x"), ...messages] });
    const sum = await parsed(async () => equal((await refused("check", body)).code, "body_too_large"));
    ok(sum < body.length + 1_000, `${sum} characters were parsed`);
  }
  // A text in another place is a text.
  const told = { messages: [user(half), said(half), user(half)] };
  equal((await post("check", told)).valid, true);
  equal((await post("check", { messages: [user("x"), call("a", half), result("a", "?")] })).valid, false);
});

Deno.test("arguments of brackets without end are arguments that were cut off", async () => {
  const cut = [user("x"), call("a", "[".repeat(20_000)), result("a", "?"), user("y")];
  const { violations } = await post("check", { messages: cut });
  deepEqual(violations.map(({ code }: Json) => code), ["truncated_arguments"]);
});
