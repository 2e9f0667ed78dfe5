/**
 * The clerk's long tasks: the audit of the workspace, five calls for each unit, and that of the archive. Private to the
 * clerk.
 */
import { type Deed, type Evidence, isSeal, unitOf } from "./_evidence.ts";
import type { ScriptedCall, ScriptedReply } from "./scripted.ts";

/** Units of the workspace. */
export const UNITS = 36;
/** The archive is read once this many units are sealed: eight reads at a time in the middle of a long turn. */
const ARCHIVE_AFTER = 18;
const ARCHIVE = Array.from({ length: 8 }, (_, index) => `archive/${String(index).padStart(2, "0")}.md`);

function two(unit: number): string {
  return String(unit).padStart(2, "0");
}

function call(name: string, input: ScriptedCall["input"], text?: string): ScriptedReply {
  return { ...(text === undefined ? {} : { text }), calls: [{ name, input }] };
}

/** The reply to evidence that cannot be. */
export function derailed(why: string): ScriptedReply {
  return { text: `Derailed: ${why}.` };
}

function pathOf(deed: Deed): string {
  return typeof deed.input["path"] === "string" ? deed.input["path"] : "";
}

/** What a README asks for, or null where the text does not say it (shortened, or not read at all). */
function findWish(text: string): { constant: string; path: string; value: string } | null {
  const found = text.match(/`(\w+)` in `([^`\s]+)` must be (\d+)/);
  if (found === null) return null;
  const [, constant = "", path = "", value = ""] = found;
  return { constant, path, value };
}

/** True where a source file is there from its first line to its last, none left out. */
function isWhole(text: string): boolean {
  const lines = text.trimEnd().split("\n");
  const [, path, count] = lines[0]?.match(/^\/\/ (\S+): (\d+) lines$/) ?? [];
  return path !== undefined && lines.length === Number(count) && lines.at(-1) === `// end of ${path}`;
}

/** A sentence on a result that belongs to another call than the one it answers, or null. */
function mixedUp(deed: Deed): string | null {
  const { name, input, text } = deed;
  const path = pathOf(deed);
  const [, report] = text.match(/^# Report (\d+) of/) ?? [];
  const [, readme] = text.match(/^# Unit (\d+):/) ?? [];
  const [, source] = text.match(/^\/\/ (\S+): \d+ lines\n/) ?? [];
  const [, sealed] = text.match(/\bexit \d\b.*?\bunit (\d+)\b/) ?? [];
  const isOther = name === "read_file"
    ? (report !== undefined && path !== ARCHIVE[Number(report) - 1]) ||
      (readme !== undefined && path !== `units/${readme}/README.md`) ||
      (source !== undefined && path !== source)
    : name === "run_check" && sealed !== undefined && Number(sealed) !== unitOf(input);
  return isOther
    ? `the result of ${name} ${JSON.stringify(input)} begins with ${JSON.stringify(text.slice(0, 40))}`
    : null;
}

/** The first thing that cannot be if every result answers its own call, or null. */
function findFault(evidence: Evidence): string | null {
  return evidence.faults[0] ?? evidence.deeds.map(mixedUp).find((why) => why !== null) ?? null;
}

/** Sealed units by every trace there is, or why the traces do not fit together. */
function countSealed(evidence: Evidence): { count: number } | { fault: string } {
  const { sealedInRanges, sealedInLines, sealedInView } = evidence;
  let count = sealedInRanges;
  for (const unit of [...sealedInLines, ...sealedInView]) {
    // Units are sealed in order, so the numbers must go on where the ranges end, without a gap or a repeat.
    if (unit !== count) {
      return { fault: `found unit ${two(unit)} sealed after ${count} others, wanted unit ${two(count)}` };
    }
    count++;
  }
  return { count };
}

function readArchive(text: string): ScriptedReply {
  return { text, calls: ARCHIVE.map((path) => ({ name: "read_file", input: { path } })) };
}

function finish(evidence: Evidence, { sealed, limit }: { sealed: number; limit: number }): ScriptedReply {
  const inView = evidence.sealedInView.length;
  const code = evidence.deeds.findLast(isSeal)?.text.match(/code (\w+)/)?.[1];
  const earlier = evidence.deeds.length === 0 ? " All of them were sealed before this request." : "";
  return {
    text: `Audit finished: ${Math.min(sealed, limit)} of ${limit} units sealed. Counted from the evidence: ` +
      `${sealed - inView} in the ledger of earlier work, ${inView} in results that are still in view.` +
      `${code === undefined ? "" : ` The last code is ${code}.`}${earlier}`,
  };
}

function startNext(evidence: Evidence, { sealed, limit }: { sealed: number; limit: number }): ScriptedReply {
  if (sealed >= limit) return finish(evidence, { sealed, limit });
  const path = `units/${two(sealed)}`;
  if (sealed === 0) {
    return call("list_files", { path }, `I start with unit 00 and go on in order, ${limit} in all.`);
  }
  const isMilestone = sealed % 6 === 0;
  return call(
    "list_files",
    { path },
    isMilestone ? `${sealed} units are sealed. Next is unit ${two(sealed)}.` : undefined,
  );
}

/** Repeats a call that failed once; a second failure in a row ends the work. */
function again(evidence: Evidence, last: Deed, why: string): ScriptedReply {
  const before = evidence.deeds.at(-2);
  const isSecond = before?.name === last.name && JSON.stringify(before.input) === JSON.stringify(last.input);
  if (!isSecond) return call(last.name, last.input);
  return { text: `Stopped: ${last.name} ${JSON.stringify(last.input)} failed twice: ${why}` };
}

/** How to find out what a unit asks for: by its README, or, for every third unit, by a search. */
function askFor(unit: number): ScriptedReply {
  const path = `units/${two(unit)}`;
  if (unit % 3 === 2) return call("search", { query: "must be", path });
  return call("read_file", { path: `${path}/README.md` });
}

/** Whether a call is one that {@link askFor} makes for a unit. */
function isAsking({ name, input }: Deed, unit: number): boolean {
  const path = `units/${two(unit)}`;
  if (name === "search") return input["path"] === path;
  return name === "read_file" && input["path"] === `${path}/README.md`;
}

/** Writes the fix when both files of the unit are in view, else reads the one that is missing. */
function fix(evidence: Evidence, unit: number): ScriptedReply {
  const reads = evidence.deeds.filter((deed) => deed.name === "read_file");
  const wish = findWish(evidence.deeds.findLast((deed) => isAsking(deed, unit))?.text ?? "");
  if (wish === null) return askFor(unit);
  const source = reads.findLast((deed) => pathOf(deed) === wish.path && isWhole(deed.text));
  if (source === undefined) return call("read_file", { path: wish.path });
  const line = new RegExp(`(export const ${wish.constant} = )(\\d+);`);
  const found = source.text.match(line)?.[2];
  if (found === undefined) return { text: `Stopped: ${wish.path} does not set ${wish.constant}.` };
  const content = source.text.replace(line, `$1${wish.value};`);
  const text = unit % 4 === 0
    ? `${wish.constant} is ${found}, the README.md asks for ${wish.value}.`
    : undefined;
  return call("write_file", { path: wish.path, content }, text);
}

function auditUnit(
  evidence: Evidence,
  last: Deed,
  { unit, sealed, limit }: Record<"unit" | "sealed" | "limit", number>,
): ScriptedReply {
  const inHand = isSeal(last) ? sealed - 1 : sealed;
  if (unit !== inHand) {
    return derailed(
      `the last call is about unit ${two(unit)}, but the evidence says that unit ${two(inHand)} is in hand`,
    );
  }
  switch (last.name) {
    case "list_files":
      if (!last.text.startsWith("units/")) return again(evidence, last, last.text);
      return askFor(unit);
    case "search":
    case "read_file": {
      const isGood = isAsking(last, unit) ? findWish(last.text) !== null : isWhole(last.text);
      return isGood ? fix(evidence, unit) : again(evidence, last, "the text is not whole");
    }
    case "write_file":
      if (!last.text.startsWith("wrote ")) return again(evidence, last, last.text);
      return call("run_check", { unit: two(unit) });
    case "run_check": {
      if (isSeal(last)) {
        if (sealed !== ARCHIVE_AFTER || sealed >= limit) return startNext(evidence, { sealed, limit });
        return readArchive(`${sealed} units are sealed. Half-way, I read the whole archive at once.`);
      }
      const [, exit] = last.text.match(/\bexit (\d)\b/) ?? [];
      if (exit === "2") return derailed(`the seal of unit ${two(unit)} was refused: ${last.text}`);
      if (exit !== "1") return again(evidence, last, last.text);
      const failures = evidence.deeds.filter((deed) =>
        deed.name === "run_check" && unitOf(deed.input) === unit
      );
      if (failures.length > 1) {
        return { text: `Stopped: the check of unit ${two(unit)} failed twice: ${last.text}` };
      }
      const written = evidence.deeds.findLast((deed) =>
        deed.name === "write_file" && unitOf(deed.input) === unit
      );
      if (written === undefined) return askFor(unit);
      return call("read_file", { path: pathOf(written) });
    }
    default:
      return startNext(evidence, { sealed, limit });
  }
}

/** The next step of the audit of the first `limit` units. */
export function audit(evidence: Evidence, limit: number): ScriptedReply {
  const sealed = countSealed(evidence);
  const fault = findFault(evidence);
  if (fault !== null) return derailed(fault);
  if ("fault" in sealed) return derailed(sealed.fault);
  const at = { sealed: sealed.count, limit };
  const last = evidence.batch.at(-1);
  if (last !== undefined && evidence.batch.length === 1) {
    const unit = unitOf(last.input);
    if (unit !== undefined) return auditUnit(evidence, last, { ...at, unit });
  }
  const isArchiveDue = last === undefined && at.sealed === ARCHIVE_AFTER && at.sealed < limit;
  if (isArchiveDue && !evidence.archiveInLedger) return readArchive("I read the archive before I go on.");
  return startNext(evidence, at);
}

/** The next step of the audit of the archive. */
export function auditArchive(evidence: Evidence): ScriptedReply {
  const fault = findFault(evidence);
  if (fault !== null) return derailed(fault);
  if (evidence.batch.length === 0) {
    return readArchive(`I read the ${ARCHIVE.length} reports of the archive at once.`);
  }
  const titles = evidence.batch.flatMap(({ text }) => text.match(/^# (Report .*)/)?.[1] ?? []);
  return {
    text: `Audit finished: ${titles.length} of ${ARCHIVE.length} reports of the archive read (${
      titles.join("; ")
    }).`,
  };
}
