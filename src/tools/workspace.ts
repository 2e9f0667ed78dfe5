/**
 * The demo workspace: five tools over a small set of generated files, so that an agent has real work to do
 * without a disk, a network or a key.
 *
 * @module
 */
import { z } from "zod";
import { aFunction, number, optionsOf, requireOptions } from "../core/options.ts";
import { systemClock } from "../loop/clock.ts";
import { defineTool } from "../loop/tools.ts";
import type { Tool } from "../ports.ts";
import { unitFacts, UNITS } from "./_facts.ts";
import { ARCHIVE_FILES, workspaceFiles } from "./_files.ts";
import { byteLength, createOverlays, MAX_SESSION_BYTES, type Overlay, pathsOf, textOf } from "./_overlay.ts";

/** Settings of {@link workspaceTools}. */
export interface WorkspaceOptions {
  /** Milliseconds that the quickest archive file takes to read, the slowest takes eight times as long. Default 40. */
  readonly latencyMs?: number;
  /** Waits, and rejects with the signal's reason when it aborts first. Default: a timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

const rules = optionsOf<WorkspaceOptions>({
  latencyMs: number("milliseconds, 0 or more", { least: 0 }),
  sleep: aFunction,
});

const MAX_SESSIONS = 200;
const MAX_MATCHES = 20;

/** Brings a path to the form `units/07/README.md`; the top is the empty text. */
function normalize(path: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) {
    throw new Error(
      `Cannot use the path ${JSON.stringify(path)}: found "..", wanted a path inside the workspace`,
    );
  }
  return parts.join("/");
}

function list(overlay: Overlay, path: string): string {
  const folder = normalize(path);
  const prefix = folder === "" ? "" : `${folder}/`;
  const sizes = new Map<string, number | null>();
  for (const file of pathsOf(overlay)) {
    if (!file.startsWith(prefix)) continue;
    const [name = "", ...rest] = file.slice(prefix.length).split("/");
    sizes.set(name, rest.length > 0 ? null : byteLength(textOf(overlay, file) ?? ""));
  }
  if (sizes.size === 0) {
    const isFile = textOf(overlay, folder) !== undefined;
    throw new Error(
      `Cannot list ${folder}: ${isFile ? "it is a file, read_file reads it" : "there is no such folder"}`,
    );
  }
  const lines = [...sizes].map(([name, bytes]) => bytes === null ? `${name}/` : `${name} (${bytes} bytes)`);
  return [
    `${folder === "" ? "." : folder}: ${sizes.size} ${sizes.size === 1 ? "entry" : "entries"}`,
    ...lines,
  ].join("\n");
}

function search(overlay: Overlay, query: string, path: string): string {
  const folder = normalize(path);
  const wanted = query.toLowerCase();
  const matches: string[] = [];
  for (const file of pathsOf(overlay)) {
    if (folder !== "" && file !== folder && !file.startsWith(`${folder}/`)) continue;
    if (file.startsWith("archive/") && !folder.startsWith("archive")) continue;
    for (const [index, line] of (textOf(overlay, file) ?? "").split("\n").entries()) {
      if (line.toLowerCase().includes(wanted)) {
        matches.push(`${file}:${index + 1}: ${line.trim().slice(0, 160)}`);
      }
    }
  }
  const where = folder === "" ? "" : ` in ${folder}`;
  const left = matches.length - MAX_MATCHES;
  const more = left > 0 ? [`and ${left} more`] : [];
  return [
    `${matches.length} ${matches.length === 1 ? "match" : "matches"} of ${JSON.stringify(query)}${where}`,
    ...matches.slice(0, MAX_MATCHES),
    ...more,
  ]
    .join("\n");
}

function write(overlay: Overlay, path: string, content: string): string {
  const file = normalize(path);
  if (file === "") throw new Error("Cannot write: found an empty path, wanted one like units/07/limits.ts");
  if (file.startsWith("archive/")) throw new Error(`Cannot write ${file}: the archive is read-only`);
  if (pathsOf(overlay).some((other) => other.startsWith(`${file}/`))) {
    throw new Error(`Cannot write ${file}: it is a folder`);
  }
  let others = 0;
  for (const [other, text] of overlay.written) {
    others += other === file ? 0 : byteLength(other) + byteLength(text);
  }
  const room = MAX_SESSION_BYTES - others - byteLength(file);
  const bytes = byteLength(content);
  if (bytes > room) {
    throw new Error(
      `Cannot write ${file}: found ${bytes} bytes, this session has room for ${Math.max(0, room)}`,
    );
  }
  overlay.written.set(file, content);
  return `wrote ${bytes} bytes to ${file}`;
}

/** Says "exit 0" or throws: a check that fails must reach the model as an error, not as a result that reads like one. */
function check(overlay: Overlay, given: string): string {
  const digits = given.match(/^\s*(?:units?[\s/]*)?(\d{1,2})\/?\s*$/)?.[1];
  if (digits === undefined || Number(digits) >= UNITS) {
    throw new Error(`Cannot check ${JSON.stringify(given)}: wanted the number of a unit, 00 to ${UNITS - 1}`);
  }
  const { unit, source, constant, found, wanted, code } = unitFacts(Number(digits));
  if (overlay.sealed.has(unit)) throw new Error(`exit 2: unit ${unit} was already sealed`);
  const text = overlay.written.get(source);
  if (text === undefined) {
    throw new Error(
      `exit 1: unit ${unit}: ${constant} in ${source} is ${found}, README.md asks for ${wanted}`,
    );
  }
  const original = workspaceFiles().get(source) ?? "";
  const expected = original.replace(`${constant} = ${found};`, `${constant} = ${wanted};`).trimEnd().split(
    "\n",
  );
  const actual = text.trimEnd().split("\n");
  for (let line = 0; line < Math.max(expected.length, actual.length); line++) {
    if (actual[line]?.trimEnd() === expected[line]) continue;
    throw new Error(
      `exit 1: unit ${unit}: line ${line + 1} of ${source} is ${
        JSON.stringify(actual[line] ?? "missing")
      }, ` +
        (expected[line] === undefined
          ? `wanted ${expected.length} lines`
          : `wanted ${JSON.stringify(expected[line])}`),
    );
  }
  overlay.sealed.add(unit);
  return `exit 0: ${constant} is ${wanted}, unit ${unit} sealed with code ${code}`;
}

/**
 * Makes the tools of the demo workspace: `list_files`, `read_file`, `search`, `write_file` and `run_check`.
 * What a session writes is seen by that session alone, is kept in memory, and is dropped once 200 other sessions
 * have used the workspace. The archive's reads are slow on purpose and end at once when their signal aborts.
 *
 * @param options How slow the archive is, and how to wait.
 * @returns The tools; unknown paths and failed checks throw an `Error` whose message says what was wanted.
 *
 * @example
 * ```ts
 * import { workspaceTools } from "@selvage/selvage";
 *
 * const [listFiles] = workspaceTools();
 * const context = { signal: new AbortController().signal, session: "s1", tenant: "local" };
 * console.log(listFiles?.execute?.({ path: "units/07" }, context));
 * ```
 */
export function workspaceTools(options: WorkspaceOptions = {}): readonly Tool[] {
  requireOptions("make the workspace", options, rules);
  const latencyMs = options.latencyMs ?? 40;
  const sleep = options.sleep ?? systemClock.sleep;
  const overlayOf = createOverlays(MAX_SESSIONS);

  const listFiles = defineTool({
    name: "list_files",
    sideEffect: "none",
    description: "List a folder of the workspace. The top is an empty path.",
    input: z.object({ path: z.string() }),
    verbatimArgs: ["path"],
    execute: ({ path }, context) => list(overlayOf(context), path),
  });

  const readFile = defineTool({
    name: "read_file",
    sideEffect: "none",
    description: "Read a file of the workspace.",
    input: z.object({ path: z.string() }),
    verbatimArgs: ["path"],
    timeoutMs: 30_000,
    execute: async ({ path }, context) => {
      const file = normalize(path);
      const archived = file.match(/^archive\/0*(\d+)\.md$/)?.[1];
      // 5 and 8 have no common divisor: every factor from 1 to 8 comes up once, and reads end out of order.
      const factor = archived === undefined ? 0 : (Number(archived) * 5) % ARCHIVE_FILES + 1;
      if (factor > 0) await sleep(latencyMs * factor, context.signal);
      const text = textOf(overlayOf(context), file);
      if (text === undefined) {
        throw new Error(`Cannot read ${file}: there is no such file, list_files shows what there is`);
      }
      return text;
    },
  });

  const searchFiles = defineTool({
    name: "search",
    sideEffect: "none",
    description:
      "Find lines that contain a text, in all files or below a path. The archive only when the path names it.",
    input: z.object({ query: z.string().min(1), path: z.string().optional() }),
    verbatimArgs: ["query", "path"],
    execute: ({ query, path }, context) => search(overlayOf(context), query, path ?? ""),
  });

  const writeFile = defineTool({
    name: "write_file",
    description: "Write a whole file of the workspace, for this session.",
    input: z.object({ path: z.string().max(200), content: z.string() }),
    verbatimArgs: ["path"],
    execute: ({ path, content }, context) => write(overlayOf(context), path, content),
  });

  const runCheck = defineTool({
    name: "run_check",
    description: "Check a unit by its number. A unit whose constant has been put right is sealed, once.",
    input: z.object({ unit: z.string() }),
    verbatimArgs: ["unit"],
    execute: ({ unit }, context) => check(overlayOf(context), unit),
  });

  return [listFiles, readFile, searchFiles, writeFile, runCheck];
}
