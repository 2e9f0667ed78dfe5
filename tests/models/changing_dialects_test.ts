/** A session whose model speaks another dialect from turn to turn: what one provider left is no fault at the next. */
import assert from "node:assert/strict";
import { callsOf } from "../../src/compaction/context.ts";
import { prefixName } from "../../src/compaction/prefix.ts";
import type { Entry, ModelRequest } from "../../src/ports.ts";
import type { AnyDouble } from "../support/double_server.ts";
import { contextOf, result, user } from "../support/entries.ts";
import { finishOf, outcomeOf } from "./_answers.ts";
import { type Dialect, DIALECTS } from "./_dialects.ts";
import { PNG } from "./_messages.ts";

const TOOLS = ["look", "web_search"].map((name) => ({
  name,
  description: `Does ${name}`,
  inputSchema: { type: "object", properties: {} },
}));

/** What providers leave beside texts and calls, in the form in which each double takes it. Ids are of one use. */
const OWN: Readonly<Record<string, (n: number) => Readonly<Record<string, unknown>>>> = {
  "anthropic()": (n) => ({
    blocks: [
      { type: "thinking", thinking: "Search first." },
      { type: "redacted_thinking", data: "Eo8=" },
      { type: "server_tool_use", id: `srvtoolu_${n}`, name: "web_search", input: { query: "é" } },
      {
        type: "web_search_tool_result",
        tool_use_id: `srvtoolu_${n}`,
        content: [{ type: "web_search_result", url: "https://x/y", title: "Y", encrypted_content: "Eo8=" }],
      },
      { type: "text", text: "It says yes." },
      { type: "tool_use", id: `toolu_${n}`, name: "look", input: { at: 1 } },
    ],
  }),
  "openaiResponses()": (n) => ({
    items: [
      { type: "reasoning", summary: [{ type: "summary_text", text: "Search." }] },
      { type: "web_search_call", status: "completed", action: { type: "search", query: "é" } },
      {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "It says yes.", annotations: [] }],
      },
      {
        type: "function_call",
        call_id: `call_${n}`,
        name: "look",
        arguments: '{"at":1}',
        status: "completed",
      },
    ],
  }),
};

/** A log that grows by turns, each with a file, reasoning, a call, and an image in its result. */
class Session {
  readonly entries: Entry[] = [];

  readonly #doubles = new Map<Dialect, AnyDouble>();

  async [Symbol.asyncDispose](): Promise<void> {
    for (const double of this.#doubles.values()) await double[Symbol.asyncDispose]();
  }

  /** One service for the whole session: only it can read back what it has signed. */
  #double(dialect: Dialect): AnyDouble {
    const known = this.#doubles.get(dialect);
    if (known !== undefined) return known;
    const double = dialect.start({
      script: ({ messages }) => {
        if (hasResultAtEnd(messages)) return { reasoning: "Enough.", text: "Seen." };
        const call = { name: "look", input: { at: 1 } };
        return OWN[dialect.name]?.(this.entries.length) ??
          { reasoning: "Look.", text: "I look.", calls: [call] };
      },
    });
    this.#doubles.set(dialect, double);
    return double;
  }

  async turn(dialect: Dialect): Promise<void> {
    const { name, model: make } = dialect;
    const double = this.#double(dialect);
    const model = await make({ baseURL: double.url, thinks: true });
    const prefix = prefixName({ system: "Help.", tools: TOOLS, model });
    const ask = async (): Promise<Entry> => {
      const context = await contextOf(this.entries);
      const asked: ModelRequest = {
        system: "Help.",
        tools: TOOLS,
        maxOutput: 2_000,
        messages: context.messages(prefix),
      };
      const { error, events } = await outcomeOf(model, { asked });
      assert.deepEqual(double.violations, [], `${name} after ${this.entries.length} entries`);
      assert.equal(error, undefined, `${name} after ${this.entries.length} entries`);
      const { message, reason } = finishOf(events);
      const seq = this.entries.length;
      const entry: Entry = {
        kind: "assistant",
        turn: "t",
        at: 0,
        seq,
        step: 1,
        message: JSON.parse(JSON.stringify(message)),
        reason,
        model: model.id,
        prefix: context.prefixOf(prefix),
      };
      this.entries.push(entry);
      return entry;
    };
    this.entries.push(user(this.entries.length, [
      { type: "text", text: "What is this?" },
      { type: "file", mediaType: "image/png", data: PNG },
    ]));
    const calls = callsOf(await ask());
    assert.deepEqual(calls.map(({ name }) => name), ["look"]);
    for (const { ref, name: toolName } of calls) {
      const output = {
        type: "content" as const,
        value: [{ type: "text" as const, text: "Here." }, {
          type: "file" as const,
          mediaType: "image/png",
          data: PNG,
        }],
      };
      this.entries.push(result(this.entries.length, ref, output, { toolName }));
    }
    assert.deepEqual(callsOf(await ask()), []);
  }
}

/** Whether the last message is the result: some doubles show it as one of the user's. */
function hasResultAtEnd(messages: ModelRequest["messages"]): boolean {
  return /Here\./.test(JSON.stringify(messages.at(-1)));
}

for (const from of DIALECTS) {
  Deno.test(`a session of ${from.name} goes on in every dialect, and comes back from each`, async () => {
    await using session = new Session();
    await session.turn(from);
    for (const to of DIALECTS) {
      await session.turn(to);
      await session.turn(from);
    }
  });
}
