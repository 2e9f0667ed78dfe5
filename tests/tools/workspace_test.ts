import assert from "node:assert/strict";
import type { Tool, ToolContext } from "../../src/ports.ts";
import { unitFacts, UNITS } from "../../src/tools/_facts.ts";
import { workspaceFiles } from "../../src/tools/_files.ts";
import { createOverlays } from "../../src/tools/_overlay.ts";
import { workspaceTools } from "../../src/tools/workspace.ts";

const context: ToolContext = { signal: new AbortController().signal, session: "s1", tenant: "local" };

function toolbox(tools: readonly Tool[], around: ToolContext = context) {
  return async (name: string, input: Record<string, unknown>): Promise<string> => {
    const tool = tools.find((candidate) => candidate.name === name);
    assert.ok(tool, `there is no tool ${name}`);
    const parsed = tool.parse(input);
    assert.ok(parsed.ok, parsed.ok ? "" : parsed.message);
    return String(await tool.execute?.(parsed.value, around));
  };
}

/** The source of a unit with its constant put right. */
function fixed(unit: number): { path: string; content: string } {
  const { source, constant, found, wanted } = unitFacts(unit);
  const text = workspaceFiles().get(source) ?? "";
  return { path: source, content: text.replace(`${constant} = ${found};`, `${constant} = ${wanted};`) };
}

Deno.test("workspaceTools() offers five tools that keep paths and queries verbatim", () => {
  const tools = workspaceTools();
  assert.deepEqual(tools.map(({ name, verbatimArgs }) => [name, verbatimArgs]), [
    ["list_files", ["path"]],
    ["read_file", ["path"]],
    ["search", ["query", "path"]],
    ["write_file", ["path"]],
    ["run_check", ["unit"]],
  ]);
  for (const tool of tools) assert.equal(tool.inputSchema["type"], "object");
  assert.equal(tools[1]?.parse({ file: "README.md" }).ok, false);
});

Deno.test("workspaceFiles() are 36 units of three files, the archive and a README", () => {
  const paths = [...workspaceFiles().keys()];
  assert.equal(paths.length, UNITS * 3 + 8 + 1);
  for (let unit = 0; unit < UNITS; unit++) {
    const { source, constant, found, wanted } = unitFacts(unit);
    assert.notEqual(found, wanted);
    assert.ok(found > 0 && wanted > 0, `unit ${unit}`);
    const text = workspaceFiles().get(source) ?? "";
    assert.equal(text.split(`export const ${constant} = ${found};`).length, 2, `unit ${unit}`);
    const lines = text.trimEnd().split("\n").length;
    assert.ok(lines >= 20 && lines <= 60);
    assert.ok(text.startsWith(`// ${source}: ${lines} lines\n`));
  }
});

Deno.test("list_files shows the top, a folder, and refuses what is none", async () => {
  const run = toolbox(workspaceTools());
  assert.equal(
    await run("list_files", { path: "" }),
    ".: 3 entries\nREADME.md (197 bytes)\narchive/\nunits/",
  );
  assert.match(
    await run("list_files", { path: "/units/00/" }),
    /^units\/00: 3 entries\nREADME.md \(\d+ bytes\)\nlimits.ts /,
  );
  await assert.rejects(run("list_files", { path: "units/99" }), {
    message: "Cannot list units/99: there is no such folder",
  });
  await assert.rejects(run("list_files", { path: "README.md" }), /it is a file, read_file reads it$/);
  await assert.rejects(run("list_files", { path: "units/../.." }), /wanted a path inside the workspace$/);
});

Deno.test("read_file reads plain files at once and says what it did not find", async () => {
  const run = toolbox(workspaceTools({
    sleep: () => {
      throw new Error("slept");
    },
  }));
  assert.match(await run("read_file", { path: "./units/07/README.md" }), /^# Unit 07: /);
  await assert.rejects(run("read_file", { path: "units/07" }), {
    message: "Cannot read units/07: there is no such file, list_files shows what there is",
  });
});

Deno.test("read_file takes one to eight times the latency for the files of the archive", async () => {
  const slept: number[] = [];
  const run = toolbox(workspaceTools({
    latencyMs: 10,
    sleep: (ms) => {
      slept.push(ms);
      return Promise.resolve();
    },
  }));
  for (let n = 0; n < 8; n++) {
    assert.match(await run("read_file", { path: `archive/0${n}.md` }), /^# Report /);
  }
  assert.notDeepEqual(slept, slept.toSorted((a, b) => a - b));
  assert.deepEqual(slept.toSorted((a, b) => a - b), [10, 20, 30, 40, 50, 60, 70, 80]);
});

Deno.test("read_file of the archive ends when the signal aborts, and leaves no timer", async () => {
  const stop = new AbortController();
  const run = toolbox(workspaceTools({ latencyMs: 60_000 }), { ...context, signal: stop.signal });
  const reading = run("read_file", { path: "archive/03.md" });
  stop.abort(new Error("cancelled"));
  await assert.rejects(reading, { message: "cancelled" });
  await assert.rejects(run("read_file", { path: "archive/03.md" }), { message: "cancelled" });
  const quick = toolbox(workspaceTools({ latencyMs: 0 }));
  assert.match(await quick("read_file", { path: "archive/03.md" }), /End of report 4\.\n$/);
});

Deno.test("search finds lines by text, below a path, in what was written, and in the archive when named", async () => {
  const run = toolbox(workspaceTools());
  const all = await run("search", { query: "must be" });
  assert.match(all, /^36 matches of "must be"\nunits\/00\/README.md:7: /);
  assert.match(all, /\nand 16 more$/);
  assert.match(
    await run("search", { query: "MUST BE", path: "units/35" }),
    /^1 match of "MUST BE" in units\/35\n[^\n]+$/,
  );
  assert.equal(await run("search", { query: "end of report" }), '0 matches of "end of report"');
  assert.match(await run("search", { query: "end of report", path: "archive" }), /^8 matches/);
  await run("write_file", { path: "notes.md", content: "a needle" });
  assert.match(await run("search", { query: "needle" }), /^1 match of "needle"\nnotes.md:1: a needle$/);
});

Deno.test("write_file writes for one session only", async () => {
  const tools = workspaceTools();
  const run = toolbox(tools);
  assert.equal(await run("write_file", { path: "/notes/a.md", content: "é" }), "wrote 2 bytes to notes/a.md");
  assert.equal(await run("read_file", { path: "notes/a.md" }), "é");
  assert.equal(await run("list_files", { path: "notes" }), "notes: 1 entry\na.md (2 bytes)");
  for (
    const other of [{ ...context, session: "s2" }, { ...context, tenant: "other" }, {
      ...context,
      user: "ann",
    }]
  ) {
    await assert.rejects(toolbox(tools, other)("read_file", { path: "notes/a.md" }), /no such file/);
  }
});

Deno.test("write_file refuses the archive, folders, empty paths and too much", async () => {
  const run = toolbox(workspaceTools());
  await assert.rejects(
    run("write_file", { path: "archive/00.md", content: "" }),
    /the archive is read-only$/,
  );
  await assert.rejects(run("write_file", { path: "units/07", content: "" }), /it is a folder$/);
  await assert.rejects(run("write_file", { path: "/", content: "" }), /found an empty path/);
  const half = "x".repeat(70_000);
  await run("write_file", { path: "a", content: half });
  await run("write_file", { path: "a", content: half });
  await assert.rejects(
    run("write_file", { path: "b", content: half }),
    /found 70000 bytes, this session has room for 61070$/,
  );
});

Deno.test("run_check seals a unit whose constant was put right, once", async () => {
  const run = toolbox(workspaceTools());
  const { source, constant, found, wanted, code } = unitFacts(7);
  await assert.rejects(run("run_check", { unit: "07" }), {
    message: `exit 1: unit 07: ${constant} in ${source} is ${found}, README.md asks for ${wanted}`,
  });
  await run("write_file", fixed(7));
  assert.equal(
    await run("run_check", { unit: "7" }),
    `exit 0: ${constant} is ${wanted}, unit 07 sealed with code ${code}`,
  );
  await assert.rejects(run("run_check", { unit: "units/07" }), {
    message: "exit 2: unit 07 was already sealed",
  });
  await assert.rejects(run("run_check", { unit: "36" }), /wanted the number of a unit, 00 to 35$/);
  await assert.rejects(run("run_check", { unit: "all" }), /wanted the number of a unit/);
});

Deno.test("run_check refuses a source that lost or changed other lines", async () => {
  const run = toolbox(workspaceTools());
  const { path, content } = fixed(3);
  await run("write_file", { path, content: content.split("\n").slice(0, 10).join("\n") });
  await assert.rejects(
    run("run_check", { unit: "03" }),
    /^Error: exit 1: unit 03: line 11 of .* is "missing"/,
  );
  await run("write_file", { path, content: `${content}more\n` });
  await assert.rejects(run("run_check", { unit: "03" }), /is "more", wanted \d+ lines$/);
  await run("write_file", { path, content: content.trimEnd() });
  assert.match(await run("run_check", { unit: "03" }), /^exit 0/);
});

Deno.test("createOverlays() drops the session that was not used for the longest time", () => {
  const overlayOf = createOverlays(2);
  const of = (session: string) => overlayOf({ ...context, session });
  of("a").written.set("x", "1");
  of("b").written.set("x", "2");
  assert.equal(of("a").written.size, 1);
  of("c");
  assert.equal(of("a").written.size, 1);
  assert.equal(of("b").written.size, 0);
});
