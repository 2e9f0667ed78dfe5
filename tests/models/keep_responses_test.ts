import assert from "node:assert/strict";
import { keepResponses } from "../../src/models/keep_responses.ts";

Deno.test("keepResponses() passes a request on, without redirects", async () => {
  const seen: (RequestInit | undefined)[] = [];
  const fetch = keepResponses((_, init) => {
    seen.push(init);
    return Promise.resolve(new Response("hello"));
  });
  const { signal } = new AbortController();
  assert.equal(await (await fetch("http://127.0.0.1:1/", { signal })).text(), "hello");
  assert.equal(await (await fetch(new Request("http://127.0.0.1:1/"))).text(), "hello");
  assert.deepEqual(seen.map((init) => init?.redirect), ["manual", "manual"]);
  assert.equal(seen[0]?.signal, signal);
});

Deno.test("keepResponses() uses the global fetch as it is when a request is made", async () => {
  const before = globalThis.fetch;
  const kept = keepResponses();
  try {
    globalThis.fetch = () => Promise.resolve(new Response("replaced"));
    assert.equal(await (await kept("http://127.0.0.1:1/")).text(), "replaced");
  } finally {
    globalThis.fetch = before;
  }
});
