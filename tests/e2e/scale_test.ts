/** Small forms of `deno task test:crash`: killed processes, contending processes, many turns in one process. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { systemClock } from "../../src/loop/clock.ts";
import { checkLog, checkOrder } from "../crash/_checks.ts";
import { readEvents, readLog, readWhole, type Seen, sendJson } from "../crash/_client.ts";
import { Plans } from "../crash/_plans.ts";
import { Pool } from "../crash/_pool.ts";
import { Random } from "../crash/_setup.ts";
import { checkNotAtOnce, runContention } from "../crash/contention.ts";
import { measureHeap } from "../crash/heap.ts";
import { runRounds } from "../crash/rounds.ts";
import { tempKv } from "../support/server.ts";

/** Says whether something is done within some time. */
async function isDoneWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const done = new AbortController();
  const late = systemClock.sleep(ms, done.signal).then(() => false, () => true);
  void work.then(() => done.abort(), () => done.abort());
  return await late;
}

/** A plan that asks for nothing. */
const NOTHING = { steps: 0, calls: 1, ms: 0, chars: 1 } as const;

Deno.test("20 rounds of servers killed with SIGKILL lose no finished step, and leave no session stuck", async () => {
  const report = await runRounds({ rounds: 20, seed: 20_260_901 });
  deepEqual(report.faults, []);
  deepEqual(report.refused, []);
  ok(report.kills >= 20, `${report.kills} kills`);
  ok(report.takeovers > 0 && report.compactions > 0 && report.aborted > 0, JSON.stringify(report));
});

Deno.test("a server that stood still loses its turn to another one, and sends its clients there", async () => {
  await using folder = await tempKv();
  const kv = new URL(`../../${folder.path}`, import.meta.url).pathname;
  await using plans = new Plans();
  await Deno.writeTextFile(`${kv}.tally`, "");
  const setup = { kv, model: plans.double.url, tally: `${kv}.tally`, speed: 10, epoch: Date.now() };
  await using pool = await Pool.start(setup, 2);
  const [first, second] = await pool.alive();
  ok(second !== undefined);
  const plan = plans.add({ steps: 3, calls: 2, ms: 20, chars: 200 }, new Random(1));
  // The model falls silent in the second step.
  const silent = Promise.withResolvers<void>();
  plans.watch(plan, (number) => {
    if (number !== 2) return undefined;
    silent.resolve();
    return { hangAfter: 2 };
  });
  const body = JSON.stringify({ session: "s", input: `Do ${plan}.`, onDisconnect: "continue" });
  const response = await fetch(`${first.url}/v1/turns`, { method: "POST", body });
  const told: Seen[] = [];
  const reading = readEvents(response, (seen) => void told.push(seen));
  await silent.promise;
  await new Promise((resolve) => setTimeout(resolve, 100));
  // A process that is stopped in the middle of a write would keep everybody from the database.
  for (let isFree = false; !isFree;) {
    first.kill("SIGSTOP");
    const other = JSON.stringify({ input: `Do ${plans.add(NOTHING, new Random(2))}.`, stream: false });
    const written = sendJson(second, "/v1/turns", { method: "POST", body: other });
    isFree = await isDoneWithin(2_000, written);
    if (isFree) break;
    first.kill("SIGCONT");
    await written;
  }
  const turn = told[0]?.data.turn;
  const whole = await readWhole(second, turn);
  equal(whole?.at(-1)?.data.reason, "stop");
  const log = await readLog(second, "s");
  first.kill("SIGCONT");
  equal(await reading, "ended", "the first server tells no end of a turn that went on elsewhere");
  const rest: Seen[] = [];
  const again = await fetch(`${first.url}/v1/turns/${turn}/events`, {
    headers: { "last-event-id": told.at(-1)?.id ?? "" },
  });
  equal(await readEvents(again, (seen) => void rest.push(seen)), "finished");
  deepEqual(checkOrder([...told, ...rest]), []);
  deepEqual(rest.at(-1), whole?.at(-1));
  deepEqual(await readLog(first, "s"), log, "what stood still has written something");
  deepEqual(checkLog(log ?? []), []);
});

Deno.test("3 servers that contend for 30 sessions run no turn twice, and tell every event everywhere", async () => {
  const report = await runContention({ processes: 3, sessions: 30, seed: 20_260_901 });
  deepEqual(report.faults, []);
  equal(report.turns, 60);
  equal(report.followed, 60);
});

Deno.test("checkNotAtOnce() finds a tool of another turn that begins before the last one has ended", () => {
  const tally = [
    "begin t plan1x.0 s",
    "begin t plan1x.1 s",
    "end t plan1x.0 s",
    "begin t plan2x.0 s",
    "end t plan1x.1 s",
  ];
  deepEqual(checkNotAtOnce(tally.join("\n")), ["plan2x.0 began in s while plan1x.1 was running"]);
  deepEqual(checkNotAtOnce(tally.toSpliced(3, 1).join("\n")), []);
});

Deno.test("1,500 turns in one process leave its heap as it was, no timer and no stream", async () => {
  deepEqual((await measureHeap({ turns: 1_500, from: 500 })).faults, []);
});
