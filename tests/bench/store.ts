/**
 * What a step costs a server that stores it: CPU time against a server that only passes the model's bytes on, all
 * in one run, turn by turn in turns; and writes to the database. The servers are processes of their own, which
 * report their CPU time; the model and the clients are in this one, and cost them nothing.
 */
import process from "node:process";
import * as z from "zod";
import { createApp } from "../../src/http/mod.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import type { Store } from "../../src/ports.ts";
import { kvStore } from "../../src/store/kv.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { type Double, startDouble } from "../support/openai_double.ts";
import type { Json } from "../support/wire_json.ts";
import { parseFrames } from "../support/sse.ts";
import { listen } from "./http/serve.ts";

/** Servers that are compared. */
type Kind = "raw" | "memory" | "kv";

/** What a server has used so far. */
interface Used {
  /** Milliseconds of CPU time, all threads. */
  readonly cpu: number;
  /** Atomic writes. */
  readonly writes: number;
}

interface Server {
  readonly kind: Kind;
  readonly url: string;
  used(): Promise<Used>;
  stop(): Promise<void>;
}

/** Steps with a call in each turn; one more answers. */
const CALLS = 10;
const STEPS = CALLS + 1;
const WARM_UP = 15;
const ROUNDS = 60;
/** Milliseconds between two frames of the model. */
const PACE_MS = 1;
/** Times the CPU of the pass-through that a stored step may take, and writes for each. */
const MOST = { ratio: 2.2, writes: 3 } as const;

const encoder = new TextEncoder();

const RESULT = "64 bytes of a file that an agent has asked for, to go on with. ".padEnd(64, ".");
const TOOL = { name: "read_file", description: "Reads a file", path: "src/http/routes/turns.ts" } as const;

/** The model: a call for each step, then an answer; from the number of answers since the user spoke. */
function startModel(): Double {
  return startDouble({
    script: ({ messages }) => {
      const last = messages.findLastIndex(({ role }) => role === "user");
      const step = messages.slice(last).filter(({ role }) => role === "assistant").length;
      return step < CALLS
        ? { calls: [{ name: TOOL.name, input: { path: `${TOOL.path}#${step}` } }] }
        : { text: "All of it was read." };
    },
  });
}

/**
 * Puts the model's frames on the wire one by one, as models write them: what comes in one read would be one piece
 * of work for any server, and the number of reads a matter of chance.
 */
function startPaced(model: string): AsyncDisposable & { readonly url: string } {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { status, headers, ...answer } = await readAnswer(
      await fetch(`${model}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: await request.text(),
      }),
    );
    const frames = answer.text.split(/(?<=\n\n)/);
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, PACE_MS));
        const frame = frames.shift();
        if (frame === undefined) controller.close();
        else controller.enqueue(encoder.encode(frame));
      },
    }, { highWaterMark: 0 });
    return new Response(stream, { status, headers });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function readAnswer(response: Response) {
  const { status, headers } = response;
  return {
    status,
    headers: { "content-type": headers.get("content-type") ?? "" },
    text: await response.text(),
  };
}

// ---- the servers, each in a process of its own --------------------------------------------------------------

async function serve(kind: Kind, model: string): Promise<void> {
  let writes = 0;
  const { commit } = Deno.AtomicOperation.prototype;
  Deno.AtomicOperation.prototype.commit = function () {
    writes++;
    return commit.call(this);
  };
  const folder = kind === "kv" ? await Deno.makeTempDir({ prefix: "selvage-bench-" }) : null;
  const answer = kind === "raw"
    ? passOn(model)
    : serveApp(folder === null ? memoryStore() : await kvStore({ path: `${folder}/kv.sqlite3` }), model);
  listen((request, info) => {
    if (new URL(request.url).pathname !== "/used") return answer(request, info);
    const { user, system } = process.cpuUsage();
    return Response.json({ cpu: (user + system) / 1_000, writes });
  });
  // Ends with whoever started it.
  for await (const _ of Deno.stdin.readable) { /* Nothing is said there. */ }
  if (folder !== null) await Deno.remove(folder, { recursive: true });
  Deno.exit(0);
}

/**
 * Passes on what comes, read by read. Through a reader, as every service does that ends the model's stream with the
 * client's: a body handed through untouched would be cheaper, and could not be stopped.
 */
function passOn(model: string): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, body, headers } = await fetch(`${model}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: await request.text(),
    });
    const reader = body?.getReader();
    const relay = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done = true, value } = await reader?.read() ?? {};
        if (done) controller.close();
        else if (value !== undefined) controller.enqueue(value);
      },
      cancel: () => reader?.cancel(),
    }, { highWaterMark: 0 });
    return new Response(relay, { status, headers: { "content-type": headers.get("content-type") ?? "" } });
  };
}

function serveApp(store: Store, baseURL: string): Deno.ServeHandler {
  const read = defineTool({
    name: TOOL.name,
    description: TOOL.description,
    input: z.object({ path: z.string() }),
    execute: () => RESULT,
  });
  const model = openaiChat({ model: "double", baseURL, apiKey: "none", window: 128_000, maxOutput: 4_096 });
  return createApp({ agents: { default: { model, tools: [read] } }, store }).fetch;
}

async function startServer(kind: Kind, model: string): Promise<Server> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-P=test", "tests/bench/store.ts", kind, model],
    cwd: new URL("../../", import.meta.url),
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  const url = value?.match(/^http:\S+/)?.[0];
  if (url === undefined) throw new Error(`Cannot start the server ${kind}: it said ${value}`);
  return {
    kind,
    url,
    used: async () => await (await fetch(`${url}/used`)).json(),
    async stop() {
      await child.stdin.close();
      await child.status;
      await reader.cancel();
    },
  };
}

// ---- the clients ---------------------------------------------------------------------------------------------

/** Has the server run a whole turn. */
async function runTurn(url: string): Promise<void> {
  const response = await fetch(`${url}/v1/turns`, {
    method: "POST",
    body: JSON.stringify({ input: "Read it all" }),
  });
  const last = parseFrames(await response.text()).at(-1);
  if (last?.data.reason !== "stop" || last.data.steps !== STEPS) {
    throw new Error(`The turn ended with ${JSON.stringify(last)}`);
  }
}

/** Runs the loop here: the server passes on what is sent and what comes. */
async function driveTurn(url: string): Promise<void> {
  const tools = [{
    type: "function",
    function: {
      name: TOOL.name,
      description: TOOL.description,
      parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    },
  }];
  const messages: Json[] = [{ role: "user", content: "Read it all" }];
  for (let step = 0; step < STEPS; step++) {
    const request = {
      model: "double",
      stream: true,
      stream_options: { include_usage: true },
      messages,
      tools,
    };
    const response = await fetch(`${url}/`, { method: "POST", body: JSON.stringify(request) });
    const frames = (await response.text()).split("\n\n").filter((frame) => frame.startsWith("data: {"));
    const calls = frames.flatMap((frame) => JSON.parse(frame.slice(6)).choices[0]?.delta?.tool_calls ?? []);
    if (response.status !== 200 || (step < CALLS) !== (calls.length > 0)) {
      throw new Error(`Step ${step} was answered with ${response.status} and ${frames.length} frames`);
    }
    const id = calls[0]?.id;
    const text = calls.map((call) => call.function.arguments).join("");
    messages.push({
      role: "assistant",
      content: null,
      tool_calls: [{ id, type: "function", function: { name: TOOL.name, arguments: text } }],
    }, { role: "tool", tool_call_id: id, content: RESULT });
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;

/** Prints the table; throws where a target is missed. */
export async function run(): Promise<void> {
  await using model = startModel();
  await using paced = startPaced(model.url);
  const servers = await Promise.all(
    (["raw", "memory", "kv"] as const).map((kind) => startServer(kind, paced.url)),
  );
  const costs: Record<Kind, number[]> = { raw: [], memory: [], kv: [] };
  let writes = 0;
  try {
    for (let round = -WARM_UP; round < ROUNDS; round++) {
      // Another one first each time: what the machine does meanwhile falls on all alike.
      for (const offset of [0, 1, 2]) {
        const server = servers[(round + WARM_UP + offset) % servers.length];
        if (server === undefined) continue;
        const before = await server.used();
        await (server.kind === "raw" ? driveTurn : runTurn)(server.url);
        const after = await server.used();
        if (round < 0) continue;
        costs[server.kind].push((after.cpu - before.cpu) / STEPS);
        if (server.kind === "kv") writes += after.writes - before.writes;
      }
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
  if (model.violations.length > 0) throw new Error(`The model refused requests: ${model.violations[0]}`);
  const ratioOf = (kind: Kind): number =>
    median(costs[kind].map((cost, round) => cost / (costs.raw[round] ?? NaN)));
  const sum = (kind: Kind): number => costs[kind].reduce((total, cost) => total + cost, 0);
  const perStep = writes / (ROUNDS * STEPS);
  const ratio = sum("kv") / sum("raw");
  for (const kind of ["raw", "memory", "kv"] as const) {
    console.log(
      `${kind}: ${median(costs[kind]).toFixed(2)} ms of CPU a step, ` +
        `${(sum(kind) / sum("raw")).toFixed(2)}x the pass-through (median of rounds ${
          ratioOf(kind).toFixed(2)
        }x)`,
    );
  }
  console.table({
    "CPU of a step with kv / raw pass-through": {
      wanted: `<= ${MOST.ratio}x`,
      measured: `${ratio.toFixed(2)}x`,
      met: ratio <= MOST.ratio ? "yes" : "NO",
    },
    "writes a step": {
      wanted: `<= ${MOST.writes}`,
      measured: perStep.toFixed(2),
      met: perStep <= MOST.writes ? "yes" : "NO",
    },
  });
  if (perStep > MOST.writes) throw new Error(`Found ${perStep} writes a step, wanted at most ${MOST.writes}`);
}

if (import.meta.main) {
  const [kind = "raw", model = ""] = Deno.args;
  await serve(kind as Kind, model);
}
