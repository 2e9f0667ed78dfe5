/** Requests of the client: what is tried again, when, and how errors are told. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { ClientError, type ClientOptions, createClient } from "../../src/client/mod.ts";
import { ManualClock } from "../support/clock.ts";

type Answer = Response | Error | "hang";

/** A client of a service that answers as told, the last answer again and again. */
function makeClient(answers: readonly (() => Answer)[], options: Partial<ClientOptions> = {}) {
  const clock = new ManualClock();
  const requests: { readonly at: number; readonly url: string; readonly init: RequestInit }[] = [];
  const client = createClient({
    url: "http://host/agent/",
    clock,
    random: () => 1,
    fetch(url, init) {
      const answer = (answers[requests.length] ?? answers.at(-1))?.();
      requests.push({ at: clock.now() - 1_700_000_000_000, url, init });
      if (answer instanceof Response) return Promise.resolve(answer);
      if (answer instanceof Error) return Promise.reject(answer);
      return new Promise((_, reject) =>
        init.signal?.addEventListener("abort", () => reject(init.signal?.reason), { once: true })
      );
    },
    ...options,
  });
  /** Lets time go by until the work is done. */
  async function run<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const done = work.finally(() => isOver = true);
    done.catch(() => {});
    while (!isOver) await clock.advance(250);
    return await done;
  }
  return { client, clock, requests, run, at: () => requests.map(({ at }) => at) };
}

const gone = () => new TypeError("connection refused");
const list = () => Response.json({ sessions: [], next: null });
const problem = (code: string, status: number, headers: Record<string, string> = {}) => () =>
  Response.json({ type: "about:blank", title: code, status, detail: `About ${code}`, code, limit: 3 }, {
    status,
    headers,
  });

Deno.test("what fails in passing is tried again, with growing waits, and given up after so many tries", async () => {
  const { client, run, at } = makeClient([gone, () => new Response("<h1>", { status: 502 }), gone, list]);
  deepEqual(await run(client.sessions.list()), { sessions: [], next: null });
  deepEqual(at(), [0, 250, 750, 1_750]);

  const never = makeClient([gone], { maxTries: 3 });
  await rejects(never.run(never.client.sessions.list()), {
    code: "network",
    status: 0,
    tries: 3,
    message: /^Cannot GET \/v1\/sessions: found no connection to http:\/\/\S+, or it broke off; wanted/,
  });
  equal(never.requests.length, 3);
});

Deno.test("Retry-After is the least that is waited, as seconds or as a date, and told where it is long", async () => {
  const date = new Date(1_700_000_000_000 + 7_000).toUTCString();
  const { client, run, at } = makeClient([
    problem("rate_limited", 429, { "retry-after": "3" }),
    problem("shutting_down", 503, { "retry-after": date }),
    list,
  ]);
  await run(client.sessions.list());
  const [first = 0, second = 0, third = 0] = at();
  deepEqual([first, second], [0, 3_250]);
  ok(third >= 7_000 + 500, String(third));

  const long = makeClient([problem("rate_limited", 429, { "retry-after": "3600" })]);
  await rejects(long.client.sessions.list(), (error) => {
    ok(error instanceof ClientError);
    deepEqual([error.code, error.status, error.fields], ["rate_limited", 429, {
      limit: 3,
      retryAfterMs: 3_600_000,
    }]);
    equal(error.message, "About rate_limited");
    return true;
  });
});

Deno.test("what stays as it is, is told at once", async () => {
  for (
    const [answer, wanted] of [
      [problem("session_not_found", 404), { code: "session_not_found", status: 404 }],
      [problem("internal", 500), { code: "internal", status: 500 }],
      [() => new Response("nope", { status: 403 }), { code: "bad_answer", status: 403 }],
      [() => new Response("<html>"), { code: "bad_answer", status: 200 }],
    ] as const
  ) {
    const { client, requests } = makeClient([answer]);
    await rejects(client.sessions.get("s"), wanted);
    equal(requests.length, 1);
  }
});

Deno.test("an error without an end is known by its status", async () => {
  let sent = 0;
  const endless = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(97));
          // Far more than is wanted: a reader that takes it all is told at once.
          if (sent > 64 * 1024 * 1024) controller.error(new Error("read on"));
        },
      }),
      { status: 500 },
    );
  const { client } = makeClient([endless]);
  await rejects(client.sessions.get("s"), { code: "bad_answer", status: 500 });
  ok(sent < 4 * 1024 * 1024, `read ${sent}`);
});

Deno.test("a repeated POST carries the same key and the same body; another request another key", async () => {
  const { client, requests, run } = makeClient([gone, problem("bad_request", 400)]);
  const turn = client.turn({ input: "hi" });
  await rejects(run(turn.result()), { code: "bad_request" });
  const [first, second] = requests.map(({ init }) => [
    new Headers(init.headers).get("idempotency-key"),
    init.body,
  ]);
  deepEqual(first, second);
  match(String(first?.[0]), /^[0-9a-f]{32}$/);
  await rejects(client.turn({ input: "hi" }).result());
  ok(new Headers(requests.at(-1)?.init.headers).get("idempotency-key") !== first?.[0]);
  await rejects(client.turn({ input: "hi", idempotencyKey: "mine" }).result());
  equal(new Headers(requests.at(-1)?.init.headers).get("idempotency-key"), "mine");
});

Deno.test("an answer that does not begin is given up, and so is a body that stalls", async () => {
  const begun = makeClient([() => "hang", list]);
  await begun.run(begun.client.sessions.list());
  deepEqual(begun.at(), [0, 60_250]);

  let cancelled = 0;
  const stalls = () => new Response(new ReadableStream({ cancel: () => void cancelled++ }));
  const stalled = makeClient([stalls, list]);
  await stalled.run(stalled.client.sessions.list());
  deepEqual([stalled.at(), cancelled], [[0, 30_250], 1]);
  deepEqual(stalled.clock.sleeping, []);
});

Deno.test("limits of time that no timer can hold do not end at once", async () => {
  const client = createClient({
    url: "http://host",
    timeoutMs: Infinity,
    stallMs: Infinity,
    maxTries: 1,
    fetch: async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return list();
    },
  });
  deepEqual(await client.sessions.list(), { sessions: [], next: null });
});

Deno.test("a reader that takes its time with an event is not taken for a stream that stalls", async () => {
  const frame = (n: number, type: string) =>
    `id: t:${n}\nevent: ${type}\ndata: {"turn":"t","session":"s"}\n\n`;
  const reads = [frame(0, "turn.started"), frame(1, "turn.finished")];
  const body = () =>
    new ReadableStream({
      pull(controller) {
        const next = reads.shift();
        if (next === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(next));
      },
    }, { highWaterMark: 0 });
  const { client, clock, requests } = makeClient([
    () => new Response(body(), { headers: { "content-type": "text/event-stream" } }),
  ]);
  const seen: string[] = [];
  for await (const { type } of client.turn({ input: "hi" })) {
    seen.push(type);
    await clock.advance(120_000);
  }
  deepEqual(seen, ["turn.started", "turn.finished"]);
  equal(requests.length, 1);
});

Deno.test("a stream whose events are gone ends with stream_lost, one that is no stream with bad_answer", async () => {
  const started = 'id: t:0\nevent: turn.started\ndata: {"turn":"t","session":"s"}\n\n';
  const { client, run, requests } = makeClient([
    () => new Response(started, { headers: { "content-type": "text/event-stream" } }),
    () => new Response(null, { status: 204 }),
  ]);
  await rejects(run(client.turn({ input: "hi" }).result()), { code: "stream_lost" });
  equal(new Headers(requests[1]?.init.headers).get("last-event-id"), "t:0");
  equal(requests[1]?.url, "http://host/agent/v1/turns/t/events");
  equal(requests.length, 2, "what is lost is not cancelled as if it ran");

  const page = makeClient([() => new Response("<html>", { headers: { "content-type": "text/html" } })]);
  await rejects(page.client.turn({ input: "hi" }).result(), { code: "bad_answer", status: 200 });
});

Deno.test("headers are asked for before each try; a key is a bearer token", async () => {
  let token = 0;
  const { client, requests, run } = makeClient([gone, list], {
    headers: () => Promise.resolve({ authorization: `Bearer ${++token}` }),
  });
  await run(client.sessions.list());
  deepEqual(requests.map(({ init }) => new Headers(init.headers).get("authorization")), [
    "Bearer 1",
    "Bearer 2",
  ]);
  const keyed = makeClient([list], { apiKey: "k" });
  await keyed.client.sessions.list({ limit: 5, after: "a b" });
  equal(new Headers(keyed.requests[0]?.init.headers).get("authorization"), "Bearer k");
  equal(keyed.requests[0]?.url, "http://host/agent/v1/sessions?limit=5&after=a+b");
});

Deno.test("a delete whose answer was lost is done", async () => {
  const { client, run } = makeClient([gone, problem("session_not_found", 404)]);
  await run(client.sessions.delete("s"));
  const first = makeClient([problem("session_not_found", 404)]);
  await rejects(first.client.sessions.delete("s"), { code: "session_not_found" });
});

Deno.test("a byte order mark is kept where it is text, wherever a read begins, and none in front of a body", async () => {
  const inPieces = (...pieces: readonly string[]) => () => {
    const bytes = pieces.map((piece) => new TextEncoder().encode(piece));
    return new Response(ReadableStream.from(bytes), { headers: { "content-type": "application/json" } });
  };
  for (const mark of ["", "\ufeff"]) {
    const listed = inPieces(`${mark}{"sessions":[],"next":"a`, '\ufeffb"}');
    const exported = inPieces(`${mark}{"type":"a`, '\ufeffb"}\n{"type":"c"}\n');
    const { client, run } = makeClient([listed, exported]);
    equal((await run(client.sessions.list())).next, "a\ufeffb");
    deepEqual(await run(Array.fromAsync(client.sessions.export("s"))), [{ type: "a\ufeffb" }, { type: "c" }]);
  }
});
