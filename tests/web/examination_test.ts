/** What the doctor's worker does with a file, without a browser. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { BROKEN_EXAMPLE } from "../../src/web/doctor/example.ts";
import { Examination } from "../../src/web/doctor/examination.ts";
import { run, testInFolder, write } from "../support/command.ts";

async function open(text: string | Blob, name = "chat.json"): Promise<Examination> {
  return await Examination.open(name, text);
}

const call = (id: string) => ({ id, type: "function", function: { name: "look", arguments: "{}" } });

/** A long history of whole rounds. */
function rounds(count: number): readonly unknown[] {
  return Array.from({ length: count }, (_, n) => [
    { role: "assistant", content: null, tool_calls: [call(`c${n}`)] },
    { role: "tool", tool_call_id: `c${n}`, content: `result ${n}: ${"word ".repeat(60)}` },
  ]).flat();
}

testInFolder("Examination mends a file to the byte as the command does", async (folder) => {
  const lines = [{ role: "user", content: "Go." }, ...rounds(3).slice(0, -1), {
    role: "user",
    content: "And?",
  }]
    .map((message, n) => JSON.stringify(message, null, n % 2).replaceAll("\n", "")).join("\r\n");
  for (const [name, text] of [["chat.json", BROKEN_EXAMPLE], ["chat.jsonl", lines]] as const) {
    const file = await write(`${folder}/${name}`, text);
    const examination = await open(text, name);
    const { name: written, blob } = examination.write();
    match(written, /^chat\.repaired\.jsonl?$/);
    equal(await blob.text(), (await run(["repair", file])).out, name);
    const mended = await write(`${folder}/mended-${name}`, await blob.text());
    equal((await run(["check", mended])).code, 0, "and the command finds nothing wrong with it");
  }
});

Deno.test("Examination tells what is wrong, where, and what a repair changes", async () => {
  const { transcripts } = (await open(BROKEN_EXAMPLE)).describe();
  const [found] = transcripts;
  deepEqual(found?.faults.map(({ code, at }) => [code, at]), [
    ["missing_result", 3],
    ["orphan_result", 6],
    ["results_not_first", 8],
    ["duplicate_result", 10],
  ]);
  equal(found?.faultCount, 4);
  equal(found?.repairCount, 4);
  equal(found?.left, 0);
  equal(found?.document?.format, "anthropic");
});

Deno.test("Examination names lines where messages have them, and shows messages with their parts", async () => {
  const text = [{ role: "user", content: "Go." }, {
    role: "tool",
    tool_call_id: "x",
    content: "y".repeat(5_000),
  }]
    .map((message) => JSON.stringify(message)).join("\n");
  const examination = await open(text, "chat.jsonl");
  equal(examination.describe().transcripts[0]?.faults[0]?.line, 2);
  const { messages } = examination.show(0, { from: 1, to: 2 });
  equal(messages[0]?.line, 2);
  const [part] = messages[0]?.parts ?? [];
  equal(part?.kind, "tool_result");
  equal((part?.text.length ?? 0) + (part?.hidden ?? 0), 5_000, "what is left out is counted");
});

Deno.test("Examination previews a compaction and writes the same one", async () => {
  const history = [{ role: "user", content: "Go." }, ...rounds(40)];
  const examination = await open(JSON.stringify(history));
  const preview = examination.preview(0, 1_500);
  equal(preview.outcome, "applied");
  ok(preview.pairs > 0 && preview.tokens.after < preview.tokens.before);
  match(preview.summary ?? "", /look/);
  ok(preview.summaryTokens > 0);
  const { name, blob } = examination.write({ transcript: 0, budget: 1_500 });
  equal(name, "chat.compacted.json");
  const messages = JSON.parse(await blob.text());
  deepEqual(messages.slice(-4), history.slice(-4), "the end is as it was");
  ok(messages.length < history.length);
  equal(examination.preview(0, 1_000_000).outcome, "nothing");
});

Deno.test("Examination leaves a transcript that cannot be read as it is, and mends the others of the file", async () => {
  const lines = [
    JSON.stringify({
      messages: [{ role: "user", content: "Go." }, { role: "tool", tool_call_id: "x", content: "y" }],
    }),
    JSON.stringify({ messages: [{ role: 7 }] }),
  ];
  const examination = await open(lines.join("\n"), "many.jsonl");
  const { transcripts } = examination.describe();
  equal(transcripts.length, 2);
  equal(transcripts[0]?.faultCount, 1);
  match(transcripts[1]?.error ?? "", /line 2/);
  const written = (await examination.write().blob.text()).split("\n");
  equal(written[1], lines[1]);
  ok(written[0] !== lines[0]);
});

Deno.test("Examination.open() refuses what is too large, broken or no text, in a sentence", async () => {
  await rejects(open(new Blob([new Uint8Array(16 * 1024 * 1024 + 1)])), /16\.0 MiB, wanted at most 16 MiB/);
  await rejects(open("[{"), /Cannot read chat\.json/);
  await rejects(open(""), /found nothing in it/);
  await rejects(open(new Blob([new Uint8Array([0xff, 0xfe, 0x00])])), /no UTF-8/);
  await rejects(open("7"), /found no list of messages/);
});
