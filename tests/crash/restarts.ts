/**
 * Servers that are told to go down in the middle of turns, and replaced: nothing is lost by that. Each call runs once,
 * whichever process it was asked for in, and none is closed as aborted that had not begun.
 *
 * @module
 */
import { checkLog, checkRuns, readTally } from "./_checks.ts";
import { type LoggedEntry, readEvents, readLog, send } from "./_client.ts";
import { Plans } from "./_plans.ts";
import { type Server, startServer } from "./_pool.ts";
import { Random, type Setup } from "./_setup.ts";

/** What a run does. */
export interface RestartsOptions {
  readonly restarts: number;
  readonly seed: number;
}

/** What came of it. */
export interface RestartsReport {
  readonly restarts: number;
  readonly turns: number;
  /** Turns that a process has put down, and another one went on with. */
  readonly handedOver: number;
  readonly toolRuns: number;
  /** Calls that had begun and were not waited for any longer. */
  readonly aborted: number;
  /** Sentences on what does not hold. */
  readonly faults: readonly string[];
}

/** Turns that begin in each process. */
const TURNS = 6;

/** Turns as their clients have them. */
class Clients {
  readonly sessions: string[] = [];
  handedOver = 0;
  readonly #left = new Set<{ readonly turn: string; last: string }>();

  /** Starts turns, and goes on with those that the process before has put down, until this one is gone. */
  async attend(server: Server, bodies: readonly string[]): Promise<void> {
    const left = [...this.#left];
    this.handedOver += left.length;
    this.#left.clear();
    await Promise.all([
      ...bodies.map(async (body) =>
        await this.#read(await send(server, "/v1/turns", { method: "POST", body }))
      ),
      ...left.map(async ({ turn, last }) => {
        const headers = { "last-event-id": last };
        await this.#read(await send(server, `/v1/turns/${turn}/events`, { headers }), { turn, last });
      }),
    ]);
  }

  async #read(response: Response | null, seen = { turn: "", last: "" }): Promise<void> {
    if (response?.status === 200) {
      const end = await readEvents(response, ({ id }) => {
        seen.turn = id.slice(0, id.lastIndexOf(":"));
        seen.last = id;
      });
      if (end === "finished") return;
    } else await response?.body?.cancel();
    if (seen.turn !== "") this.#left.add(seen);
  }
}

/** No call is closed as aborted that had not begun: it would have run elsewhere. */
function checkAborted(log: readonly LoggedEntry[], runs: ReadonlyMap<string, unknown>): string[] {
  const aborted = new Set(log.map(({ call, status }) => status === "aborted" ? call : undefined));
  return log.flatMap(({ calls = [] }) => calls).flatMap(({ ref, input: { key = "" } }) =>
    aborted.has(ref) && !runs.has(key) ? [`the call ${key} is aborted, and never began`] : []
  );
}

/** Runs the restarts. */
export async function runRestarts({ restarts, seed }: RestartsOptions): Promise<RestartsReport> {
  const random = new Random(seed);
  const folder = await Deno.makeTempDir({ prefix: "selvage-restarts-" });
  const clients = new Clients();
  const faults: string[] = [];
  try {
    await using plans = new Plans();
    const tally = `${folder}/tally`;
    await Deno.writeTextFile(tally, "");
    const kv = `${folder}/kv.sqlite3`;
    const setup: Setup = { kv, model: plans.double.url, tally, speed: 1, epoch: Date.now() };
    for (let round = 0; round < restarts; round++) {
      const server = await startServer(setup);
      const bodies = Array.from({ length: TURNS }, () => {
        const plan = plans.add({ steps: 3 + random.below(5), calls: 6, ms: 60, chars: 500 }, random);
        const session = `s${clients.sessions.length}`;
        clients.sessions.push(session);
        return JSON.stringify({ session, input: `Do ${plan}.`, onDisconnect: "continue" });
      });
      const attended = clients.attend(server, bodies);
      await new Promise((resolve) => setTimeout(resolve, 200 + random.below(600)));
      server.kill("SIGTERM");
      await Promise.all([attended, server.gone]);
      faults.push(...server.complaints.map((line) => `a server says: ${line}`));
    }
    const last = await startServer(setup);
    await clients.attend(last, []);
    const { sessions, handedOver } = clients;
    const logs = await Promise.all(sessions.map(async (session) => await readLog(last, session) ?? []));
    last.kill();
    await last.gone;
    const runs = await readTally(tally);
    faults.push(...checkRuns(runs, logs), ...logs.flatMap(checkLog));
    faults.push(...logs.flatMap((log) => checkAborted(log, runs)));
    for (const [key, { times }] of runs) if (times > 1) faults.push(`${key} ran ${times} times`);
    const aborted = logs.flat().filter(({ status }) => status === "aborted").length;
    return { restarts, turns: sessions.length, handedOver, toolRuns: runs.size, aborted, faults };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
