import assert from "node:assert/strict";
import fc from "fast-check";
import { type ForeignMessage, importMessages } from "../../src/compaction/import.ts";
import { callsOf } from "../../src/compaction/context.ts";
import { ledgerLines } from "../../src/compaction/ledger.ts";
import { checkTranscript } from "../../src/core/mod.ts";
import type { Entry } from "../../src/ports.ts";
import { brokenOf, wholeOf } from "../property/_transcripts.ts";
import { contextOf, session } from "../support/entries.ts";
import { requestProblems } from "../support/requests.ts";
import { runs } from "../support/runs.ts";

const ask: ForeignMessage = { role: "user", content: "Read both." };
const call = (id: string, path = id) => ({
  type: "tool-call",
  toolCallId: id,
  toolName: "read",
  input: { path },
});
const text = (value: string) => ({ type: "text", value });
const answer = (id: string, output: unknown = text(`text of ${id}`)) => ({
  type: "tool-result",
  toolCallId: id,
  toolName: "read",
  output,
});
const calls = (...ids: readonly string[]): ForeignMessage => ({
  role: "assistant",
  content: ids.map((id) => call(id)),
});
const results = (...ids: readonly string[]): ForeignMessage => ({
  role: "tool",
  content: ids.map((id) => answer(id)),
});

/** An entry in a word: results with the call that they answer. */
function brief(entry: Entry): string {
  return entry.kind === "result" ? `${entry.call} ${entry.status}` : entry.kind;
}

const briefs: readonly {
  readonly what: string;
  readonly messages: readonly ForeignMessage[];
  readonly wanted: readonly string[];
}[] = [
  { what: "nothing", messages: [], wanted: [] },
  {
    what: "a round of parallel calls",
    messages: [ask, calls("a", "b"), results("a", "b")],
    wanted: ["user", "assistant", "e1.0 ok", "e1.1 ok"],
  },
  {
    what: "results that landed in another order, in messages of their own",
    messages: [ask, calls("a", "b"), results("b"), results("a")],
    wanted: ["user", "assistant", "e1.1 ok", "e1.0 ok"],
  },
  {
    what: "an id that comes again in the next round",
    messages: [ask, calls("a"), results("a"), calls("a"), results("a")],
    wanted: ["user", "assistant", "e1.0 ok", "assistant", "e3.0 ok"],
  },
  {
    what: "two calls of one id in one message",
    messages: [ask, calls("a", "a"), results("a", "a")],
    wanted: ["user", "assistant", "e1.0 ok", "e1.1 ok"],
  },
  {
    what: "calls at the very end",
    messages: [ask, calls("a", "b"), results("a")],
    wanted: ["user", "assistant", "e1.0 ok"],
  },
  {
    what: "calls that nobody answered before the user went on",
    messages: [ask, calls("a", "b"), results("a"), ask],
    wanted: ["user", "assistant", "e1.0 ok", "e1.1 aborted", "user"],
  },
  {
    what: "a result without its call",
    messages: [ask, results("a"), ask],
    wanted: ["user", "user", "user"],
  },
  {
    what: "failures",
    messages: [ask, calls("a", "b"), {
      role: "tool",
      content: [
        answer("a", { type: "error-text", value: "no such file" }),
        answer("b", { type: "execution-denied", reason: "not now" }),
      ],
    }],
    wanted: ["user", "assistant", "e1.0 error", "e1.1 error"],
  },
  {
    what: "a call that the provider has run itself",
    messages: [ask, {
      role: "assistant",
      content: [
        { ...call("w"), providerExecuted: true },
        answer("w"),
        call("a"),
      ],
    }, results("a")],
    wanted: ["user", "assistant", "e1.0 ok"],
  },
  {
    what: "system text in the middle",
    messages: [{ role: "system", content: "Be brief." }, ask, { role: "system", content: "Now in French." }],
    wanted: ["user", "user"],
  },
  {
    what: "system text between a call and its result",
    messages: [ask, calls("a"), { role: "system", content: "Be brief." }, results("a")],
    wanted: ["user", "assistant", "e1.0 ok", "user"],
  },
  {
    what: "system text behind a call that is open",
    messages: [ask, calls("a"), { role: "system", content: "Be brief." }],
    wanted: ["user", "assistant"],
  },
  {
    what: "a message that says nothing",
    messages: [{ role: "user", content: [] }, { role: "user", content: " " }],
    wanted: ["user", "user"],
  },
];

Deno.test.each(briefs)("importMessages() makes a log of $what", async ({ messages, wanted }) => {
  const imported = importMessages(messages);
  assert.deepEqual(imported.entries.map(brief), wanted);
  assert.deepEqual(imported.entries.map(({ seq }) => seq), wanted.map((_, seq) => seq));
  assert.equal(imported.places.length, imported.entries.length);
  assert.deepEqual(checkTranscript(await (await contextOf(imported.entries)).transcript()), []);
});

Deno.test("importMessages() takes system messages in front as system text, joined", () => {
  const imported = importMessages([
    { role: "system", content: "Be brief." },
    { role: "system", content: "Be kind." },
    ask,
  ]);
  assert.equal(imported.system, "Be brief.\n\nBe kind.");
  assert.deepEqual(imported.places, [{ message: 2, part: null }]);
});

Deno.test("importMessages() gives what is whole as the object that came in, and says where each entry stands", () => {
  const bytes = Uint8Array.from([137, 80, 78, 71]);
  const image = {
    role: "user",
    content: [{ type: "image", image: bytes }, { type: "text", text: "What is it?" }],
  };
  const messages = [image, calls("a", "b"), results("b", "a")];
  const { messages: same, places, entries, repairs } = importMessages(messages);
  assert.ok(same.every((message, at) => message === messages[at]));
  assert.deepEqual(repairs, []);
  assert.deepEqual(places, [
    { message: 0, part: null },
    { message: 1, part: null },
    { message: 2, part: 0 },
    { message: 2, part: 1 },
  ]);
  const [first] = entries;
  assert.deepEqual(first?.kind === "user" && first.message.content, [
    { type: "file", mediaType: "image/*", data: "iVBORw==" },
    { type: "text", text: "What is it?" },
  ]);
});

const files: readonly { readonly what: string; readonly part: unknown; readonly wanted: unknown }[] = [
  {
    what: "a URL",
    part: { type: "file", mediaType: "image/png", data: new URL("https://a.example/b.png") },
    wanted: { type: "file", mediaType: "image/png", data: "https://a.example/b.png" },
  },
  {
    what: "tagged bytes with half a media type",
    part: { type: "file", mediaType: "image", data: { type: "data", data: new Uint8Array([1, 2]).buffer } },
    wanted: { type: "file", mediaType: "image/*", data: "AQI=" },
  },
  {
    what: "a tagged URL and a name",
    part: {
      type: "file",
      mediaType: "text/csv",
      filename: "t.csv",
      data: { type: "url", url: new URL("https://a.example/t.csv") },
    },
    wanted: { type: "file", mediaType: "text/csv", data: "https://a.example/t.csv", filename: "t.csv" },
  },
  {
    what: "text that stands in its place",
    part: { type: "file", mediaType: "text/plain", data: { type: "text", text: "hello" } },
    wanted: { type: "text", text: "hello" },
  },
  {
    what: "a reference that only the provider knows",
    part: { type: "file", mediaType: "image/png", data: { openai: "file_1" } },
    wanted: { type: "file", mediaType: "image/png", data: "" },
  },
];

Deno.test.each(files)("importMessages() takes a file as $what", ({ part, wanted }) => {
  const { entries } = importMessages([{ role: "user", content: [part] }]);
  assert.deepEqual(entries[0]?.kind === "user" && entries[0].message.content, [wanted]);
});

Deno.test("importMessages() takes files in the output of a tool, whatever their type is called", () => {
  const value = [
    { type: "text", text: "the picture:" },
    { type: "media", data: "iVBORw==", mediaType: "image/png" },
    { type: "image-url", url: "https://a.example/b.png" },
    { type: "file-data", data: "AQI=", mediaType: "application/pdf", filename: "a.pdf" },
  ];
  const message = { role: "tool", content: [answer("a", { type: "content", value })] };
  const { entries, messages } = importMessages([ask, calls("a"), message]);
  assert.deepEqual(entries[2]?.kind === "result" && entries[2].output, {
    type: "content",
    value: [
      { type: "text", text: "the picture:" },
      { type: "file", mediaType: "image/png", data: "iVBORw==" },
      { type: "file", mediaType: "image/*", data: "https://a.example/b.png" },
      { type: "file", mediaType: "application/pdf", data: "AQI=", filename: "a.pdf" },
    ],
  });
  assert.equal(messages[2], message);
});

Deno.test("importMessages() keeps approvals with their call, and tells those that are still to be acted on", () => {
  const asked = {
    role: "assistant",
    content: [call("a"), call("b"), { type: "tool-approval-request", approvalId: "p", toolCallId: "b" }],
  };
  const said = {
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId: "p", approved: false, reason: "too late" }],
  };
  const open = importMessages([ask, asked, said]);
  assert.deepEqual(open.entries.map(brief), ["user", "assistant"]);
  assert.deepEqual([...open.approvals], [["e1.1", { approved: false, reason: "too late" }]]);
  assert.deepEqual(open.messages, [ask, asked, said]);

  const done = importMessages([ask, asked, said, results("a", "b")]);
  assert.deepEqual(done.entries.map(brief), ["user", "assistant", "e1.0 ok", "e1.1 ok"]);
  assert.deepEqual([...done.approvals], []);
  assert.deepEqual(done.repairs, []);
});

Deno.test("importMessages() gives the ledger that our own log has", async () => {
  const own = session([{ count: 2 }, { count: 1 }, { count: 3 }]);
  const { entries } = importMessages((await contextOf(own)).messages());
  assert.deepEqual(ledgerLines(entries, []), ledgerLines(own, []));
});

Deno.test("importMessages() refuses what is no message, naming it", () => {
  assert.throws(() => importMessages([ask, { role: "narrator", content: "" }]), { code: "bad_message" });
  assert.throws(() => importMessages([null as unknown as ForeignMessage]), { code: "bad_message" });
  assert.throws(() => importMessages({} as unknown as ForeignMessage[]), { code: "bad_transcript" });
});

Deno.test("importMessages() makes a log that a model can be shown, of any damaged history", async () => {
  await fc.assert(
    fc.asyncProperty(brokenOf("ai-sdk"), async ({ messages }) => {
      const { entries, places } = importMessages(messages as unknown as ForeignMessage[]);
      assert.equal(places.length, entries.length);
      const answered = new Set<string>();
      let last = "";
      for (const [seq, entry] of entries.entries()) {
        assert.equal(entry.seq, seq);
        if (entry.kind !== "result") {
          last = `e${seq}.`;
          continue;
        }
        // C1 to C3: one result for each call, directly behind it.
        assert.ok(entry.call.startsWith(last) && !answered.has(entry.call), entry.call);
        answered.add(entry.call);
      }
      const open = entries.flatMap(callsOf).filter(({ ref }) => !answered.has(ref));
      assert.ok(open.every(({ ref }) => ref.startsWith(last)), "only calls at the very end are open");
      const context = await contextOf(entries);
      assert.deepEqual(checkTranscript(await context.transcript()), []);
      const shown = context.messages();
      // The rules below know nothing of calls that the provider has run.
      const isHosted = JSON.stringify(messages).includes("providerExecuted");
      if (open.length > 0 || isHosted || shown[0]?.role !== "user") return;
      assert.deepEqual(requestProblems({ system: "", messages: shown, tools: [], maxOutput: 9 }), []);
    }),
    runs(150),
  );
});

Deno.test("importMessages() gives the same entries for the same beginning, however the history goes on", () => {
  fc.assert(
    fc.property(wholeOf("ai-sdk"), wholeOf("ai-sdk"), ({ messages: first }, { messages: second }) => {
      const before = importMessages(first as unknown as ForeignMessage[]).entries;
      const all = importMessages([...first, ...second] as unknown as ForeignMessage[]).entries;
      assert.deepEqual(all.slice(0, before.length), before);
    }),
    runs(150),
  );
});
