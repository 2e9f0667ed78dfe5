/** The servers that are compared, each a process of its own, and how one turn is asked of each. */
import config from "../../../deno.json" with { type: "json" };
import { hasSteps, type Plan, planText, resultOf } from "./plan.ts";
import { CPU_PATH } from "./serve.ts";

/** Names of the servers: the floor, the service over two stores, and a peer. */
export type SideName = "raw" | "memory" | "kv" | "AI SDK";

/** A running server. */
export interface Side extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** Processor time that it has had, in microseconds. */
  cpu(): Promise<number>;
}

/** What a client saw of a turn. */
export interface Seen {
  /** Words of the text. */
  readonly words: number;
  /** Milliseconds to the first of them. */
  readonly firstMs: number;
}

const PEERS = new URL("../peers/", import.meta.url).pathname;

/** Flags of `deno run`, and the program. */
const PROGRAMS: Readonly<Record<SideName | "double", readonly string[]>> = {
  double: ["http/double.ts"],
  raw: ["http/raw.ts"],
  memory: ["http/own.ts"],
  kv: ["--unstable-kv", "--allow-read", "--allow-write", "--allow-env", "http/own.ts"],
  "AI SDK": [
    `--config=${PEERS}deno.json`,
    "--frozen",
    "--allow-env",
    "--allow-read",
    "--allow-sys",
    "peers/http.ts",
  ],
};

/** What V8 is told where the service is started by its task, and the floor with it; the peer starts as its users start it. */
const V8_FLAGS = config.tasks.start.command.split(" ").filter((word) => word.startsWith("--v8-flags="));

/** What the stream of each ends with where all went well. */
const ENDS: Readonly<Record<SideName, RegExp>> = {
  raw: /\[DONE\]/,
  memory: /"reason":"stop"/,
  kv: /"reason":"stop"/,
  "AI SDK": /"type":"finish".*\[DONE\]/s,
};

/**
 * Starts a server and waits until it has said its address.
 *
 * @param name Which.
 * @param options Address of the double, and further flags of `deno run`.
 */
export async function startSide(
  name: SideName | "double",
  { double = "", flags = [] }: { readonly double?: string; readonly flags?: readonly string[] } = {},
): Promise<Side> {
  const words = PROGRAMS[name];
  const program = new URL(`../${words.at(-1)}`, import.meta.url).pathname;
  // What imports packages starts as users start it, from a lock file (the peer's is its own): without one, versions
  // are looked up anew in each start.
  const lock = name === "raw" || name === "double" ? ["--no-lock"] : [];
  const v8 = name === "AI SDK" || name === "double" ? [] : V8_FLAGS;
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--allow-net=127.0.0.1",
      ...lock,
      ...v8,
      ...words.slice(0, -1),
      ...flags,
      program,
      double,
      name,
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  reader.releaseLock();
  const url = value.trim();
  return {
    url,
    pid: process.pid,
    cpu: async () => Number(await (await fetch(url + CPU_PATH)).text()),
    async [Symbol.asyncDispose]() {
      process.kill("SIGTERM");
      await process.status;
    },
  };
}

/** Asks a server for one turn, and gives its stream. The raw one is asked for its first step. */
export async function ask(
  name: SideName,
  { url, plan, signal }: { readonly url: string; readonly plan: Plan; readonly signal?: AbortSignal },
): Promise<Response> {
  const input = planText(plan);
  const [path, body] = name === "raw"
    ? ["", { model: "m", stream: true, messages: [{ role: "user", content: input }] }]
    : [name === "AI SDK" ? "" : "/v1/turns", { input }];
  return await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Reads a stream to its end. What does not end as it should is an error: nothing else may be fast. */
export async function readTurn(name: SideName, { body }: Response, since: number): Promise<Seen> {
  const decoder = new TextDecoder();
  let [words, firstMs, rest] = [0, NaN, ""];
  for await (const bytes of body ?? []) {
    // Kept: as much as a word or an end may have in the piece before.
    const text = rest + decoder.decode(bytes, { stream: true });
    let end = 0;
    for (const { 0: word, index } of text.matchAll(/ word\d+(?=\D)/g)) {
      if (words++ === 0) firstMs = performance.now() - since;
      end = index + word.length;
    }
    rest = text.slice(Math.max(end, text.length - 400));
  }
  if (!ENDS[name].test(rest)) throw new Error(`Cannot use a run of ${name}: found the end ${rest}`);
  return { words, firstMs };
}

/** Runs one turn to its end. */
export async function runTurn(
  name: SideName,
  { url, plan }: { readonly url: string; readonly plan: Plan },
): Promise<Seen> {
  if (name === "raw" && hasSteps(plan)) return await driveRaw(url, plan);
  const since = performance.now();
  return await readTurn(name, await ask(name, { url, plan }), since);
}

/** Drives the loop from outside: a request for each step, the whole history in it. */
async function driveRaw(url: string, plan: Plan): Promise<Seen> {
  const messages: unknown[] = [{ role: "user", content: planText(plan) }];
  const content = resultOf(plan.size);
  for (let step = 1; step <= plan.count + 1; step++) {
    const body = JSON.stringify({ model: "m", stream: true, messages });
    const response = await fetch(url, { method: "POST", body });
    for await (const _ of response.body ?? []);
    const args = JSON.stringify({ path: `src/${step}.ts`, size: plan.size });
    const call = { id: `call_${step}`, type: "function", function: { name: "read_file", arguments: args } };
    messages.push(
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content },
    );
  }
  return { words: 0, firstMs: NaN };
}
