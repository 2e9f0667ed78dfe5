/**
 * Many processes on one database: two of them start turns in the same session at the same time, a third one is
 * sent a request twice, others follow turns that run elsewhere. Nobody dies; nothing may be done twice, lost or
 * told in another order.
 *
 * @module
 */
import { Bytes, checkLog, checkOrder, checkRuns, checkTold, readTally } from "./_checks.ts";
import { type LoggedEntry, readEvents, readLog, type Seen, send } from "./_client.ts";
import { Plans } from "./_plans.ts";
import { Pool, type Server } from "./_pool.ts";
import { Random, type Setup } from "./_setup.ts";

/** What a run does. */
export interface ContentionOptions {
  readonly processes: number;
  readonly sessions: number;
  readonly seed: number;
}

/** What came of it. */
export interface ContentionReport {
  readonly processes: number;
  readonly sessions: number;
  readonly turns: number;
  /** Events read, by those who started a turn and by those who followed it elsewhere. */
  readonly events: number;
  /** Turns that were followed in another process, from their start to their end. */
  readonly followed: number;
  /** Requests that were sent twice and gave the same turn. */
  readonly replayed: number;
  /** Times that a turn was refused because another one was running, and asked for again. */
  readonly refused: number;
  readonly toolRuns: number;
  /** Sentences on what does not hold. */
  readonly faults: readonly string[];
}

/** Sessions that are at work at a time, for each process. */
const AT_ONCE = 3;

type Counts = {
  -readonly [Name in keyof ContentionReport]: ContentionReport[Name] extends number ? number : string[];
};

/** A turn as one client sees it. */
interface Told {
  readonly turn: string;
  readonly events: readonly Seen[];
  readonly isReplay: boolean;
}

/** Sends a turn until it is taken; `onTurn` is told its id with the first event. */
async function runTurn(
  server: Server,
  { body, key, counts, onTurn = () => {} }: {
    readonly body: string;
    readonly key: string;
    readonly counts: Counts;
    readonly onTurn?: (turn: string) => void;
  },
): Promise<Told> {
  for (;;) {
    const response = await send(server, "/v1/turns", {
      method: "POST",
      body,
      headers: { "idempotency-key": key },
    });
    if (response?.status === 200) {
      const events: Seen[] = [];
      await readEvents(response, (seen) => {
        if (events.length === 0) onTurn(seen.id.replace(/:\d+$/, ""));
        events.push(seen);
        counts.events++;
      });
      return {
        turn: events[0]?.id.replace(/:\d+$/, "") ?? "",
        events,
        isReplay: response.headers.get("idempotency-replayed") === "true",
      };
    }
    const text = await response?.text() ?? "no answer";
    if (response?.status !== 409 || !text.includes("turn_running")) {
      throw new Error(`${response?.status} ${text}`);
    }
    counts.refused++;
  }
}

async function followTurn(server: Server, turn: string, counts: Counts): Promise<readonly Seen[]> {
  const events: Seen[] = [];
  const response = await send(server, `/v1/turns/${turn}/events`);
  if (response?.status !== 200) throw new Error(`${response?.status} on following ${turn}`);
  await readEvents(response, (seen) => {
    events.push(seen);
    counts.events++;
  });
  counts.followed++;
  return events;
}

/** What differs between what two clients were told of a turn. */
function checkSame(one: readonly Seen[], other: readonly Seen[]): string[] {
  const at = one.findIndex(({ raw }, index) => raw !== other[index]?.raw);
  if (at < 0 && one.length === other.length) return [];
  return [
    `${one[0]?.id}: ${one.length} and ${other.length} events, different from ${at} on: ` +
    `${one[at]?.raw.slice(0, 150)} / ${other[at]?.raw.slice(0, 150)}`,
  ];
}

/** Lines of a tally where a tool begins while one of another turn in the same session has not ended. */
export function checkNotAtOnce(tally: string): string[] {
  const running = new Map<string, string[]>();
  const faults: string[] = [];
  for (const line of tally.split("\n")) {
    const [, what, key = "", plan = "", session = ""] =
      line.match(/^(begin|end) \S+ ((plan\d+x)\.\d+) (\S+)$/) ?? [];
    const others = running.get(session) ?? [];
    if (what === undefined) continue;
    if (what === "end") running.set(session, others.filter((other) => other !== key));
    else {
      const stranger = others.find((other) => !other.startsWith(`${plan}.`));
      if (stranger !== undefined) faults.push(`${key} began in ${session} while ${stranger} was running`);
      running.set(session, [...others, key]);
    }
  }
  return faults;
}

async function contend(
  session: string,
  { servers, plans, random, counts, bytes }: {
    readonly servers: readonly Server[];
    readonly plans: Plans;
    readonly random: Random;
    readonly counts: Counts;
    readonly bytes: Bytes;
  },
): Promise<readonly LoggedEntry[]> {
  const first = random.below(servers.length);
  const at = (offset: number): Server => {
    const server = servers[(first + offset) % servers.length];
    if (server === undefined) throw new Error("There are no servers");
    return server;
  };
  const started = await Promise.all([0, 1].map(async (number) => {
    const plan = plans.add({ steps: 1 + random.below(3), calls: 3, ms: 20, chars: 600 }, random);
    const onDisconnect = random.pick(["abort", "continue"]);
    const body = JSON.stringify({ session, input: `Do ${plan}.`, onDisconnect });
    const key = `key-${plan}`;
    counts.turns++;
    const followers: Promise<readonly Seen[]>[] = [];
    const onTurn = (turn: string): void => void followers.push(followTurn(at(2 + number), turn, counts));
    // The same request in another process at the same time: one of both starts the turn.
    const twice = random.chance(0.5);
    const clients = await Promise.all([
      runTurn(at(number), { body, key, counts, onTurn }),
      ...(twice ? [runTurn(at(number + 1), { body, key, counts })] : []),
    ]);
    return { plan, clients, followers: await Promise.all(followers) };
  }));
  const log = await readLog(at(0), session) ?? [];
  const faults = checkLog(log);
  for (const { plan, clients, followers } of started) {
    const [one, other] = clients;
    const inputs = log.filter(({ kind, message }) =>
      kind === "user" && JSON.stringify(message).includes(plan)
    );
    if (inputs.length !== 1) faults.push(`the input of ${plan} is in the log ${inputs.length} times`);
    if (one === undefined) continue;
    if (one.events.at(-1)?.data.reason !== "stop") {
      faults.push(`${one.turn} ended with ${one.events.at(-1)?.raw}`);
    }
    faults.push(...checkOrder(one.events), ...checkTold(one.events, { log, turn: one.turn }));
    faults.push(...bytes.check(one.events));
    for (const events of followers) faults.push(...checkSame(one.events, events));
    if (other === undefined) continue;
    if (other.isReplay === one.isReplay) faults.push(`${plan} was started twice, or by nobody`);
    counts.replayed++;
    faults.push(...checkSame(one.events, other.events));
  }
  counts.faults.push(...faults.map((fault) => `${session}: ${fault}`));
  return log;
}

/** Has processes contend for sessions. */
export async function runContention(options: ContentionOptions): Promise<ContentionReport> {
  const { processes, sessions, seed } = options;
  const counts: Counts = {
    processes,
    sessions,
    turns: 0,
    events: 0,
    followed: 0,
    replayed: 0,
    refused: 0,
    toolRuns: 0,
    faults: [],
  };
  const folder = await Deno.makeTempDir({ prefix: "selvage-contention-" });
  const tally = `${folder}/tally`;
  try {
    await Deno.writeTextFile(tally, "");
    await using plans = new Plans();
    const setup: Setup = {
      kv: `${folder}/kv.sqlite3`,
      model: plans.double.url,
      tally,
      speed: 1,
      epoch: Date.now(),
    };
    await using pool = await Pool.start(setup, processes);
    const servers = await pool.alive();
    const bytes = new Bytes();
    const logs: (readonly LoggedEntry[])[] = [];
    let next = 0;
    await Promise.all(Array.from({ length: Math.min(sessions, AT_ONCE * processes) }, async () => {
      while (next < sessions) {
        const number = next++;
        const random = new Random(seed + number * 7_919);
        const session = `s${number}`;
        try {
          logs.push(await contend(session, { servers, plans, random, counts, bytes }));
        } catch (error) {
          counts.faults.push(`${session}: ${error instanceof Error ? error.stack : error}`);
        }
      }
    }));
    const runs = await readTally(tally);
    counts.faults.push(...checkRuns(runs, logs), ...checkNotAtOnce(await Deno.readTextFile(tally)));
    for (const [key, { times }] of runs) {
      counts.toolRuns += times;
      if (times > 1) counts.faults.push(`${key} ran ${times} times`);
    }
    counts.faults.push(...plans.double.violations);
    counts.faults.push(...pool.complaints.map((line) => `a server says: ${line}`));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return counts;
}
