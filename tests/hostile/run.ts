/** Sends hostile requests to a real server over raw TCP, and says what it should not have answered. */
import { STATUS } from "../../src/http/problem.ts";
import { systemClock } from "../../src/loop/clock.ts";
import { Random } from "../crash/_setup.ts";
import { rssOf } from "../support/memory.ts";
import { startServer } from "../support/server.ts";
import { type HostileRequest, KIND_NAMES, makeRequest } from "./_requests.ts";

/** Requests under way at once. */
const AT_ONCE = 40;
/** Milliseconds in which an answer comes, or the connection ends. */
const PATIENCE_MS = 20_000;
/** Bytes of an answer that are read. */
const MAX_READ = 65_536;

/** What an answer must not hold: the inside of the service. */
const INSIDE =
  /\n\s+at |file:\/\/|\.ts:\d|node_modules|TypeError|RangeError|SyntaxError: .*\n|Deno\.|\/src\//;

const TEXT = new TextDecoder();

/** What a run found. */
export interface HostileReport {
  readonly faults: readonly string[];
  readonly requests: number;
  /** Answers by status; 0 for a connection that was ended without one. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly slowAnswered: number;
  readonly rssGrownMiB: number;
}

/** One exchange over raw TCP: what came back until the other side ended it, or the time was up. */
async function exchange(
  port: number,
  pieces: readonly Uint8Array[],
  isLeftOpen = false,
): Promise<{ readonly text: string; readonly hangs: boolean }> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const done = new AbortController();
  let hangs = false;
  const late = systemClock.sleep(PATIENCE_MS, done.signal).then(() => {
    hangs = true;
    connection.close();
  }, () => {});
  const chunks: Uint8Array[] = [];
  const reading = (async () => {
    const buffer = new Uint8Array(16_384);
    for (let size = 0; size < MAX_READ;) {
      const read = await connection.read(buffer).catch(() => null);
      if (read === null) return;
      size += read;
      chunks.push(buffer.slice(0, read));
      // Whoever keeps the connection open has been answered all the same.
      if (isLeftOpen) return;
    }
  })();
  // A server that has heard enough may end the connection while we are still at it.
  try {
    for (const piece of pieces) {
      for (let at = 0; at < piece.length;) at += await connection.write(piece.subarray(at));
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    if (!isLeftOpen) await connection.closeWrite();
  } catch (error) {
    if (!isEnded(error)) throw error;
  }
  await reading;
  done.abort();
  await late;
  const whole = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return { text: TEXT.decode(whole), hangs };
}

function isEnded(error: unknown): boolean {
  return error instanceof Deno.errors.BrokenPipe || error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.NotConnected || error instanceof Deno.errors.BadResource ||
    error instanceof Deno.errors.Interrupted;
}

/** What is wrong with an answer. */
function judge(kind: string, { text, hangs }: { readonly text: string; readonly hangs: boolean }): string[] {
  const faults: string[] = [];
  if (hangs) faults.push(`${kind}: no end after ${PATIENCE_MS} ms`);
  for (const [, status] of text.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)) {
    if (Number(status) < 500) continue;
    const code = text.match(/"code":"([a-z_]+)"/)?.[1] ?? "none";
    if (STATUS[code] !== Number(status)) faults.push(`${kind}: ${status} with the code ${code}`);
  }
  const inside = text.match(INSIDE);
  if (inside !== null) faults.push(`${kind}: the answer holds ${JSON.stringify(inside[0])}`);
  return faults;
}

/** Sends `count` requests, and `slow` bodies that never end; reports what should not have been. */
export async function runHostile(
  { count, slow = 0, seed }: { readonly count: number; readonly slow?: number; readonly seed: number },
): Promise<HostileReport> {
  await using server = await startServer({ SELVAGE_KV: ":memory:", SELVAGE_LOG: "info,json" });
  const port = Number(new URL(server.url).port);
  const faults: string[] = [];
  const statuses: Record<string, number> = {};
  const random = new Random(seed);
  let n = 0;
  const send = async (request: HostileRequest): Promise<void> => {
    const answer = await exchange(port, request.pieces);
    const status = answer.text.match(/^HTTP\/1\.[01] (\d{3})/)?.[1] ?? "0";
    statuses[status] = (statuses[status] ?? 0) + 1;
    for (const fault of judge(request.kind, answer)) faults.push(`request ${n}, ${fault}`);
  };
  // Every kind once before memory is measured: what is loaded lazily is loaded then.
  for (; n < Math.min(count, KIND_NAMES.length); n++) await send(makeRequest(n, random));
  const before = await rssOf(server.pid);
  const worker = async (): Promise<void> => {
    while (n < count) await send(makeRequest(n++, random));
  };
  const half = new TextEncoder().encode(
    'POST /v1/turns HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"input":',
  );
  const slowly = Array.from({ length: slow }, async () => {
    const answer = await exchange(port, [half], true);
    if (!/^HTTP\/1\.1 408 /.test(answer.text)) {
      faults.push(`a slow body: ${answer.text.slice(0, 60) || "no answer"}`);
    }
    return answer;
  });
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const slowAnswered = (await Promise.all(slowly)).filter(({ text }) => text !== "").length;
  const health = await fetch(`${server.url}/readyz`);
  if (health.status !== 200) faults.push(`the server is not ready afterwards: ${health.status}`);
  await health.body?.cancel();
  const rssGrownMiB = Math.round((await rssOf(server.pid) - before) / 1_024);
  if (rssGrownMiB > 400) faults.push(`memory has grown by ${rssGrownMiB} MiB`);
  const told = server.log.filter((line) => /"event":"fault"|Unhandled|panicked/.test(line));
  for (const line of told.slice(0, 5)) faults.push(`the log says ${line.slice(0, 400)}`);
  return { faults: faults.slice(0, 50), requests: n, statuses, slowAnswered, rssGrownMiB };
}
