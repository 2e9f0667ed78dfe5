/** What the clerk does in each situation. Over 300 lines: each is a conversation written out. */
import assert from "node:assert/strict";
import { type LedgerLine, renderLedger } from "../../src/compaction/ledger.ts";
import type { Message, ToolCallPart, ToolResultPart } from "../../src/core/message.ts";
import { clerk } from "../../src/models/clerk.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import type { Tool } from "../../src/ports.ts";
import { workspaceTools } from "../../src/tools/workspace.ts";

interface Pair {
  readonly name: string;
  readonly input: unknown;
  readonly status: "ok" | "error";
  readonly text: string;
}

/** A loop in a few lines: runs the calls of a reply, and may fold the oldest messages into a ledger before each step. */
class Loop {
  messages: Message[] = [];
  answer = "";
  calls: string[] = [];
  widest = 0;
  readonly tools: readonly Tool[];
  readonly session: string;
  #ids = 0;

  constructor(session = "s1", tools = workspaceTools({ sleep: () => Promise.resolve() })) {
    this.session = session;
    this.tools = tools;
  }

  async turn(
    input: string,
    options: { readonly before?: () => void; readonly most?: number } = {},
  ): Promise<void> {
    this.messages.push({ role: "user", content: input });
    await this.go(options);
  }

  async go({ before = () => {}, most = 400 }: { readonly before?: () => void; readonly most?: number } = {}) {
    for (let step = 0; step < most; step++) {
      before();
      const reply = clerk({ system: "", messages: this.messages, tools: this.tools, maxOutput: 1000 });
      if (reply.calls === undefined) {
        this.answer = reply.text ?? "";
        this.messages.push({ role: "assistant", content: this.answer });
        return;
      }
      await this.run(reply);
    }
  }

  async run(reply: ScriptedReply): Promise<void> {
    const parts: ToolCallPart[] = (reply.calls ?? []).map(({ name, input }) => ({
      type: "tool-call",
      toolCallId: `c${this.#ids++}`,
      toolName: name,
      input,
    }));
    this.widest = Math.max(this.widest, parts.length);
    const text = reply.text === undefined ? [] : [{ type: "text" as const, text: reply.text }];
    this.messages.push({ role: "assistant", content: [...text, ...parts] });
    const results: ToolResultPart[] = [];
    for (const { toolCallId, toolName, input } of parts) {
      this.calls.push(toolName);
      const tool = this.tools.find(({ name }) => name === toolName);
      const parsed = tool?.parse(input);
      assert.ok(tool !== undefined && parsed?.ok === true);
      const signal = new AbortController().signal;
      try {
        const value = await tool.execute?.(parsed.value, { signal, session: this.session, tenant: "local" });
        results.push({
          type: "tool-result",
          toolCallId,
          toolName,
          output: { type: "text", value: String(value) },
        });
      } catch (error) {
        assert.ok(error instanceof Error);
        const value = `${toolName} failed: ${error.message}`;
        results.push({ type: "tool-result", toolCallId, toolName, output: { type: "error-text", value } });
      }
    }
    this.messages.push({ role: "tool", content: results });
  }
}

/** Folds all but the last `keep` rounds into a ledger, keeping the task verbatim; `ranged` lines become one range. */
class Folder {
  #pairs: Pair[] = [];
  #folded = 0;

  constructor(readonly loop: Loop, readonly task: string) {}

  fold(keep: number, { single = 12, drop = -1 } = {}): void {
    const { loop } = this;
    const rounds = loop.messages.filter(({ role }) => role === "assistant").length - keep;
    const raw = loop.messages.filter((message) => message.role === "assistant" || message.role === "tool");
    for (let index = 0; index < rounds * 2; index += 2) {
      const [call, result] = [raw[index], raw[index + 1]];
      assert.ok(call?.role === "assistant" && result?.role === "tool" && typeof call.content !== "string");
      const calls = call.content.filter((part) => part.type === "tool-call");
      for (const [at, { toolName, input }] of calls.entries()) {
        const output = result.content[at]?.output;
        assert.ok(output?.type === "text" || output?.type === "error-text");
        const status = output.type === "text" ? "ok" : "error";
        this.#pairs.push({ name: toolName, input, status, text: output.value.slice(0, 80) });
      }
    }
    if (drop >= 0) this.#pairs.splice(drop, 1);
    this.#folded += rounds * 2;
    loop.messages = [
      { role: "user", content: renderLedger(this.#lines(single)) },
      { role: "user", content: this.task },
      ...raw.slice(rounds * 2),
    ];
  }

  #lines(single: number): LedgerLine[] {
    const cut = Math.max(0, this.#pairs.length - single);
    const calls: Record<string, Partial<Record<"ok" | "error", number>>> = {};
    for (const { name, status } of this.#pairs.slice(0, cut)) {
      const by = calls[name] ??= {};
      by[status] = (by[status] ?? 0) + 1;
    }
    const lines: LedgerLine[] = cut === 0
      ? []
      : [{ kind: "range", seq: 1, to: cut, calls, users: 0, answers: 0 }];
    for (const [index, { name, input, status, text }] of this.#pairs.slice(cut).entries()) {
      const seq = cut + index + 1;
      const args = JSON.stringify(input);
      lines.push({ kind: "pair", seq, ref: `e${seq}.0`, tool: name, args, status, digest: text });
    }
    return lines;
  }
}

const allTools = workspaceTools();

function ask(messages: readonly Message[], tools: readonly Tool[] = allTools): ScriptedReply {
  return clerk({ system: "", messages, tools, maxOutput: 1000 });
}

function textOf(reply: ScriptedReply): string {
  return reply.text ?? "";
}

Deno.test("clerk() audits all 36 units in 180 calls and reads the archive in one step half-way", async () => {
  const loop = new Loop();
  await loop.turn("Audit the workspace");
  assert.match(
    loop.answer,
    /^Audit finished: 36 of 36 units sealed\. .* 0 in the ledger of earlier work, 36 in/,
  );
  assert.equal(loop.calls.length, 180 + 8);
  assert.equal(loop.widest, 8);
  assert.equal(loop.calls.slice(90, 98).join(), Array(8).fill("read_file").join());
});

Deno.test("clerk() audits as many units as the task says, and goes on from there", async () => {
  const loop = new Loop();
  await loop.turn("Please audit 3 units");
  assert.match(loop.answer, /^Audit finished: 3 of 3 units sealed/);
  assert.equal(loop.calls.length, 15);
  await loop.turn("audit 3 units");
  assert.match(loop.answer, /^Audit finished: 3 of 3 .* All of them were sealed before this request\.$/);
  await loop.turn("audit the first 4");
  assert.match(loop.answer, /^Audit finished: 4 of 4 units sealed/);
  assert.equal(loop.calls.length, 20);
});

Deno.test.each([1, 2, 3, 4, 5, 7, 11])(
  "clerk() seals every unit once when all but %d rounds are folded into a ledger again and again",
  async (keep) => {
    const loop = new Loop();
    const folder = new Folder(loop, "Audit the workspace");
    await loop.turn("Audit the workspace", {
      before() {
        if (loop.messages.length > keep * 2 + 16) folder.fold(keep, { single: keep * 2 });
      },
    });
    assert.match(loop.answer, /^Audit finished: 36 of 36 units sealed/);
    // What was folded away while it was needed is read again, and nothing else is done twice.
    for (const [name, times] of [["write_file", 36], ["run_check", 36], ["list_files", 36]] as const) {
      assert.equal(loop.calls.filter((call) => call === name).length, times, name);
    }
    assert.ok(loop.calls.length >= 188);
  },
);

Deno.test("clerk() goes on from the ledger alone", async () => {
  const loop = new Loop();
  const folder = new Folder(loop, "Audit the workspace");
  await loop.turn("Audit the workspace", { most: 23 });
  folder.fold(0);
  assert.deepEqual(ask(loop.messages).calls, [{ name: "list_files", input: { path: "units/04" } }]);
});

Deno.test("clerk() reads the archive after unit 17 unless a line of the ledger records that", () => {
  const range: LedgerLine = {
    ...{ kind: "range", seq: 1, to: 180, users: 0, answers: 0 },
    calls: { run_check: { ok: 18 }, read_file: { ok: 40 } },
  };
  const read: LedgerLine = {
    ...{ kind: "pair", seq: 181, ref: "e181.0", tool: "read_file", args: '{"path":"archive/00.md"}' },
    ...{ status: "ok", digest: "# Report" },
  };
  const task: Message = { role: "user", content: "audit" };
  const reply = ask([{ role: "user", content: renderLedger([range]) }, task]);
  assert.equal(reply.calls?.length, 8);
  const next = ask([{ role: "user", content: renderLedger([range, read]) }, task]);
  assert.deepEqual(next.calls, [{ name: "list_files", input: { path: "units/18" } }]);
});

Deno.test("clerk() finds the ledger in front of a task in one message, and in text parts", () => {
  const ledger = renderLedger([
    { kind: "range", seq: 1, to: 10, calls: { run_check: { ok: 2, error: 1 } }, users: 1, answers: 0 },
  ]);
  const wanted = [{ name: "list_files", input: { path: "units/02" } }];
  assert.deepEqual(ask([{ role: "user", content: `${ledger}\n\nAudit the workspace` }]).calls, wanted);
  const content = [{ type: "text" as const, text: ledger }, { type: "text" as const, text: "audit" }];
  assert.deepEqual(ask([{ role: "user", content }]).calls, wanted);
});

Deno.test("clerk() stops as derailed when the ledger lost a sealed unit", async () => {
  const loop = new Loop();
  const folder = new Folder(loop, "Audit the workspace");
  await loop.turn("Audit the workspace", {
    before() {
      // The fourteenth pair is a call within unit 02, the fifteenth its seal.
      if (loop.calls.length === 22) folder.fold(1, { drop: 14, single: 99 });
    },
  });
  assert.match(loop.answer, /^Derailed: found unit 03 sealed after 2 others, wanted unit 02\.$/);
});

Deno.test("clerk() stops as derailed when a seal is counted twice or was lost in a range", async () => {
  for (const ok of [3, 5]) {
    const loop = new Loop();
    await loop.turn("Audit the workspace", { most: 22 });
    const range: LedgerLine = {
      ...{ kind: "range", seq: 1, to: 40, users: 0, answers: 0 },
      calls: { run_check: { ok } },
    };
    loop.messages = [
      { role: "user", content: renderLedger([range]) },
      { role: "user", content: "Audit the workspace" },
      ...loop.messages.slice(-2),
    ];
    assert.match(
      textOf(ask(loop.messages)),
      /^Derailed: the last call is about unit 04, but .* that unit 0[35] is/,
    );
  }
});

Deno.test("clerk() stops as derailed when a seal is refused as already done", async () => {
  const tools = workspaceTools();
  await new Loop("s1", tools).turn("audit 1 unit");
  const again = new Loop("s1", tools);
  await again.turn("audit 1 unit");
  assert.match(
    again.answer,
    /^Derailed: the seal of unit 00 was refused: .*exit 2: unit 00 was already sealed\.$/,
  );
});

Deno.test("clerk() stops as derailed on a result without its call, and on a call without its result", async () => {
  const loop = new Loop();
  await loop.turn("Audit the workspace", { most: 3 });
  const orphan = loop.messages.toSpliced(3, 1);
  assert.match(textOf(ask(orphan)), /^Derailed: found a result of read_file for a call that is not there\.$/);
  const unanswered = loop.messages.toSpliced(4, 1);
  assert.match(textOf(ask(unanswered)), /^Derailed: found the call read_file .* without a result\.$/);
});

Deno.test("clerk() stops as derailed when results have changed places", async () => {
  const loop = new Loop();
  await loop.turn("audit the archive", { most: 1 });
  const last = loop.messages.at(-1);
  assert.ok(last?.role === "tool");
  const [first, second, ...rest] = last.content;
  assert.ok(first && second);
  const swapped = [{ ...first, output: second.output }, { ...second, output: first.output }, ...rest];
  const messages: Message[] = [...loop.messages.slice(0, -1), { role: "tool", content: swapped }];
  assert.match(textOf(ask(messages)), /^Derailed: the result of read_file .*archive\/00.md.* "# Report 2 of/);
});

Deno.test("clerk() pairs results by occurrence where ids repeat", async () => {
  const loop = new Loop();
  await loop.turn("Audit the workspace", { most: 12 });
  const same: Message[] = loop.messages.map((message) => {
    if (typeof message.content === "string") return message;
    const content = message.content.map((part) => "toolCallId" in part ? { ...part, toolCallId: "x" } : part);
    return { ...message, content } as Message;
  });
  assert.deepEqual(ask(same), ask(loop.messages));
});

Deno.test("clerk() reads a shortened source again, and stops when that does not help", async () => {
  const loop = new Loop();
  await loop.turn("Audit the workspace", { most: 3 });
  const last = loop.messages.at(-1);
  assert.ok(last?.role === "tool");
  const short = {
    ...last.content[0],
    output: {
      type: "text",
      value: "// units/00/limits.ts: 37 lines\n[900 of 1200 characters are left out here]",
    },
  } as ToolResultPart;
  loop.messages[loop.messages.length - 1] = { role: "tool", content: [short] };
  const reply = ask(loop.messages);
  assert.deepEqual(reply.calls, [{ name: "read_file", input: { path: "units/00/limits.ts" } }]);
  await loop.run(reply);
  assert.equal(ask(loop.messages).calls?.[0]?.name, "write_file");
  loop.messages[loop.messages.length - 1] = { role: "tool", content: [{ ...short, toolCallId: "c3" }] };
  assert.match(textOf(ask(loop.messages)), /^Stopped: read_file .* failed twice: the text is not whole$/);
});

Deno.test("clerk() repeats a call that was aborted, and writes again what a restart has lost", async () => {
  const loop = new Loop();
  await loop.turn("audit 1 unit", { most: 4 });
  const last = loop.messages.at(-1);
  assert.ok(last?.role === "tool" && last.content[0]);
  const aborted = { type: "error-text" as const, value: "Aborted: the call did not finish" };
  const result = { ...last.content[0], output: aborted };
  const messages: Message[] = [...loop.messages.slice(0, -1), { role: "tool", content: [result] }];
  assert.equal(ask(messages).calls?.[0]?.name, "write_file");

  const fresh = new Loop("another process");
  fresh.messages = loop.messages;
  await fresh.go();
  assert.match(fresh.answer, /^Audit finished: 1 of 1/);
  assert.deepEqual(fresh.calls, ["run_check", "read_file", "write_file", "run_check"]);
});

Deno.test("clerk() reads the archive at once when asked to audit it", async () => {
  const loop = new Loop();
  await loop.turn("Audit the archive, please");
  assert.match(loop.answer, /^Audit finished: 8 of 8 reports of the archive read \(Report 1 of 8: 1990; /);
  assert.equal(loop.calls.length, 8);
  assert.equal(loop.widest, 8);
});

Deno.test.each([
  ["list units/07", "list_files", { path: "units/07" }, "units/07: 3 entries"],
  ["List", "list_files", { path: "" }, ".: 3 entries"],
  ["please read `README.md`", "read_file", { path: "README.md" }, "# The mill"],
  ["search must be 64", "search", { query: "must be 64" }, '1 match of "must be 64"'],
  ["check unit 7", "run_check", { unit: "07" }, "run_check failed: exit 1: unit 07"],
  ["read nowhere.md", "read_file", { path: "nowhere.md" }, "read_file failed: Cannot read nowhere.md"],
])("clerk() answers %j with one call and its result", async (task, name, input, found) => {
  const loop = new Loop();
  await loop.turn(task);
  assert.deepEqual(loop.calls, [name]);
  assert.ok(loop.answer.startsWith(`${name} ${JSON.stringify(input)} answered:\n\n${found}`), loop.answer);
});

Deno.test("clerk() quotes the start of a long result", async () => {
  const loop = new Loop();
  await loop.turn("read archive/00.md");
  assert.match(loop.answer, /\n\[\d+ more characters\]$/);
});

Deno.test.each(["hello", "what is 2 + 2?", "read", "check it", ""])(
  "clerk() says what it is and can do when it gets %j",
  (task) => {
    const reply = ask([{ role: "user", content: task }]);
    assert.equal(reply.calls, undefined);
    assert.match(textOf(reply), /rule-based model.*audit the workspace.*SELVAGE_MODEL/);
  },
);

Deno.test("clerk() says which tools it misses", () => {
  const user = (content: string): Message => ({ role: "user", content });
  assert.match(
    textOf(ask([user("audit")], [])),
    /needs the tools list_files, .*run_check, and this agent has no tools\.$/,
  );
  const [list] = allTools;
  assert.ok(list);
  assert.match(
    textOf(ask([user("read a")], [list])),
    /needs the tools read_file, and this agent has only list_files\.$/,
  );
  assert.deepEqual(ask([user("list")], [list]).calls?.length, 1);
});

Deno.test("clerk() takes a note of the service for no new task", async () => {
  const loop = new Loop();
  await loop.turn("audit 2 units", { most: 3 });
  const before = ask(loop.messages);
  loop.messages.push({ role: "user", content: "[selvage: a late result of e3.0]\ntext" });
  assert.deepEqual(ask(loop.messages), before);
});

Deno.test("clerk() reads results in every shape that a message can give them", () => {
  const shapes: readonly [ToolResultPart["output"], string][] = [
    [{ type: "json", value: { lines: 3 } }, '{"lines":3}'],
    [{ type: "error-json", value: [1] }, "[1]"],
    [{ type: "execution-denied", reason: "not now" }, "not now"],
    [{ type: "execution-denied" }, "Execution was denied"],
    [{ type: "content", value: [{ type: "text", text: "a" }, { type: "text", text: "b" }] }, "a\nb"],
  ];
  for (const [output, text] of shapes) {
    const call: ToolCallPart = {
      type: "tool-call",
      toolCallId: "1",
      toolName: "list_files",
      input: { path: "" },
    };
    const reply = ask([
      { role: "system", content: "Be brief." },
      { role: "user", content: "list" },
      { role: "assistant", content: [call] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "1", toolName: "list_files", output }] },
    ]);
    assert.equal(reply.text, `list_files {"path":""} answered:\n\n${text}`);
  }
});

Deno.test("clerk() stops as derailed when the end of the ledger is missing", () => {
  const ledger = renderLedger([]).split("\n")[0] ?? "";
  const reply = ask([{ role: "user", content: `${ledger}\ne1..e9 4 calls` }, {
    role: "user",
    content: "audit",
  }]);
  assert.equal(reply.text, "Derailed: the ledger has no end.");
});

Deno.test("clerk() stops when a check fails again after a second fix, and when a call fails twice", async () => {
  const loop = new Loop();
  await loop.turn("audit 1 unit", { most: 5 });
  const [checked, result] = loop.messages.splice(-2);
  assert.ok(checked?.role === "assistant" && result?.role === "tool" && result.content[0]);
  const failing = (value: string): Message[] => [checked, {
    role: "tool",
    content: result.content.map((part) => ({ ...part, output: { type: "error-text", value } })),
  }];
  const one = [...loop.messages, ...failing("run_check failed: exit 1: unit 00: line 5 is wrong")];
  assert.deepEqual(ask(one).calls, [{ name: "read_file", input: { path: "units/00/limits.ts" } }]);
  assert.match(
    textOf(ask([...one, ...failing("exit 1: unit 00")])),
    /^Stopped: the check of unit 00 failed twice/,
  );
  const late = failing("run_check did not finish in 10 ms");
  assert.deepEqual(ask([...loop.messages, ...late]).calls, [{ name: "run_check", input: { unit: "00" } }]);
  assert.match(textOf(ask([...loop.messages, ...late, ...late])), /^Stopped: run_check .* failed twice: /);
});
