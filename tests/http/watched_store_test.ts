/** A store that fails: what clients are told, what the log says, and when the service is ready again. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { createApp } from "../../src/http/mod.ts";
import type { LogEntry } from "../../src/http/log.ts";
import { watchStore } from "../../src/http/watched_store.ts";
import type { Store } from "../../src/ports.ts";
import { scripted } from "../../src/models/scripted.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { ManualClock } from "../support/clock.ts";
import { userEntries } from "../support/store_contract.ts";
import { parseFrames } from "../support/sse.ts";

const KEY = { tenant: "local", session: "s1" };
const LEASE = { agent: "default", owner: "o", ttlMs: 10_000 };

/** A store whose disk can be full: what writes is refused, from a number of writes on, and counted. */
function fillingStore(clock: ManualClock) {
  const store = memoryStore({ clock });
  const seen = { isFull: false, left: Infinity, writes: 0 };
  const write = <T>(run: () => Promise<T>): Promise<T> => {
    seen.writes++;
    if (seen.isFull || seen.left-- <= 0) {
      return Promise.reject(new Error("database or disk is full: /secret"));
    }
    return run();
  };
  const filling: Store = {
    read: (key, options) => store.read(key, options),
    entry: (key, seq) => store.entry(key, seq),
    acquire: (key, request) => write(() => store.acquire(key, request)),
    commit: (key, lease, commit) => write(() => store.commit(key, lease, commit)),
    renew: (key, lease, ttlMs) => write(() => store.renew(key, lease, ttlMs)),
    events: (key, turn, from) => store.events(key, turn, from),
    list: (owner, page) => store.list(owner, page),
    delete: (key, options) => write(() => store.delete(key, options)),
    claim: (owner, name, claim) =>
      claim === undefined ? store.claim(owner, name) : write(() => store.claim(owner, name, claim)),
    close: () => store.close(),
  };
  return { store: filling, seen };
}

/** A service on it, with what it has logged. */
function makeService() {
  const clock = new ManualClock();
  const { store, seen } = fillingStore(clock);
  const logged: LogEntry[] = [];
  const model = scripted({ script: () => ({ text: "Hi." }) });
  const app = createApp({
    agents: { default: { model } },
    store,
    clock,
    log: (entry) => void logged.push(entry),
  });
  const post = (path: string, body: object) =>
    app.request(path, { method: "POST", body: JSON.stringify(body) });
  return { app, clock, seen, logged, post };
}

Deno.test("a turn that a full store cannot begin is a 503 of its own code, and the log has the reason", async () => {
  const { app, seen, logged, post } = makeService();
  seen.isFull = true;
  const requests = [
    ["/v1/turns", { input: "Hi", session: "s1" }],
    ["/v1/chat/completions", { model: "default", messages: [{ role: "user", content: "Hi" }] }],
    ["/api/chat", {
      id: "c1",
      messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "Hi" }] }],
    }],
  ] as const;
  for (const [path, body] of requests) {
    // Without a session the second keeps nothing in the store.
    const isStored = path !== "/v1/chat/completions";
    const response = await post(path, body);
    const text = await response.text();
    if (!isStored) continue;
    equal(response.status, 503, `${path} ${text}`);
    equal(response.headers.get("retry-after"), "5");
    ok(!text.includes("secret"), text);
    if (path === "/v1/turns") equal(JSON.parse(text).code, "store_unavailable");
  }
  const stacks = logged.flatMap((entry) => entry.event === "fault" ? [String(entry["stack"])] : []);
  equal(stacks.length, 2);
  for (const stack of stacks) match(stack, /caused by: Error: database or disk is full: \/secret/);
  equal((await app.request("/v1/sessions/s1")).status, 404, "it can still be read");
});

Deno.test("a turn whose store fills up ends with store_unavailable, and the log has the reason", async () => {
  const { seen, logged, post } = makeService();
  // Its beginning is stored.
  seen.left = 1;
  const frames = parseFrames(await (await post("/v1/turns", { input: "Hi", session: "s1" })).text());
  const error = frames.find(({ event }) => event === "error");
  equal(error?.data.code, "store_unavailable");
  equal(error?.data.retryable, true);
  ok(!JSON.stringify(frames).includes("secret"));
  const reasons = logged.filter(({ event }) => event === "fault").map((entry) => String(entry["stack"]));
  match(reasons[0] ?? "", /caused by: Error: database or disk is full/);
});

Deno.test("/readyz writes nothing while all is well, and once a write has failed one in five seconds", async () => {
  const { app, clock, seen, post } = makeService();
  const ready = async () => (await app.request("/readyz")).status;
  const isWell = async () => (await app.request("/healthz")).status;
  deepEqual([await ready(), seen.writes], [200, 0]);
  seen.isFull = true;
  deepEqual([await ready(), seen.writes], [200, 0], "nobody has written yet");
  await (await post("/v1/turns", { input: "Hi" })).text();
  const { writes } = seen;
  for (let n = 0; n < 10; n++) equal(await ready(), 503);
  equal(seen.writes, writes);
  const told = await (await app.request("/readyz")).json();
  deepEqual([told.code, told.status], ["store_unavailable", 503]);
  for (let tries = 1; tries <= 3; tries++) {
    await clock.advance(5_000);
    for (let n = 0; n < 10; n++) equal(await ready(), 503);
    equal(seen.writes, writes + tries);
  }
  seen.isFull = false;
  equal(await ready(), 503, "not tried again yet");
  // What can be read is no reason to start the service anew.
  equal(await isWell(), 200);
  await clock.advance(5_000);
  for (let n = 0; n < 10; n++) equal(await ready(), 200);
  equal(seen.writes, writes + 4);
});

Deno.test("/readyz does not wait for a clock that was set back", async () => {
  const manual = new ManualClock();
  const { store, seen } = fillingStore(manual);
  let back = 0;
  const watched = watchStore(store, { now: () => manual.now() - back, sleep: (ms) => manual.sleep(ms) });
  seen.isFull = true;
  await rejects(watched.acquire(KEY, { ...LEASE, turn: "t1" }), { code: "store_unavailable" });
  seen.isFull = false;
  back = 3_600_000;
  await watched.ready();
});

Deno.test("/readyz is not taken in by small writes that a full disk still takes", async () => {
  const clock = new ManualClock();
  const { store } = fillingStore(clock);
  const most = 10_000;
  const sized = watchStore({
    ...store,
    claim: (owner, name, claim) =>
      JSON.stringify(claim ?? null).length > most
        ? Promise.reject(new Error("disk is full"))
        : store.claim(owner, name, claim),
    commit: (key, lease, commit) =>
      JSON.stringify(commit).length > most
        ? Promise.reject(new Error("disk is full"))
        : store.commit(key, lease, commit),
  }, clock);
  const { lease } = await sized.acquire(KEY, { ...LEASE, turn: "t1" });
  await rejects(sized.commit(KEY, lease, { entries: userEntries(0, 1, 60_000) }), {
    code: "store_unavailable",
  });
  await sized.renew(KEY, lease, 10_000);
  await sized.commit(KEY, lease, { entries: userEntries(0, 1) });
  await clock.advance(5_000);
  await rejects(sized.ready(), { code: "store_unavailable" });
});

Deno.test("watchStore() leaves alone what says of itself what it is, and what a beginning throws", async () => {
  const clock = new ManualClock();
  const store = watchStore(memoryStore({ clock }), clock);
  const refuse = (error: unknown) =>
    store.acquire(KEY, { ...LEASE, turn: "t1", begin: () => Promise.reject(error) });
  for (const error of [new Error("of the caller"), new TypeError("wrong"), "text"]) {
    await rejects(refuse(error), (thrown) => thrown === error);
  }
  const { lease } = await store.acquire(KEY, { ...LEASE, turn: "t1" });
  await rejects(store.acquire(KEY, { ...LEASE, turn: "t2" }), { code: "turn_running" });
  await rejects(store.commit(KEY, lease, { entries: userEntries(7, 1) }), RangeError);
  await rejects(store.commit(KEY, lease, { meter: 1n }), TypeError);
  await store.ready();
  const broken = new Proxy(memoryStore(), { get: () => () => Promise.reject(new Error("out of reach")) });
  const watched = watchStore(broken, clock);
  const fault = { code: "store_unavailable", cause: new Error("out of reach") };
  await rejects(watched.read(KEY), fault);
  await rejects(watched.list(KEY), fault);
  await rejects(watched.ready(), fault);
});
