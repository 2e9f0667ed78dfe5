/**
 * The generated files of the demo workspace. Every text is a pure function of its path: nothing is read from a
 * disk, and two processes show the same files.
 */
import { dice, pick, type UnitFacts, unitFacts, UNITS } from "./_facts.ts";

/** Files in the archive. */
export const ARCHIVE_FILES = 8;

function readme(facts: UnitFacts): string {
  const { unit, service, source, constant, wanted } = facts;
  return [
    `# Unit ${unit}: ${service}`,
    "",
    `The ${service} takes jobs from the station before it, works on them one after the other, and hands them on.`,
    "",
    "## What must change",
    "",
    `\`${constant}\` in \`${source}\` must be ${wanted}. Every other line of the file stays as it is.`,
    "",
    "## How to finish",
    "",
    `Write the whole file, then run the check of unit ${unit}. It seals the unit, and a unit is sealed once.`,
    "",
  ].join("\n");
}

/** Functions of a source file: one line an item, `S` the name of the service, `K` the constant. */
const BODIES: readonly (readonly string[])[] = [
  [
    "/** True while the S can take one more job. */",
    "export function hasRoom(waiting: readonly Job[]): boolean {",
    "  const heavy = waiting.filter((job) => job.grams > 900).length;",
    "  return waiting.length + heavy < K;",
    "}",
  ],
  [
    "/** Jobs of the S, the oldest first. */",
    "export function inOrder(jobs: readonly Job[]): Job[] {",
    "  return [...jobs].sort((a, b) => a.since - b.since || a.id.localeCompare(b.id));",
    "}",
  ],
  [
    "/** Grams that wait at the S. */",
    "export function load(jobs: readonly Job[]): number {",
    "  let grams = 0;",
    "  for (const job of jobs) grams += job.grams;",
    "  return grams;",
    "}",
  ],
  [
    "/** The share of the limit that is used up, from 0 to 1. */",
    "export function pressure(used: number): number {",
    "  if (used <= 0) return 0;",
    "  return Math.min(1, used / K);",
    "}",
  ],
  [
    "/** The job that the S works on next, or null when there is none. */",
    "export function next(jobs: readonly Job[], now: number): Job | null {",
    "  const due = jobs.filter((job) => job.since <= now);",
    "  return inOrder(due)[0] ?? null;",
    "}",
  ],
  [
    "/** One line for the log of the S. */",
    "export function describe(job: Job): string {",
    "  const kilos = (job.grams / 1000).toFixed(2);",
    "  return `S: job ${job.id}, ${kilos} kg, waiting since ${job.since}`;",
    "}",
  ],
];

function source(facts: UnitFacts): string {
  const roll = dice(facts.source);
  // `inOrder` and `next`, which calls it, always; one that uses the constant and one that does not, by lot.
  const chosen = [roll(2) * 3, 1, 2 + roll(2) * 3, 4].sort();
  const body = chosen.flatMap((index) => ["", ...pick(BODIES, index)]);
  const lines = [
    `// Part of the ${facts.service}. See README.md before you change a value.`,
    "",
    `/** ${facts.meaning}. */`,
    `export const ${facts.constant} = ${facts.found};`,
    "",
    `/** A job at the ${facts.service}. */`,
    "export interface Job {",
    "  readonly id: string;",
    "  readonly grams: number;",
    "  /** Milliseconds since the epoch. */",
    "  readonly since: number;",
    "}",
    ...body.map((line) => line.replaceAll(/\bS\b/g, facts.service).replaceAll(/\bK\b/g, facts.constant)),
  ];
  // The number of lines in the first one lets a reader tell a whole file from a shortened one.
  return [`// ${facts.source}: ${lines.length + 2} lines`, ...lines, `// end of ${facts.source}`, ""].join(
    "\n",
  );
}

const EVENTS = [
  "took 14 jobs from the station before",
  "handed 12 jobs on",
  "queue is long, the limit looks wrong",
  "job 7c21 waited longer than planned",
  "restarted after a change of shift",
  "limit reached, two jobs were sent back",
  "nothing to do",
  "belt checked, no fault found",
] as const;

function log(facts: UnitFacts): string {
  const roll = dice(`units/${facts.unit}/run.log`);
  let minute = roll(240);
  const lines = Array.from({ length: 8 }, () => {
    minute += 1 + roll(90);
    const time = `${String(Math.floor(minute / 60)).padStart(2, "0")}:${
      String(minute % 60).padStart(2, "0")
    }`;
    return `2026-03-${String(1 + roll(28)).padStart(2, "0")} ${time} ${facts.service}: ${
      pick(EVENTS, roll(8))
    }`;
  });
  return [...lines.sort(), ""].join("\n");
}

const SUBJECTS = [
  "The night shift",
  "The day shift",
  "The loft",
  "The dye house",
  "The gate",
  "The office",
] as const;
const VERBS = [
  "counted",
  "moved",
  "sent back",
  "repaired",
  "weighed",
  "set aside",
  "inspected",
  "relabelled",
] as const;
const GOODS = ["bales", "beams", "cones", "rolls", "crates", "samples", "spindles", "skeins"] as const;
const ENDINGS = [
  "and found nothing out of place",
  "because a limit had been set too low",
  "after the second bell",
  "and wrote the numbers on the board by the door",
  "while the main line stood still",
  "as the plan for the week had asked",
] as const;

function shiftReport(number: number): string {
  const name = `archive/${String(number).padStart(2, "0")}.md`;
  const roll = dice(name);
  const lines = [`# Report ${number + 1} of ${ARCHIVE_FILES}: ${1990 + number * 4}`, ""];
  for (let day = 1; day <= 48; day++) {
    const what = `${pick(VERBS, roll(8))} ${3 + roll(90)} ${pick(GOODS, roll(8))}`;
    lines.push(`${day}. ${pick(SUBJECTS, roll(6))} ${what} ${pick(ENDINGS, roll(6))}.`);
  }
  return [...lines, "", `End of report ${number + 1}.`, ""].join("\n");
}

const OVERVIEW = [
  "# The mill",
  "",
  `\`units/\` holds ${UNITS} units, 00 to ${
    UNITS - 1
  }. In each, one constant has a wrong value: its README.md says the right one.`,
  "`archive/` holds old reports. They are slow to read and cannot be written.",
  "",
].join("\n");

function generate(): Map<string, string> {
  const files = new Map<string, string>([["README.md", OVERVIEW]]);
  for (let n = 0; n < ARCHIVE_FILES; n++) {
    files.set(`archive/${String(n).padStart(2, "0")}.md`, shiftReport(n));
  }
  for (let n = 0; n < UNITS; n++) {
    const facts = unitFacts(n);
    files.set(`units/${facts.unit}/README.md`, readme(facts));
    files.set(facts.source, source(facts));
    files.set(`units/${facts.unit}/run.log`, log(facts));
  }
  return files;
}

let generated: ReadonlyMap<string, string> | undefined;

/** Every file of the workspace by path, made on first use. */
export function workspaceFiles(): ReadonlyMap<string, string> {
  return generated ??= generate();
}
