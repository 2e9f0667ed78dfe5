/**
 * What the loop costs over a pass-through: processor time of the service per step and per delta, against that of a
 * server that hands the same requests through. Both run in turn, in one run; what is judged is the ratio.
 */
import { CPU_PATH, type Plan, planText } from "./_loop_servers.ts";
import { type Side, startSide, stopSides } from "./_sides.ts";

/** One comparison. */
interface Race {
  readonly name: string;
  readonly plan: Plan;
  /** Runs of each side in a round. */
  readonly runs: number;
  /** Runs at the same time. */
  readonly parallel: number;
  readonly limit: number;
}

const ROUNDS = 25;

const RACES: readonly Race[] = [
  {
    name: "10 steps",
    plan: { kind: "steps", count: 10, size: 64 },
    runs: 12,
    parallel: 1,
    limit: 1.5,
  },
  {
    name: "200 steps",
    plan: { kind: "steps", count: 200, size: 64 },
    runs: 1,
    parallel: 1,
    limit: 1.5,
  },
  {
    name: "200 steps of 5 kB",
    plan: { kind: "steps", count: 200, size: 5_000 },
    runs: 1,
    parallel: 1,
    limit: 1.3,
  },
  {
    name: "deltas, 1 stream",
    plan: { kind: "deltas", count: 500, size: 0 },
    runs: 1,
    parallel: 1,
    limit: 1.4,
  },
  {
    name: "deltas, 20 streams",
    plan: { kind: "deltas", count: 200, size: 0 },
    runs: 20,
    parallel: 20,
    limit: 1.4,
  },
];

function start(role: string, ...args: readonly string[]): Promise<Side> {
  // For a profile, say: `loop "200 steps" --cpu-prof --cpu-prof-dir=DIR`.
  const flags = role === "own" ? Deno.args.slice(2) : [];
  return startSide("./_loop_servers.ts", { args: [role, ...args], flags });
}

/** Processor time that a server has had, in microseconds. */
async function processorTime(url: string): Promise<number> {
  return Number(await (await fetch(url + CPU_PATH)).text());
}

let ids = 0;

/** Drives the loop from outside: a request for each step, the whole history in it. */
async function runRaw(url: string, plan: Plan): Promise<void> {
  const messages: unknown[] = [{ role: "user", content: planText(`raw${ids++}`, plan) }];
  const steps = plan.kind === "steps" ? plan.count + 1 : 1;
  const result = "const line = 0;\n".repeat(1_000).slice(0, plan.size);
  for (let step = 1; step <= steps; step++) {
    const body = JSON.stringify({ model: "m", stream: true, messages });
    const response = await fetch(url, { method: "POST", body });
    for await (const _ of response.body ?? []);
    const call = {
      name: "read_file",
      arguments: JSON.stringify({ path: `src/${step}.ts`, size: plan.size }),
    };
    messages.push(
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: `call_${step}`, type: "function", function: call }],
      },
      { role: "tool", tool_call_id: `call_${step}`, content: result },
    );
  }
}

/** Asks for one turn and reads it to its end. */
async function runOwn(url: string, plan: Plan): Promise<void> {
  const response = await fetch(`${url}/v1/turns`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ input: planText(`own${ids++}`, plan) }),
  });
  let end = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    end = (end + decoder.decode(bytes, { stream: true })).slice(-400);
  }
  if (!/"reason":"stop"/.test(end)) throw new Error(`Cannot use the run: found the end ${end}`);
}

/** Processor time of one round, in microseconds per step or delta. */
async function round(
  { parallel, plan, runs }: Race,
  { side, run }: { readonly side: Side; readonly run: typeof runRaw },
): Promise<number> {
  const before = await processorTime(side.url);
  for (let done = 0; done < runs; done += parallel) {
    await Promise.all(Array.from({ length: parallel }, () => run(side.url, plan)));
  }
  return (await processorTime(side.url) - before) / (runs * plan.count);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/** Runs all races, or the one that the second argument names, and prints their ratios. */
export async function run(): Promise<void> {
  const [, wanted = ""] = Deno.args;
  const races = RACES.filter(({ name }) => wanted === "" || name === wanted);
  if (races.length === 0) {
    const names = RACES.map(({ name }) => JSON.stringify(name)).join(", ");
    throw new RangeError(`Cannot run the race ${JSON.stringify(wanted)}: wanted one of ${names}`);
  }
  const model = await start("model");
  const sides = { raw: await start("raw", model.url), own: await start("own", model.url) };
  const table: Record<string, Record<string, string>> = {};
  try {
    for (const race of races) {
      const [raws, owns]: [number[], number[]] = [[], []];
      // The first round warms both up.
      for (let n = 0; n <= ROUNDS; n++) {
        const raw = await round(race, { side: sides.raw, run: runRaw });
        const own = await round(race, { side: sides.own, run: runOwn });
        if (n > 0) raws.push(raw), owns.push(own);
      }
      // Medians: a round in which something else had the machine counts as one round.
      const ratio = median(owns) / median(raws);
      const each = owns.map((own, n) => own / (raws[n] ?? NaN));
      table[`${race.name}, per ${race.plan.kind === "steps" ? "step" : "delta"}`] = {
        wanted: `<= ${race.limit}x`,
        measured: `${ratio.toFixed(2)}x`,
        rounds: `${Math.min(...each).toFixed(2)} to ${Math.max(...each).toFixed(2)}`,
        [`raw, µs`]: median(raws).toFixed(0),
        [`own, µs`]: median(owns).toFixed(0),
        met: ratio <= race.limit ? "yes" : "NO",
      };
    }
  } finally {
    await stopSides(sides.own, sides.raw, model);
  }
  console.table(table);
}
