/** What must hold of logs, events and tallies, whatever died. Each check gives sentences on what does not. */
import { type LoggedEntry, numberOf, type Seen } from "./_client.ts";

type Log = readonly LoggedEntry[];

/** How often the tool ran of each key. */
export type Runs = ReadonlyMap<string, { readonly tool: string; readonly times: number }>;

/** Reads a tally. */
export async function readTally(path: string): Promise<Runs> {
  const runs = new Map<string, { tool: string; times: number }>();
  for (const line of (await Deno.readTextFile(path)).split("\n")) {
    const [, tool, key] = line.match(/^begin (\S+) (\S+)/) ?? [];
    if (tool !== undefined && key !== undefined) {
      runs.set(key, { tool, times: (runs.get(key)?.times ?? 0) + 1 });
    }
  }
  return runs;
}

/** A log is numbered, each call has one result behind it and before anything else, and turns do not mix. */
export function checkLog(log: Log): string[] {
  const faults: string[] = [];
  const ended = new Set<string>();
  let open: string[] = [];
  let turn = "";
  for (const [at, entry] of log.entries()) {
    const where = `entry ${at} (${entry.kind} of ${entry.turn})`;
    if (entry.seq !== at) faults.push(`${where} has number ${entry.seq}`);
    if (entry.turn !== turn) {
      if (ended.has(entry.turn)) faults.push(`${where} comes after entries of another turn`);
      if (entry.kind !== "user") faults.push(`${where} begins a turn`);
      ended.add(turn);
      turn = entry.turn;
    }
    if (entry.kind === "result") {
      if (!open.includes(entry.call ?? "")) faults.push(`${where} answers ${entry.call}, open are ${open}`);
      open = open.filter((ref) => ref !== entry.call);
      continue;
    }
    if (open.length > 0) faults.push(`${where} passes over the open calls ${open}`);
    open = (entry.calls ?? []).map(({ ref }) => ref);
  }
  if (open.length > 0) faults.push(`the log ends with the open calls ${open}`);
  return faults;
}

/** What was in a log stays as it was. */
export function checkAppended(before: Log, after: Log): string[] {
  const lost = before.findIndex((entry, at) => JSON.stringify(entry) !== JSON.stringify(after[at]));
  return lost < 0 ? [] : [
    `entry ${lost} was ${JSON.stringify(before[lost])?.slice(0, 200)}, and is ` +
    `${JSON.stringify(after[lost])?.slice(0, 200)}`,
  ];
}

/**
 * What a client was told for certain is in the log: a call is told once it is stored with its answer, and so is,
 * once a call of a later step is told, every result before it; at the end of the turn everything is.
 */
export function checkFinishedSteps(told: readonly Seen[], log: Log): string[] {
  const faults: string[] = [];
  const refs = new Set(log.flatMap((entry) => entry.calls ?? []).map(({ ref }) => ref));
  const results = new Map(log.map((entry) => [entry.kind === "result" ? entry.call : undefined, entry]));
  const isFinished = told.at(-1)?.event === "turn.finished";
  const called = told.filter(({ event }) => event === "tool.call");
  const last = isFinished ? Infinity : Math.max(0, ...called.map(({ data }) => data.step));
  for (const { data } of called) {
    if (!refs.has(data.ref)) faults.push(`the call ${data.ref} was told, and is lost`);
  }
  const newest = new Map(
    told.filter(({ event }) => event === "tool.result").map((seen) => [seen.data.ref, seen]),
  );
  for (const [ref, { data }] of newest) {
    const entry = results.get(ref);
    if (data.step >= last) continue;
    if (entry === undefined) faults.push(`the result of ${ref} was told, and is lost`);
    else if (entry.status !== data.status) {
      faults.push(`${ref} was told as ${data.status}, and is ${entry.status}`);
    } else if (!data.shortened && data.output !== entry.output?.value) {
      faults.push(`${ref} was told otherwise`);
    }
  }
  return faults;
}

/** A client that followed a turn to its end knows all that the log has of it. */
export function checkTold(
  told: readonly Seen[],
  { log, turn }: { readonly log: Log; readonly turn: string },
): string[] {
  const faults: string[] = [];
  const known = new Set(told.flatMap(({ event, data }) => event === "tool.result" ? [data.ref] : []));
  const called = new Set<string>();
  for (const { event, data } of told) {
    if (event === "tool.call") called.add(data.ref);
    if (event === "tool.result" && !called.has(data.ref)) {
      faults.push(`${data.ref} has a result, and was not told`);
    }
  }
  for (const entry of log) {
    if (entry.turn !== turn || entry.kind !== "result" || known.has(entry.call ?? "")) continue;
    faults.push(`the result of ${entry.call} (${entry.status}) was not told`);
  }
  return faults;
}

/** Events of a turn come in the order of their numbers. */
export function checkOrder(told: readonly Seen[]): string[] {
  return told.flatMap(({ id }, at) => {
    const before = told[at - 1];
    return before !== undefined && numberOf(id) <= numberOf(before.id)
      ? [`${id} came after ${before.id}`]
      : [];
  });
}

/** The same bytes for the same id, whoever reads them and whenever. */
export class Bytes {
  readonly #raw = new Map<string, string>();

  /** Compares events with all that were seen before. */
  check(told: readonly Seen[]): string[] {
    return told.flatMap(({ id, raw }) => {
      const before = this.#raw.get(id);
      this.#raw.set(id, before ?? raw);
      return before === undefined || before === raw
        ? []
        : [`${id} was ${before.slice(0, 200)}, and is ${raw.slice(0, 200)}`];
    });
  }
}

/** Tools with effects ran once at the most, each run has its call in the log, each good result its run. */
export function checkRuns(runs: Runs, logs: readonly Log[]): string[] {
  const faults: string[] = [];
  const keys = new Map<string, string | undefined>();
  for (const log of logs) {
    const results = new Map(
      log.map((entry) => [entry.kind === "result" ? entry.call : undefined, entry.status]),
    );
    for (const { ref, input } of log.flatMap((entry) => entry.calls ?? [])) {
      const { key = "" } = input;
      if (keys.has(key)) faults.push(`the call ${key} is in the log twice`);
      keys.set(key, results.get(ref));
      if (results.get(ref) === "ok" && !runs.has(key)) faults.push(`${key} has a result without a run`);
    }
  }
  for (const [key, { tool, times }] of runs) {
    if (!keys.has(key)) faults.push(`${tool} ran ${key}, of which the log knows nothing`);
    if (tool === "count_some" && times > 1) faults.push(`${tool} ran ${key} ${times} times`);
  }
  return faults;
}

/** Keys whose results are in a log. */
export function keysWithResults(log: Log): readonly string[] {
  const answered = new Set(log.map((entry) => entry.kind === "result" ? entry.call : undefined));
  return log.flatMap((entry) => entry.calls ?? []).filter(({ ref }) => answered.has(ref)).map(({ input }) =>
    input.key ?? ""
  );
}

/** No tool ran again, of whichever kind, after its result was stored. */
export function checkNotAgain(keys: readonly string[], before: Runs, after: Runs): string[] {
  return keys.flatMap((key) => {
    const [then, now] = [before.get(key)?.times ?? 0, after.get(key)?.times ?? 0];
    return now > then ? [`${key} ran again after its result was stored`] : [];
  });
}
