import assert from "node:assert/strict";

Deno.test("openaiChat() ends on abort after a garbage collection", async () => {
  const script = new URL("../support/abort_gc_script.ts", import.meta.url).pathname;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-lock", "--v8-flags=--expose-gc", "--allow-net=127.0.0.1", script],
    // The time of a hang, not of the test: a lost abort would wait for the stall timer.
    signal: AbortSignal.timeout(5_000),
  }).output();
  assert.equal(new TextDecoder().decode(stdout), "closed\n", new TextDecoder().decode(stderr));
  assert.equal(code, 0);
});
