/**
 * A turn through the client: leaving, cancelling, answering, saying, and what errors look like. Over 300 lines: a list
 * of cases at one service.
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import * as z from "zod";
import {
  ClientError,
  type ClientTurnRequest,
  createClient,
  type Fetch,
  type TurnEvent,
} from "../../src/client/mod.ts";
import { createApp, Drain } from "../../src/http/mod.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { clientOf, impatient } from "./_cuts.ts";

/** A service whose model asks for what the input names, and then says what it was told. */
function makeService() {
  const ran: unknown[] = [];
  let finish = (): void => {};
  const wait = new Promise<void>((resolve) => finish = resolve);
  const slow = defineTool({
    name: "slow",
    description: "Waits",
    input: z.object({}),
    execute: async (_, { signal }) => {
      const gone = new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason), { once: true })
      );
      await Promise.race([wait, gone]);
      return "done";
    },
  });
  const mail = defineTool({
    name: "mail",
    description: "Sends a mail",
    input: z.object({}),
    needsApproval: true,
    execute: () => ran.push("mail") && "sent",
  });
  const where = defineTool({ name: "where", description: "Where it is", input: z.object({}) });
  const model = scripted({
    script: ({ messages }) => {
      const last = messages.at(-1);
      const text = JSON.stringify(last?.content);
      if (last?.role === "tool") return { text: `Told: ${text}` };
      const names = ["slow", "mail", "where", "brought"].filter((name) => text.includes(name));
      return names.length === 0 ? { text: `Heard: ${text}` } : {
        calls: names.map((name) => ({ name, input: {} })),
      };
    },
  });
  const app = createApp({ agents: { default: { model, tools: [slow, mail, where] } }, store: memoryStore() });
  const asked: { readonly method: string; readonly path: string; readonly headers: Headers }[] = [];
  const fetch: Fetch = async (url, init) => {
    asked.push({
      method: init.method ?? "GET",
      path: new URL(url).pathname.replace(/t_\w+/, ":id"),
      headers: new Headers(init.headers),
    });
    return await app.request(url, init);
  };
  return { client: clientOf(fetch), app, ran, asked, finish: () => finish() };
}

const types = (events: readonly TurnEvent[]) => events.map(({ type }) => type);

Deno.test("client.turn() is text, reason, steps and usage of its last step", async () => {
  const { client, asked } = makeService();
  const turn = client.turn({ session: "s", input: "hello" });
  equal(asked.length, 0);
  equal(turn.id, null);
  const { text, reason, session, steps, usage, pending } = await turn.result();
  deepEqual([text, reason, session, steps, pending], ['Heard: "hello"', "stop", "s", 1, []]);
  ok(usage.inputTokens > 0);
  match(turn.id ?? "", /^t_/);
  match(asked[0]?.headers.get("idempotency-key") ?? "", /^[0-9a-f]{32}$/);
  // It is known then, and nothing more is asked.
  equal((await turn.result()).text, text);
  deepEqual(await Array.fromAsync(turn), []);
  equal(asked.length, 1);
});

Deno.test("client.turn() that waits for its session when the service goes down asks again, and runs once elsewhere", async () => {
  const store = memoryStore();
  const drain = new Drain();
  const model = scripted({ script: () => ({ text: "Hello." }) });
  const agents = { default: { model } };
  const before = createApp({ agents, store, drain });
  const after = createApp({ agents, store });
  const key = { tenant: "local", session: "s" };
  const { lease } = await store.acquire(key, { agent: "default", owner: "t1", turn: "t1", ttlMs: 60_000 });
  let starts = 0;
  const client = clientOf(async (url, init) => {
    if (init.method !== "POST") return await after.request(url, init);
    if (++starts > 1) await store.commit(key, lease, { release: true });
    const response = await (starts === 1 ? before : after).request(url, init);
    if (starts === 1) void drain.start();
    return response;
  });
  const turn = client.turn({ session: "s", input: "hello", whenBusy: "enqueue" });
  const seen = await Array.fromAsync(turn);
  deepEqual([starts, seen[0]?.type, seen.at(-1)?.type], [2, "turn.started", "turn.finished"]);
  equal((await turn.result()).text, "Hello.");
  deepEqual((await store.read(key))?.entries.map(({ kind }) => kind), ["user", "assistant"]);
});

Deno.test("client.turn() that is told to try again each time says so in the end, and has begun nothing", async () => {
  const store = memoryStore();
  const model = scripted({ script: () => ({ text: "Hello." }) });
  const other = { agent: "default", owner: "t1", turn: "t1", ttlMs: 60_000 };
  await store.acquire({ tenant: "local", session: "s" }, other);
  let starts = 0;
  const client = clientOf(async (url, init) => {
    const drain = new Drain();
    const response = await createApp({ agents: { default: { model } }, store, drain }).request(url, init);
    starts++;
    void drain.start();
    return response;
  });
  const turn = client.turn({ session: "s", input: "hello", whenBusy: "enqueue" });
  const told = (error: unknown) =>
    error instanceof ClientError && error.code === "shutting_down" && error.tries === starts;
  await rejects(Array.fromAsync(turn), told);
  deepEqual([starts > 2, turn.id, turn.lastEventId], [true, null, null]);
});

Deno.test("client.turn() that is left by `break` is cancelled before the loop is behind", async () => {
  const { client } = makeService();
  const turn = client.turn({ session: "s", input: "slow" });
  for await (const { type } of turn) if (type === "tool.call") break;
  equal((await client.sessions.get("s")).running, null);
  // What came of it can still be read.
  const left = await Array.fromAsync(turn);
  equal(left.at(-1)?.type, "turn.finished");
  equal((await turn.result()).reason, "aborted");
});

Deno.test("client.turn() that is left goes on where that was asked for, and is found again", async () => {
  const { client, finish } = makeService();
  const turn = client.turn({ session: "s", input: "slow", onDisconnect: "continue" });
  const seen: TurnEvent[] = [];
  for await (const event of turn) {
    seen.push(event);
    if (event.type === "tool.call") break;
  }
  equal((await client.sessions.get("s")).running?.turn, turn.id);
  finish();
  for await (const event of client.follow(turn.id ?? "", { after: turn.lastEventId ?? "" })) seen.push(event);
  deepEqual(seen, await Array.fromAsync(client.follow(turn.id ?? "")));
});

Deno.test("client.turn() ends with its signal, before its first event and behind it", async () => {
  const { client, asked } = makeService();
  const early = AbortSignal.abort(new Error("too late"));
  await rejects(client.turn({ input: "hello", signal: early }).result(), /too late/);
  equal(asked.length, 0);

  for (const type of ["step.started", "tool.call"]) {
    const session = type;
    const stop = new AbortController();
    const turn = client.turn({ session, input: "slow", signal: stop.signal });
    await rejects(async () => {
      for await (const event of turn) if (event.type === type) stop.abort(new Error("enough"));
    }, /enough/);
    equal((await client.sessions.get(session)).running, null, type);
  }

  // It has no name yet: the service is asked for it, so that it does not run on.
  const stop = new AbortController();
  const turn = client.turn({ session: "unnamed", input: "slow", signal: stop.signal });
  const result = turn.result();
  stop.abort(new Error("at once"));
  await rejects(result, /at once/);
  const { running, entries } = await client.sessions.get("unnamed");
  equal(running, null);
  ok(entries > 0);
});

Deno.test("turn.cancel() ends a turn that runs, and keeps one that has not begun from beginning", async () => {
  const { client, asked } = makeService();
  const turn = client.turn({ session: "s", input: "slow" });
  const seen: TurnEvent[] = [];
  for await (const event of turn) {
    seen.push(event);
    if (event.type === "tool.call") equal(await turn.cancel(), true);
  }
  equal((await turn.result()).reason, "aborted");
  equal(await turn.cancel(), false);
  ok(seen.some((event) => event.type === "tool.result" && event.status === "aborted"));
  equal(types(seen).at(-1), "turn.finished");

  const count = asked.length;
  const none = client.turn({ input: "slow" });
  equal(await none.cancel(), true);
  await rejects(none.result(), { code: "turn_aborted" });
  equal(asked.length, count);
});

Deno.test("turn.cancel() ends a turn whose start nobody has answered, whether it has arrived or not", async () => {
  for (const hasArrived of [false, true]) {
    const { app } = makeService();
    let isAway = true;
    const { promise: arrived, resolve: onArrived } = Promise.withResolvers<void>();
    const client = clientOf(async (url, init) => {
      const isStart = url.endsWith("/v1/turns");
      if (isAway && !(hasArrived && isStart)) throw new TypeError("connection refused");
      const response = await app.request(url, init);
      if (!isAway) return response;
      onArrived();
      await response.body?.cancel();
      throw new TypeError("connection reset");
    });
    const turn = client.turn({ session: "s", input: "slow", onDisconnect: "continue" });
    const result = turn.result();
    result.catch(() => {});
    if (hasArrived) await arrived;
    const cancelled = turn.cancel();
    // Both are tried again some times before the way is there.
    for (let at = 0; at < 5; at++) await new Promise((resolve) => setTimeout(resolve, 0));
    isAway = false;
    equal(await cancelled, true, `arrived: ${hasArrived}`);
    if (!hasArrived) {
      await rejects(result, { code: "turn_aborted" });
      await rejects(client.sessions.get("s"), { code: "session_not_found" });
      continue;
    }
    equal((await result).reason, "aborted");
    const { running, entries } = await client.sessions.get("s");
    equal(running, null);
    ok(entries > 0);
    const inputs = (await client.sessions.messages("s")).entries.filter(({ kind }) => kind === "user");
    equal(inputs.length, 1, "it was started once");
  }
});

Deno.test("turn.cancel() of a turn that waits for its session ends it at once, wherever it stands in the queue", async () => {
  const { client, asked, finish } = makeService();
  const first = client.turn({ session: "s", input: "slow" });
  const running = first.result();
  // Requests sent at once need not arrive in order: it has the session before the others ask for it.
  while (first.id === null) await new Promise((resolve) => setTimeout(resolve, 0));
  const queued = ["second", "third"].map((input) =>
    client.turn({ session: "s", input, whenBusy: "enqueue" })
  );
  const results = queued.map((turn) => turn.result());
  for (const result of results) result.catch(() => {});
  while (asked.length < 3) await new Promise((resolve) => setTimeout(resolve, 0));
  for (const [at, turn] of [...queued.entries()].reverse()) {
    equal(await turn.cancel(), true);
    await rejects(results[at] ?? running, { code: "turn_aborted" });
    equal(turn.id, null);
  }
  ok((await client.sessions.get("s")).running !== null, "nobody had to wait for it");
  finish();
  equal((await running).reason, "stop");
  const { entries } = await client.sessions.messages("s");
  equal(entries.filter(({ kind }) => kind === "user").length, 1);
});

Deno.test("turn.cancel() ends a turn that has begun where only a later try of its start was refused", async () => {
  const { app } = makeService();
  let starts = 0;
  const client = clientOf(async (url, init) => {
    if (!url.endsWith("/v1/turns") || ++starts > 2) return await app.request(url, init);
    // What stands before the service lets nobody through again so soon.
    if (starts === 2) return Response.json({ code: "refused", detail: "Not now" }, { status: 401 });
    await (await app.request(url, init)).body?.cancel();
    throw new TypeError("connection reset");
  });
  const turn = client.turn({ session: "s", input: "slow", onDisconnect: "continue" });
  await rejects(turn.result(), { code: "refused" });
  equal(await turn.cancel(), true);
  equal((await client.sessions.get("s")).running, null);
  equal((await turn.result()).reason, "aborted");
});

Deno.test("turn.cancel() of a turn that was refused begins none, while it is tried again or behind that", async () => {
  for (const status of [429, 409]) {
    const { app } = makeService();
    let asked = 0;
    const { promise: waits, resolve: onWait } = Promise.withResolvers<void>();
    const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
    const client = createClient({
      url: "http://127.0.0.1",
      fetch: async (url, init) => {
        if (init.method !== "POST" || ++asked > 1) return await app.request(url, init);
        return Response.json({ code: "refused", detail: "Not now" }, { status });
      },
      clock: {
        ...impatient,
        async sleep(ms, signal) {
          if (ms >= 5_000) return await impatient.sleep(ms, signal);
          onWait();
          await goesOn;
        },
      },
    });
    const turn = client.turn({ session: "s", input: "slow" });
    const result = rejects(turn.result(), { code: status === 429 ? "turn_aborted" : "refused" });
    await (status === 429 ? waits : result);
    equal(await turn.cancel(), true);
    goOn();
    await result;
    equal(asked, 1);
    await rejects(client.sessions.get("s"), { code: "session_not_found" });
  }
});

Deno.test("a turn that waits is answered within its loop, behind it, in parts, or by its tools", async () => {
  const input = "where mail";
  const results = [{ ref: "e1.1", output: "Oslo" }];
  const approvals = [{ ref: "e1.0", approved: false, reason: "no" }];
  const whole = ["Oslo", "no"];

  const within = makeService();
  const turn = within.client.turn({ session: "s", input });
  const seen: TurnEvent[] = [];
  for await (const event of turn) {
    seen.push(event);
    if (event.type !== "turn.paused") continue;
    equal(event.reason, "approval");
    deepEqual(turn.pending.map(({ ref, name }) => [ref, name]), [["e1.0", "mail"], ["e1.1", "where"]]);
    await turn.answer({ results, approvals });
  }
  const { text } = await turn.result();
  for (const part of whole) ok(text.includes(part), text);
  equal(types(seen).at(-1), "turn.finished");
  deepEqual(seen, await Array.fromAsync(within.client.follow(turn.id ?? "")));

  const behind = makeService();
  const waiting = behind.client.turn({ session: "s", input });
  equal((await waiting.result()).reason, "paused");
  equal(waiting.pending.length, 2);
  await waiting.answer({ results });
  equal((await waiting.result()).reason, "paused");
  deepEqual(waiting.pending.map(({ name }) => name), ["mail"]);
  await rejects(waiting.answer({ results }), (error) => {
    ok(error instanceof ClientError);
    deepEqual([error.code, error.status], ["call_not_pending", 409]);
    return true;
  });
  await waiting.answer({ approvals });
  equal((await waiting.result()).reason, "stop");

  // Two answers before anything is read: what lies between them is read, too.
  const parts = makeService();
  const twice = parts.client.turn({ session: "s", input });
  const first = await Array.fromAsync(twice);
  await twice.answer({ results });
  await twice.answer({ approvals });
  const rest = await Array.fromAsync(twice);
  deepEqual([...first, ...rest], await Array.fromAsync(parts.client.follow(twice.id ?? "")));

  const own = makeService();
  const calls: unknown[] = [];
  const request: ClientTurnRequest = {
    session: "s",
    input: "where mail brought",
    tools: {
      where: () => {
        throw new Error("nowhere");
      },
      brought: {
        description: "Comes with the turn",
        inputSchema: { type: "object" },
        // What the model wrote may be taken for what its schema says.
        execute: (_: Readonly<Record<string, never>>, { ref, name }) => void calls.push([ref, name]),
      },
    },
    approve: ({ name }) => ({ approved: name === "mail", reason: "fine" }),
  };
  const done = await own.client.turn(request).result();
  match(done.text, /nowhere/);
  deepEqual(own.ran, ["mail"]);
  deepEqual(calls, [["e1.2", "brought"]]);
});

Deno.test("a turn that was paused and answered elsewhere is followed over its pauses", async () => {
  const { client } = makeService();
  const turn = client.turn({ session: "s", input: "where", tools: { where: () => "here" } });
  const seen = await Array.fromAsync(turn);
  equal(types(seen).filter((type) => type === "turn.paused").length, 1);
  deepEqual(await Array.fromAsync(client.follow(turn.id ?? "")), seen);
});

Deno.test("turn.send() says something to a turn that runs", async () => {
  const { client, finish } = makeService();
  const turn = client.turn({ session: "s", input: "slow" });
  await rejects(turn.send("too early"), /has not begun/);
  const seen: TurnEvent[] = [];
  for await (const event of turn) {
    seen.push(event);
    if (event.type !== "tool.call") continue;
    await turn.send("hurry");
    finish();
  }
  deepEqual(seen.flatMap((event) => event.type === "user.message" ? [event.input] : []), ["hurry"]);
  await rejects(turn.send("late"), { code: "turn_over", status: 409 });
});

Deno.test("client.turn() tells a refusal, a turn that failed, and a second reader", async () => {
  const { client } = makeService();
  await rejects(client.turn({ input: "hello", agent: "none" }).result(), (error) => {
    ok(error instanceof ClientError);
    deepEqual([error.code, error.status, error.tries], ["unknown_agent", 400, 1]);
    match(error.message, /wanted one of default/);
    return true;
  });
  await rejects(client.follow("t_none").result(), { code: "turn_not_found", status: 404 });

  const model = scripted({
    script: () => {
      throw new Error("secret");
    },
  });
  const broken = createApp({ agents: { default: { model } }, store: memoryStore() });
  const other = clientOf(async (url, init) => await broken.request(url, init));
  await rejects(other.turn({ session: "s", input: "hello" }).result(), (error) => {
    ok(error instanceof ClientError);
    equal(error.fields["session"], "s");
    ok(!error.message.includes("secret"));
    return true;
  });

  const turn = client.turn({ input: "hello" });
  const [first, second] = await Promise.allSettled([turn.result(), turn.result()]);
  equal(first.status, "fulfilled");
  match(String(second.status === "rejected" && second.reason), /being read already/);
});

Deno.test("createClient() uses the fetch of the platform where it is given none", () => {
  ok(createClient({ url: "http://127.0.0.1:1/agent/" }).sessions);
});
