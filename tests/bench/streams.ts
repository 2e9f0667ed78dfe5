/**
 * What a slow stream costs: memory of the service for each of 500 streams that last a minute, against a server that
 * passes the same bytes on, in the same run; and what is left of 500 that are dropped at once. `streams SECONDS COUNT`
 * takes other numbers.
 */
import { rssOf } from "../support/memory.ts";
import { type Side, startSide, stopSides } from "./_sides.ts";
import { OPEN_PATH } from "./_stream_servers.ts";

function start(role: string, ...args: readonly string[]): Promise<Side> {
  return startSide("./_stream_servers.ts", { args: [role, ...args] });
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Begins a stream of so many words. */
async function open(side: Side, { isOwn, words, signal }: {
  readonly isOwn: boolean;
  readonly words: number;
  readonly signal?: AbortSignal;
}): Promise<Response> {
  const text = `words ${words}`;
  const body = isOwn
    ? { input: text }
    : { model: "m", stream: true, messages: [{ role: "user", content: text }] };
  return await fetch(isOwn ? `${side.url}/v1/turns` : side.url, {
    method: "POST",
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

async function openMany(count: number, make: () => Promise<Response>): Promise<Response[]> {
  const all: Response[] = [];
  // In groups: a listen queue holds only so many.
  for (let at = 0; at < count; at += 50) {
    all.push(...await Promise.all(Array.from({ length: Math.min(50, count - at) }, make)));
  }
  return all;
}

/** Memory per stream in KiB: the most that was seen, over what there was after a warm-up. */
async function measure(
  side: Side,
  { isOwn, count, words }: { readonly isOwn: boolean; readonly count: number; readonly words: number },
): Promise<{ readonly perStream: number; readonly finished: number }> {
  // As many streams as are measured, 50 at a time: a young process grows its heap with what it throws away, which is no
  // stream's cost. What a stream holds while it is open has not been held by these.
  for (let done = 0; done < count; done += 50) {
    for (const response of await openMany(50, () => open(side, { isOwn, words: 1 }))) await response.text();
  }
  const before = await rssOf(side.process.pid);
  let most = before;
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; await sleep(250)) most = Math.max(most, await rssOf(side.process.pid));
  })();
  const texts = (await openMany(count, () => open(side, { isOwn, words }))).map((response) =>
    response.text()
  );
  const ends = await Promise.all(texts);
  isOver = true;
  await watching;
  const finished = ends.filter((text) => text.includes(isOwn ? '"reason":"stop"' : "[DONE]")).length;
  return { perStream: (most - before) / count, finished };
}

/** Drops many streams at once; how many the model still sends some time later. */
async function drop(
  side: Side,
  { model, isOwn, count }: { readonly model: Side; readonly isOwn: boolean; readonly count: number },
): Promise<{ readonly open: number; readonly left: number; readonly ms: number }> {
  const stop = new AbortController();
  await openMany(count, () => open(side, { isOwn, words: 600, signal: stop.signal }));
  await sleep(3_000);
  const sending = async () => Number(await (await fetch(model.url + OPEN_PATH)).text());
  const before = await sending();
  stop.abort();
  const since = performance.now();
  let left = await sending();
  while (left > 0 && performance.now() - since < 10_000) {
    await sleep(50);
    left = await sending();
  }
  return { open: before, left, ms: performance.now() - since };
}

/** Measures both, and prints what was wanted and what was found. */
export async function run(): Promise<void> {
  const [seconds = 60, count = 500] = Deno.args.slice(1).map(Number);
  const model = await start("model");
  const raw = await start("raw", model.url);
  const own = await start("own", model.url);
  try {
    const plain = await measure(raw, { isOwn: false, count, words: seconds });
    const ours = await measure(own, { isOwn: true, count, words: seconds });
    const dropped = await drop(own, { model, isOwn: true, count });
    console.table({
      [`memory of each of ${count} streams of ${seconds} s`]: {
        wanted: `<= ${plain.perStream.toFixed(0)} KiB (raw)`,
        measured: `${ours.perStream.toFixed(0)} KiB`,
        met: ours.perStream <= plain.perStream ? "yes" : "NO",
      },
      "streams that ended well": {
        wanted: `${count} and ${count}`,
        measured: `${plain.finished} and ${ours.finished}`,
        met: plain.finished === count && ours.finished === count ? "yes" : "NO",
      },
      [`streams left of ${dropped.open} dropped at once`]: {
        wanted: "0",
        measured: `${dropped.left} after ${dropped.ms.toFixed(0)} ms`,
        met: dropped.left === 0 && dropped.open === count ? "yes" : "NO",
      },
    });
  } finally {
    await stopSides(own, raw, model);
  }
}
