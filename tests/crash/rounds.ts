/**
 * Rounds of the crash suite: server processes are killed in the middle of turns, at a moment that is counted in
 * events, requests, writes or tools; other processes go on, and may be killed as well. Then everything is looked at.
 *
 * Over 300 lines: a round, its clients and what is counted of them know each other.
 *
 * @module
 */
import {
  Bytes,
  checkAppended,
  checkFinishedSteps,
  checkLog,
  checkNotAgain,
  checkOrder,
  checkRuns,
  checkTold,
  keysWithResults,
  readTally,
  type Runs,
} from "./_checks.ts";
import {
  type LoggedEntry,
  numberOf,
  readEvents,
  readLog,
  readWhole,
  type Seen,
  send,
  sendJson,
  type StreamEnd,
} from "./_client.ts";
import { type PlanOptions, Plans } from "./_plans.ts";
import { Pool, type Server } from "./_pool.ts";
import { type Death, NEVER, Random, type Setup } from "./_setup.ts";

/** What a run does. */
export interface RoundsOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Rounds at a time, each with a database and servers of its own. Default 2. */
  readonly lanes?: number;
  /** Times as fast as real time that leases run out. Default 10. */
  readonly speed?: number;
  /** Told of each round that is over. */
  readonly onRound?: (round: number) => void;
}

/** What came of it. */
export interface RoundsReport {
  readonly rounds: number;
  /** Processes killed. */
  readonly kills: number;
  /** Turns started, followed to their end, and left behind for a new one. */
  readonly turns: number;
  readonly events: number;
  /** Requests at the model, and those it refused. */
  readonly requests: number;
  readonly refused: readonly string[];
  readonly toolRuns: number;
  readonly toolsRunAgain: number;
  readonly compactions: number;
  readonly takeovers: number;
  /** Calls that were closed as aborted. */
  readonly aborted: number;
  /** Times that a turn had to be asked for again because another one was running. */
  readonly waits: number;
  /** Sentences on what does not hold. */
  readonly faults: readonly string[];
}

/** Leases live that long, in milliseconds of the servers' clock. */
const TTL_MS = 10_000;
/** Real milliseconds after which a round is stuck. */
const ROUND_MS = 60_000;
/** Real milliseconds that a machine under load may take for what needs none. */
const PATIENCE_MS = 8_000;
/** Entries after which a session is left for a new one. */
const LONG = 150;
/** Share of the turns whose input takes several writes to store. */
const BIG = 0.2;
/** A picture of few tokens and many bytes: the header of one of 64 by 64, and what no reader looks at. */
const PICTURE = {
  type: "file",
  mediaType: "image/png",
  data: `iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAYAAACqaXHe${"AAAA".repeat(200_000)}`,
};
/** Takeovers of one turn that do not end it: so often may processes be killed in a round. */
const KILLS_PER_ROUND = 3;

type Counts = {
  -readonly [Name in keyof RoundsReport]: RoundsReport[Name] extends number ? number : string[];
};

/** Kills a server at a moment that is counted. */
class Trigger {
  readonly victim: Server;
  readonly #death: Death | { readonly at: "event" | "request"; readonly n: number };
  readonly #delay: number;
  #count = 0;

  constructor(victim: Server, random: Random) {
    this.victim = victim;
    const at = random.pick(
      ["event", "event", "request", "before_write", "after_write", "before_tool", "after_tool"] as const,
    );
    const most =
      { event: 120, request: 8, before_write: 20, after_write: 20, before_tool: 12, after_tool: 12 }[at];
    this.#death = { at, n: 1 + random.below(most) };
    this.#delay = random.chance(0.5) ? 0 : random.below(30);
  }

  /** Makes the server kill itself, where that is how it is to die. */
  async arm(): Promise<void> {
    const { at, n } = this.#death;
    if (at !== "event" && at !== "request") await this.victim.arm({ at, n });
  }

  /** Counts an event or a request. */
  count(at: "event" | "request"): boolean {
    if (this.#death.at !== at || ++this.#count !== this.#death.n) return false;
    // Often a little later: an event is told before what goes with it is stored.
    if (this.#delay === 0) this.victim.kill();
    else setTimeout(() => this.victim.kill(), this.#delay);
    return true;
  }

  /** What it is, for a report. */
  toString(): string {
    return `${this.#death.at} ${this.#death.n}`;
  }
}

/** One turn, from the client's side. */
interface Drive {
  readonly session: string;
  readonly plan: string;
  readonly body: string;
  readonly key: string;
  turn: string | null;
  /** All that the client was told, over all streams. */
  readonly told: Seen[];
  end: "running" | "finished" | "left";
  /** For the report of a round that is stuck. */
  doing: string;
}

/** One database with its servers, and the rounds that run on it one after the other. */
class Lane {
  readonly #pool: Pool;
  readonly #plans: Plans;
  readonly #setup: Setup;
  readonly #counts: Counts;
  #sessions: string[] = [];
  #names = 0;
  readonly #lane: number;
  readonly #bytes = new Bytes();
  #round = "";
  #isOver = false;
  /** For the report of a round that is stuck. */
  #doing = "";
  #drives: readonly Drive[] = [];

  constructor(
    lane: number,
    { pool, plans, setup, counts }: { pool: Pool; plans: Plans; setup: Setup; counts: Counts },
  ) {
    this.#lane = lane;
    this.#pool = pool;
    this.#plans = plans;
    this.#setup = setup;
    this.#counts = counts;
  }

  /** Whether a round has not come to its end. */
  get isStuck(): boolean {
    return this.#isOver;
  }

  /** Runs one round; false where the next ones cannot be run. */
  async run(round: number, random: Random): Promise<boolean> {
    this.#round = `round ${round}`;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<"late">((resolve) => timer = setTimeout(() => resolve("late"), ROUND_MS));
    try {
      const done = await Promise.race([this.#play(random).then(() => "done"), late]);
      if (done === "late") {
        this.#isOver = true;
        const where = this.#drives.map(({ session, turn, end, told, doing }) =>
          `${session} ${turn} ${end} ${doing} after ${told.at(-1)?.id} ${told.at(-1)?.event}`
        );
        this.#fault([`it is stuck ${this.#doing}: ${where.join("; ")}`]);
      }
    } catch (error) {
      this.#fault([error instanceof Error ? error.stack ?? error.message : String(error)]);
    } finally {
      clearTimeout(timer);
    }
    return !this.#isOver;
  }

  /** Nobody dies any more: a death that has not come in this round is no affair of the next. */
  async #disarm(): Promise<void> {
    for (const server of await this.#pool.alive()) await server.arm(NEVER).catch(() => {});
  }

  #fault(faults: readonly string[], where = ""): void {
    for (const fault of faults) this.#counts.faults.push(`${this.#round}${where && `, ${where}`}: ${fault}`);
  }

  async #play(random: Random): Promise<void> {
    const servers = await this.#pool.alive();
    const trigger = new Trigger(random.pick(servers), random);
    this.#round += ` (${trigger})`;
    let kills = KILLS_PER_ROUND - 1;
    const mayKill = (): boolean => kills > 0 && random.chance(0.3) && kills-- > 0;
    const sessions = this.#pickSessions(1 + random.below(3), random);
    const drives = sessions.map((session) => this.#newDrive(session, random, somePlan(random)));
    this.#drives = drives;
    this.#doing = "before the kill";
    for (const { plan } of drives) {
      this.#plans.watch(plan, () => {
        const frames = random.below(6);
        return trigger.count("request") ? { hangAfter: frames } : undefined;
      });
    }
    await trigger.arm();
    await Promise.all(
      drives.map((drive) => this.#start(drive, trigger.victim, () => void trigger.count("event"))),
    );
    // Its moment may never have come.
    trigger.victim.kill();
    await trigger.victim.gone;

    this.#doing = "after the kill";
    const before = new Map<string, readonly LoggedEntry[]>();
    for (const { session, told } of drives) {
      const log = await this.#log(session);
      before.set(session, log);
      this.#fault(checkFinishedSteps(told, log), `${session} after the kill`);
    }
    const runs = await readTally(this.#setup.tally);

    const later: Drive[] = [];
    await Promise.all(drives.map(async (drive) => {
      const others = { mayKill, random };
      if (drive.end !== "running") return;
      if (random.chance(0.3)) {
        // Nobody comes back for it: a new turn is sent, now and then while somebody follows all the same.
        const next = this.#newDrive(drive.session, random, somePlan(random));
        later.push(next);
        this.#drives = [...this.#drives, next];
        drive.end = "left";
        const spectator = random.chance(0.3) ? this.#watch(drive, random) : null;
        await this.#finish(next, others);
        await spectator;
      } else {
        const spectator = random.chance(0.3) ? this.#watch(drive, random) : null;
        await this.#finish(drive, others);
        await spectator;
      }
    }));
    this.#doing = "at rest";
    await this.#disarm();
    await this.#examine([...drives, ...later], { before, runs, random });
  }

  /** Asks for a turn, or goes on with it, until it has ended, whoever dies meanwhile. */
  async #finish(
    drive: Drive,
    { mayKill, random }: { readonly mayKill: () => boolean; readonly random: Random },
  ): Promise<void> {
    while (drive.end === "running" && !this.#isOver) {
      drive.doing = "waits for a server";
      const server = random.pick(await this.#pool.alive());
      drive.doing = `asks ${server.pid}`;
      if (mayKill()) {
        const { at, n } = {
          at: random.pick(["before_write", "after_write", "before_tool"] as const),
          n: random.below(9),
        };
        await server.arm({ at, n: n + 1 }).catch(() => {});
      }
      const last = drive.told.at(-1)?.id;
      if (drive.turn === null) await this.#start(drive, server);
      else await this.#follow(drive, server, last);
    }
  }

  async #start(drive: Drive, server: Server, onEvent = (): void => {}): Promise<void> {
    const response = await send(server, "/v1/turns", {
      method: "POST",
      body: drive.body,
      headers: { "idempotency-key": drive.key },
    });
    if (response === null) return;
    if (response.status !== 200) {
      const text = await response.text().catch(() => "");
      // A turn that goes on by itself is waited for; one that the store cannot serve at the moment is tried again.
      if (response.status === 409 && text.includes("turn_running")) this.#counts.waits++;
      else this.#fault([`${response.status} ${text}`], `${drive.session} on a start`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      return;
    }
    await this.#read(drive, response, onEvent);
  }

  async #follow(drive: Drive, server: Server, last: string | undefined): Promise<void> {
    const response = await send(server, `/v1/turns/${drive.turn}/events`, {
      headers: last === undefined ? {} : { "last-event-id": last },
    });
    if (response === null) return;
    if (response.status === 200) return await this.#read(drive, response);
    const text = await response.text().catch(() => "");
    if (response.status === 204) {
      // It is over, and the client knows all of it: it should have known that.
      this.#fault(["204 before its end was told"], `${drive.session} ${drive.turn}`);
      drive.end = "left";
    } else this.#fault([`${response.status} ${text}`], `${drive.session} on following`);
    drive.end = "left";
  }

  async #read(drive: Drive, response: Response, onEvent = (): void => {}): Promise<void> {
    drive.doing += ", reads";
    const told: Seen[] = [];
    const end: StreamEnd = await readEvents(response, (seen) => {
      this.#counts.events++;
      drive.turn ??= seen.id.slice(0, seen.id.lastIndexOf(":"));
      told.push(seen);
      drive.told.push(seen);
      onEvent();
    });
    this.#fault(this.#bytes.check(told), `${drive.session} bytes`);
    if (end !== "finished") return;
    drive.end = "finished";
    const { reason } = drive.told.at(-1)?.data ?? {};
    // All of the turn is looked at: a stream may break between its error and its end.
    const codes = drive.told.flatMap(({ event, data }) => event === "error" ? [data.code] : []);
    if (reason !== "stop") {
      this.#fault([`ended with ${reason}, ${codes}`], `${drive.session} ${drive.turn}`);
    }
  }

  /** Somebody else who follows the turn, from its beginning, for as long as the process lives. */
  async #watch({ turn, session }: Drive, random: Random): Promise<void> {
    if (turn === null) return;
    const server = random.pick(await this.#pool.alive());
    const response = await send(server, `/v1/turns/${turn}/events`);
    if (response?.status !== 200) return void await response?.body?.cancel();
    const told: Seen[] = [];
    await readEvents(response, (seen) => void told.push(seen));
    this.#fault([...this.#bytes.check(told), ...checkOrder(told)], `${session} watched`);
  }

  async #examine(
    drives: readonly Drive[],
    { before, runs, random }: {
      readonly before: ReadonlyMap<string, readonly LoggedEntry[]>;
      readonly runs: Runs;
      readonly random: Random;
    },
  ): Promise<void> {
    await this.#pool.settle();
    const logs: (readonly LoggedEntry[])[] = [];
    for (const [session, earlier] of before) {
      await this.#probe(session, random);
      const log = await this.#log(session);
      logs.push(log);
      this.#fault([...checkLog(log), ...checkAppended(earlier, log)], session);
      this.#counts.aborted += log.slice(earlier.length).filter(({ status }) => status === "aborted").length;
      if (log.length > LONG) this.#sessions = this.#sessions.filter((name) => name !== session);
    }
    const now = await readTally(this.#setup.tally);
    this.#fault(checkNotAgain([...before.values()].flatMap(keysWithResults), runs, now), "tally");
    for (const drive of drives) await this.#examineTurn(drive);
  }

  async #examineTurn({ turn, told, session, plan, end }: Drive): Promise<void> {
    const log = await this.#log(session);
    const where = `${session} ${turn}`;
    const inputs = log.filter(({ kind, message }) =>
      kind === "user" && JSON.stringify(message).includes(plan)
    );
    if (inputs.length > 1) this.#fault([`its input is in the log ${inputs.length} times`], where);
    if (turn === null) return;
    if (inputs.length === 0) this.#fault(["its input is not in the log"], where);
    this.#fault([...checkOrder(told), ...checkFinishedSteps(told, log)], where);
    if (end === "finished") this.#fault(checkTold(told, { log, turn }), where);
    const [one, other] = await this.#pool.alive();
    for (const server of other === undefined ? [one] : [one, other]) {
      const whole = await readWhole(server, turn);
      if (whole === null) {
        this.#fault(["its events are gone"], where);
        continue;
      }
      this.#fault([...this.#bytes.check(whole), ...checkOrder(whole)], `${where} read again`);
      this.#fault(checkTold(whole, { log, turn }), `${where} read again`);
      if (whole.at(-1)?.event !== "turn.finished") this.#fault(["it has no end"], `${where} read again`);
    }
    const runs = new Set(told.map(({ id }) => Math.floor(numberOf(id) / 1_000_000)));
    this.#counts.takeovers += runs.size - 1;
    this.#counts.compactions +=
      told.filter(({ event, data }) => event === "compaction" && data.phase === "applied").length;
  }

  /** A session at rest takes a new turn at once, in any process. */
  async #probe(session: string, random: Random): Promise<void> {
    const server = random.pick(await this.#pool.alive());
    const plan = this.#plans.add({ steps: random.below(2), calls: 1, ms: 0, chars: 100 }, random);
    const started = Date.now();
    const answer = await sendJson(server, "/v1/turns", {
      method: "POST",
      body: JSON.stringify({ session, input: `Do ${plan}.`, stream: false }),
    });
    this.#counts.turns++;
    const took = Date.now() - started;
    if (answer?.body.reason !== "stop") this.#fault([`a new turn got ${JSON.stringify(answer)}`], session);
    if (took > TTL_MS / this.#setup.speed + PATIENCE_MS) this.#fault([`a new turn took ${took} ms`], session);
    const head = await sendJson(server, `/v1/sessions/${session}`);
    if (head?.body.running !== null) this.#fault([`it is not at rest: ${JSON.stringify(head)}`], session);
  }

  async #log(session: string): Promise<readonly LoggedEntry[]> {
    for (;;) {
      for (const server of await this.#pool.alive()) {
        const log = await readLog(server, session);
        if (log !== null) return log;
      }
    }
  }

  #newDrive(session: string, random: Random, options: PlanOptions): Drive {
    const plan = this.#plans.add(options, random);
    this.#counts.turns++;
    return {
      session,
      plan,
      body: JSON.stringify({
        session,
        input: random.chance(BIG) ? [{ type: "text", text: `Do ${plan}.` }, PICTURE] : `Do ${plan}.`,
        onDisconnect: random.pick(["abort", "continue"]),
      }),
      key: `key-${plan}`,
      turn: null,
      told: [],
      end: "running",
      doing: "",
    };
  }

  /** Sessions that are not in use; some new, some with a past. */
  #pickSessions(count: number, random: Random): readonly string[] {
    while (this.#sessions.length < 5) this.#sessions.push(`s${this.#lane}.${this.#names++}`);
    const rest = [...this.#sessions];
    return Array.from({ length: count }, () => rest.splice(random.below(rest.length), 1)[0] ?? "");
  }
}

function somePlan(random: Random): PlanOptions {
  return { steps: 2 + random.below(7), calls: 1 + random.below(4), ms: random.below(60), chars: 2_000 };
}

/** Runs the rounds. */
export async function runRounds(options: RoundsOptions): Promise<RoundsReport> {
  const { rounds, seed, speed = 10 } = options;
  const lanes = Math.min(rounds, options.lanes ?? 2);
  const counts: Counts = {
    rounds: 0,
    kills: 0,
    turns: 0,
    events: 0,
    requests: 0,
    refused: [],
    toolRuns: 0,
    toolsRunAgain: 0,
    compactions: 0,
    takeovers: 0,
    aborted: 0,
    waits: 0,
    faults: [],
  };
  const folder = await Deno.makeTempDir({ prefix: "selvage-crash-" });
  const epoch = Date.now();
  let next = 0;
  try {
    await using plans = new Plans();
    await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
      const tally = `${folder}/tally${lane}`;
      await Deno.writeTextFile(tally, "");
      const setup: Setup = {
        kv: `${folder}/kv${lane}.sqlite3`,
        model: plans.double.url,
        tally,
        speed,
        epoch,
      };
      await using pool = await Pool.start(setup, 3);
      const work = new Lane(lane, { pool, plans, setup, counts });
      while (next < rounds) {
        const round = ++next;
        const isFit = await work.run(round, new Random(seed + round * 7_919));
        counts.rounds++;
        options.onRound?.(round);
        if (!isFit) break;
      }
      if (!work.isStuck) await examineTally(pool, { tally, counts });
      counts.kills += pool.deaths;
      for (const line of pool.complaints) counts.faults.push(`a server says: ${line}`);
    }));
    counts.requests = plans.double.requests.length;
    counts.refused.push(...plans.double.violations);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return counts;
}

/** The tally against all sessions of a lane. */
async function examineTally(
  pool: Pool,
  { tally, counts }: { readonly tally: string; readonly counts: Counts },
): Promise<void> {
  const [server] = await pool.alive();
  const logs: (readonly LoggedEntry[])[] = [];
  for (let after = ""; after !== null;) {
    const page = await sendJson(server, `/v1/sessions?limit=100${after === "" ? "" : `&after=${after}`}`);
    for (const { session } of page?.body.sessions ?? []) logs.push(await readLog(server, session) ?? []);
    after = page?.body.next ?? null;
  }
  const runs = await readTally(tally);
  counts.faults.push(...checkRuns(runs, logs));
  for (const { times } of runs.values()) {
    counts.toolRuns += times;
    counts.toolsRunAgain += times - 1;
  }
}
