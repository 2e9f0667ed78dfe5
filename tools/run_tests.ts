/**
 * Runs the tests, as many files side by side as there are processors, in two calls: those that work a little, then
 * those that work a lot. Of the first, the files of a folder share an isolate (`_entries.ts`). Files that are named are
 * run alone.
 *
 *     deno task test [FILE...]
 *
 * To explore (`--explore [FILE...]`) is to run the files with properties, each with 20 times as many runs
 * (`SELVAGE_FUZZ` says how many times) from seeds drawn at random.
 *
 * In the gate (`--gate`) the first call is covered and a JUnit report of both is left. What works a lot is not covered:
 * a counter in each block makes a loop eight times as slow, and others cover its lines.
 *
 * @module
 */
import { glob } from "node:fs/promises";
import config from "../deno.json" with { type: "json" };
import { withEntries } from "./_entries.ts";

/** Where processes, random transcripts and long texts are at work. */
const HEAVY: readonly string[] = [
  "tests/ai_sdk/loops_test.ts",
  "tests/ai_sdk/thinking_test.ts",
  "tests/bench",
  "tests/cli/process_test.ts",
  "tests/compaction/facts_test.ts",
  "tests/corpus",
  "tests/e2e",
  "tests/formats/linear_test.ts",
  "tests/hostile",
  "tests/http/transcripts_bodies_test.ts",
  "tests/http/transcripts_cases_test.ts",
  "tests/http/transcripts_extremes_test.ts",
  "tests/loop/bills_test.ts",
  "tests/loop/cancel_test.ts",
  "tests/loop/live_test.ts",
  "tests/models/conformance_cancel_test.ts",
  "tests/property",
  "tests/tokens/counter_test.ts",
];
/** Where examples stand: each is run. */
const EXAMPLES: readonly string[] = ["--doc", "src/", "README.md", "docs/"];

const COVERED: readonly string[] = ["--clean", "--coverage=.coverage", "--coverage-raw-data-only"];
const REPORT = ".junit.xml";

/** Runs one call of `deno test`; says whether it passed. */
async function runTests(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const args = ["test", "-P=test", "--parallel", ...words];
  const { success } = await new Deno.Command(Deno.execPath(), { args, env }).spawn().status;
  return success;
}

/** One JUnit report of several: all suites, and the sums of what the reports count. */
export function joinReports(reports: readonly string[]): string {
  const sums = new Map<string, number>();
  const suites = reports.map((report) => {
    const [, counts, inside] = report.match(/<testsuites ([^>]*)>(.*)<\/testsuites>/s) ?? [];
    if (counts === undefined || inside === undefined) {
      throw new TypeError(`Cannot join reports: found ${report.slice(0, 80)}, wanted <testsuites>`);
    }
    for (const [, name = "", value] of counts.matchAll(/(\w+)="([\d.]+)"/g)) {
      sums.set(name, (sums.get(name) ?? 0) + Number(value));
    }
    return inside;
  });
  const counts = [...sums].map(([name, sum]) => ` ${name}="${name === "time" ? sum.toFixed(3) : sum}"`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="deno test"${counts.join("")}>${
    suites.join("")
  }</testsuites>\n`;
}

/** Test files of the project, but those of projects of their own. */
async function findTests(): Promise<readonly string[]> {
  const files = await Array.fromAsync(glob("tests/**/*_test.ts"));
  return files.filter((file) => !config.exclude.some((folder) => file.startsWith(folder)));
}

/** Runs what works a little. */
async function runLight(words: readonly string[] = []): Promise<boolean> {
  const isHeavy = (file: string): boolean => HEAVY.some((at) => file === at || file.startsWith(`${at}/`));
  const files = (await findTests()).filter((file) => !isHeavy(file));
  return await withEntries(files, (paths) => runTests([...words, ...EXAMPLES, ...paths]));
}

/** Runs all tests, the second call whatever the first has found; says whether they passed. */
async function runGate(): Promise<boolean> {
  const reports = [`${REPORT}.light`, `${REPORT}.heavy`];
  const common = (call: number): readonly string[] => ["--no-check", `--junit-path=${reports[call]}`];
  const light = await runLight([...common(0), ...COVERED]);
  const heavy = await runTests([...common(1), ...HEAVY]);
  await Deno.writeTextFile(
    REPORT,
    joinReports(await Promise.all(reports.map((path) => Deno.readTextFile(path)))),
  );
  await Promise.all(reports.map((path) => Deno.remove(path)));
  return light && heavy;
}

/** The test files that have properties. */
async function findProperties(): Promise<readonly string[]> {
  const files = await findTests();
  const texts = await Promise.all(files.map((file) => Deno.readTextFile(file)));
  return files.filter((_, at) => texts[at]?.includes('/runs.ts"')).toSorted();
}

/** Looks for cases that no gate has tried; says whether all held. */
async function explore(words: readonly string[]): Promise<boolean> {
  const files = words.length > 0 ? words : await findProperties();
  return await runTests(["--no-check", ...files], { SELVAGE_FUZZ: Deno.env.get("SELVAGE_FUZZ") ?? "20" });
}

/** Runs what a command line asks for; says whether it passed. */
async function main(words: readonly string[]): Promise<boolean> {
  if (words.includes("--gate")) return await runGate();
  if (words[0] === "--explore") return await explore(words.slice(1));
  if (words.length > 0) return await runTests(["--doc", ...words]);
  const light = await runLight();
  return await runTests(HEAVY) && light;
}

if (import.meta.main && !await main(Deno.args)) Deno.exit(1);
