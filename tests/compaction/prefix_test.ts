import { deepEqual, equal, notEqual } from "node:assert/strict";
import { Context, EMPTY_VIEW } from "../../src/compaction/context.ts";
import { prefixLog, prefixName } from "../../src/compaction/prefix.ts";
import type { AssistantEntry, Entry, ResultEntry, UserEntry } from "../../src/ports.ts";
import { boundTokens } from "../../src/tokens/measure.ts";

const base = { turn: "t", at: 0, step: 1 };
const user = (seq: number): UserEntry => ({
  kind: "user",
  seq,
  ...base,
  message: { role: "user", content: "Go." },
});
const result = (seq: number): ResultEntry => ({
  kind: "result",
  seq,
  ...base,
  call: `e${seq - 1}.0`,
  toolName: "read",
  status: "ok",
  output: { type: "text", value: "done" },
  ms: 0,
});
/** An answer with signed reasoning and one call, made under a prefix. */
const answer = (seq: number, prefix?: string, isSigned = true): AssistantEntry => ({
  kind: "assistant",
  seq,
  ...base,
  message: {
    role: "assistant",
    content: [
      {
        type: "reasoning",
        text: `thought ${seq}`,
        ...(isSigned ? { providerOptions: { anthropic: { signature: `s${seq}` } } } : {}),
      },
      { type: "tool-call", toolCallId: "x", toolName: "read", input: {} },
    ],
  },
  reason: "tool-calls",
  model: "m",
  ...(prefix === undefined ? {} : { prefix }),
});
const stale = (entries: readonly Entry[], prefix = "p.1"): number[] => [...prefixLog(entries, prefix).stale];

Deno.test("prefixLog() keeps reasoning under its own prefix, unsigned reasoning, and what has no prefix", () => {
  const next = user(9);
  deepEqual(stale([user(0), answer(1, "p.1"), result(2), answer(3, "p.1"), result(4), next]), []);
  deepEqual(
    stale([user(0), answer(1, "p.0", false), result(2), answer(3, "p.0", false), result(4), next]),
    [],
  );
  deepEqual(stale([user(0), answer(1), result(2), answer(3), result(4), next]), []);
});

Deno.test("prefixLog() leaves the turn that is being answered as it is, and drops completed ones of another prefix", () => {
  const turn = [user(0), answer(1, "p.0"), result(2), answer(3, "p.0"), result(4)];
  deepEqual(stale(turn), []);
  deepEqual(stale([...turn, user(5)]), [1, 3]);
  // What was signed over reasoning that is left out now was signed over another prefix.
  const grown = [...turn, answer(5, "p.1"), result(6), user(7)];
  deepEqual(stale(grown), [1, 3, 5]);
  deepEqual(prefixLog(grown, "p.1").prefix, "p.1-3-5");
});

Deno.test("prefixLog() leaves nothing out from one turn to the next that was there, once it has been left out", () => {
  const log: Entry[] = [user(0), answer(1, "p.0"), result(2), answer(3, "p.1"), result(4)];
  for (let turn = 0; turn < 5; turn++) {
    log.push(user(log.length));
    for (let step = 0; step < 2; step++) {
      const { stale, prefix } = prefixLog(log, "p.1");
      deepEqual([...stale], [1, 3]);
      log.push(answer(log.length, prefix), result(log.length + 1));
    }
  }
});

Deno.test("prefixName() is another one for another system text, tool or model, and no other", () => {
  const tool = { name: "read", description: "Reads", inputSchema: {} };
  const model = { id: "m", dialect: "anthropic" } as const;
  const request = { system: "Be careful.", tools: [tool], model };
  const name = prefixName(request);
  equal(prefixName({ ...request, tools: [{ ...tool }] }), name);
  notEqual(prefixName({ ...request, system: "" }), name);
  notEqual(prefixName({ ...request, model: { ...model, id: "n" } }), name);
  notEqual(prefixName({ ...request, model: { ...model, dialect: "ai-sdk" } }), name);
  notEqual(prefixName({ ...request, tools: [{ ...tool, description: "" }] }), name);
});

Deno.test("Context.messages() leaves stale signed reasoning out from the next view on, and the rest is the same object", async () => {
  const log: Entry[] = [
    user(0),
    answer(1, "p.0"),
    result(2),
    answer(3, "p.0"),
    result(4),
    user(5),
    answer(6, "p.0"),
    result(7),
  ];
  const context = await Context.create(log, { view: null, loadMeasure: () => Promise.resolve(boundTokens) });
  const reasoning = (prefix?: string): string[] =>
    context.messages(prefix).flatMap(({ role, content }) =>
      role !== "assistant" || typeof content === "string"
        ? []
        : content.flatMap((part) => part.type === "reasoning" ? [part.text] : [])
    );
  deepEqual(reasoning("p"), ["thought 1", "thought 3", "thought 6"]);
  deepEqual(reasoning("q"), ["thought 6"]);
  await context.apply({ ...EMPTY_VIEW, version: 1, cut: 3 });
  deepEqual(reasoning("p"), ["thought 6"]);
  equal(context.prefixOf("p"), "p.1-1-3");
  deepEqual(reasoning(), ["thought 3", "thought 6"]);
  const [first, second] = [context.messages("p"), context.messages("p")];
  deepEqual(first.map((message, at) => message === second[at]), first.map(() => true));
});
