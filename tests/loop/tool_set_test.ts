import assert from "node:assert/strict";
import type * as six from "npm:ai@6.0.326";
import type * as seven from "npm:ai@7.0.173";
import * as z from "zod";
import { type AiSdkToolSet, ownTools } from "../../src/loop/tool_set.ts";
import type { Agent } from "../../src/loop/agent.ts";
import { createApp } from "../../src/http/app.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { VERSIONS } from "../ai_sdk/_versions.ts";
import { Bench, calls, endOf, eventsOf, replies } from "../support/turns.ts";

/** Runs one call of a tool of the AI SDK in a turn; gives what the model was shown. */
async function call(tools: AiSdkToolSet, input: Readonly<Record<string, unknown>> = { path: "a" }) {
  const bench = new Bench({
    script: replies(calls("read", input)),
    agent: { tools, recall: false } as Partial<Agent>,
  });
  const events = await bench.run("Read it.");
  const { entries } = await bench.state();
  const result = entries.find((entry) => entry.kind === "result");
  return { bench, events, result, requests: bench.requests };
}

const path = z.object({ path: z.string() });

Deno.test.each([...VERSIONS])(
  "an agent takes a tool set of version $version as it is",
  async ({ ai: load }) => {
    const ai = await load();
    const told: unknown[] = [];
    const tools = {
      read: ai.tool({
        description: "Reads a file",
        inputSchema: path,
        execute: (input: { readonly path: string }, options: Readonly<Record<string, unknown>>) => {
          told.push(options);
          return `contents of ${input.path}`;
        },
      }),
      list: ai.tool({
        description: "Lists",
        inputSchema: ai.jsonSchema({ type: "object", properties: { dir: { type: "string" } } }),
      }),
    } as AiSdkToolSet;
    const { result, requests, events } = await call(tools);
    assert.deepEqual(result?.output, { type: "text", value: "contents of a" });
    const [options] = told as [Readonly<Record<string, unknown>>];
    assert.equal(options["toolCallId"], "e1_0");
    assert.deepEqual(options["messages"], [{ role: "user", content: "Read it." }]);
    assert.ok(options["abortSignal"] instanceof AbortSignal);
    assert.equal(endOf(events), "stop");
    assert.deepEqual(
      requests[0]?.tools.map(({ name, description, inputSchema }) => [
        name,
        description,
        Object.keys(inputSchema["properties"] as object),
      ]),
      [["read", "Reads a file", ["path"]], ["list", "Lists", ["dir"]]],
    );
  },
);

const outputs: readonly { readonly what: string; readonly tool: object; readonly wanted: unknown }[] = [
  {
    what: "JSON",
    tool: { execute: () => ({ lines: 3 }) },
    wanted: { type: "json", value: { lines: 3 } },
  },
  {
    what: "the last of what it yields",
    tool: {
      async *execute() {
        yield "reading";
        await Promise.resolve();
        yield "read";
      },
    },
    wanted: { type: "text", value: "read" },
  },
  {
    what: "what its model is to be shown",
    tool: {
      execute: () => "AQI=",
      toModelOutput: ({ output, toolCallId, input }: Readonly<Record<string, unknown>>) => ({
        type: "content",
        value: [
          { type: "text", text: `${toolCallId} ${JSON.stringify(input)}` },
          { type: "media", data: output, mediaType: "image/png" },
        ],
      }),
    },
    wanted: {
      type: "content",
      value: [
        { type: "text", text: 'e1_0 {"path":"a"}' },
        { type: "file", mediaType: "image/png", data: "AQI=" },
      ],
    },
  },
  {
    what: "an error that it shows the model",
    tool: { execute: () => 1, toModelOutput: () => ({ type: "error-text", value: "no such file" }) },
    wanted: { type: "error-text", value: "read failed: no such file" },
  },
  {
    what: "an error that it throws",
    tool: { execute: () => Promise.reject(new Error("no disk")) },
    wanted: { type: "error-text", value: "read failed: no disk" },
  },
];

Deno.test.each(outputs)("a tool of the AI SDK gives $what", async ({ tool, wanted }) => {
  const { result } = await call({ read: { inputSchema: path, ...tool } });
  assert.deepEqual(result?.output, wanted);
});

Deno.test("a tool of the AI SDK works on what its schema makes of the input, or not at all", async () => {
  const inputs: unknown[] = [];
  const inputSchema = z.object({
    path: z.string().transform((text) => text.toUpperCase()),
    depth: z.number().default(1),
  });
  const read = { inputSchema, execute: (input: unknown) => void inputs.push(input) };
  await call({ read });
  const { result } = await call({ read }, { path: 7 });
  assert.deepEqual(inputs, [{ path: "A", depth: 1 }]);
  assert.match(JSON.stringify(result?.output), /its input is invalid: path: /);
});

Deno.test("a tool of the AI SDK whose check takes its time is checked before it runs", async () => {
  const inputSchema = z.object({
    path: z.string().refine((text) => Promise.resolve(text !== "a"), "is taken"),
  });
  let runs = 0;
  const { result } = await call({ read: { inputSchema, execute: () => runs++ } });
  assert.match(JSON.stringify(result?.output), /path: is taken/);
  assert.equal(runs, 0);
});

Deno.test("a tool of the AI SDK without execute waits for the client, one with needsApproval for a person", async () => {
  const client = await call({ read: { inputSchema: path } });
  assert.deepEqual(eventsOf(client.events, "turn.paused").map(({ reason }) => reason), ["tool"]);
  const asked: unknown[] = [];
  const needsApproval = (input: unknown, options: { readonly toolCallId: string }) => {
    asked.push([input, options.toolCallId]);
    return Promise.resolve(true);
  };
  const person = await call({ read: { inputSchema: path, needsApproval, execute: () => "read" } });
  assert.deepEqual(eventsOf(person.events, "turn.paused").map(({ reason }) => reason), ["approval"]);
  assert.deepEqual(asked, [[{ path: "a" }, "e1_0"]]);
});

Deno.test("a tool of the AI SDK tells what it yields as progress", async () => {
  const { events } = await call({
    read: {
      inputSchema: path,
      async *execute() {
        yield { read: 1 };
        await Promise.resolve();
        yield { read: 2 };
      },
    },
  });
  assert.deepEqual(eventsOf(events, "tool.progress").map(({ data }) => data), [{ read: 1 }, { read: 2 }]);
});

const refused: readonly { readonly what: string; readonly tools: AiSdkToolSet; readonly message: RegExp }[] =
  [
    {
      what: "that its provider runs",
      tools: { search: { type: "provider", inputSchema: path } },
      message: /Cannot use the tool search: found a tool that its provider defines.*providerTools/,
    },
    {
      what: "with a schema that says nothing of itself",
      tools: { read: { inputSchema: { "~standard": { vendor: "v", validate: () => ({}) } } } },
      message: /Cannot use the tool read: found an input schema without a JSON Schema, wanted zod 4/,
    },
    {
      what: "with no schema but a word",
      tools: { read: { inputSchema: "path" } },
      message: /found the input schema "path"/,
    },
    {
      what: "with an impossible name",
      tools: { "a b": { inputSchema: path } },
      message: /Cannot use the tool a b/,
    },
  ];

Deno.test.each(refused)(
  "a tool of the AI SDK $what is refused when the app is made",
  ({ tools, message }) => {
    assert.throws(() => ownTools(tools), message);
    const model = scripted({ script: () => ({ text: "" }) });
    assert.throws(() => createApp({ agents: { default: { model, tools } }, store: memoryStore() }), message);
  },
);

Deno.test("tool sets of versions 6 and 7 fit an agent, by type", () => {
  const take = (tools: NonNullable<Agent["tools"]>): unknown => tools;
  assert.ok(take({} as six.ToolSet) && take({} as seven.ToolSet));
});
