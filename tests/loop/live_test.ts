/** Long sessions through the whole engine, over HTTP, against doubles that refuse what the real services refuse. */
import assert from "node:assert/strict";
import { hasCorpus, readCorpus } from "../bench/_corpus.ts";
import { type EngineRun, playOf, runEngine, type Service, SERVICES } from "../bench/_engine.ts";
import { scenario } from "../support/scenario.ts";
import { assertLog } from "../support/turns.ts";

function assertHeld(run: EngineRun, compactions: number): void {
  const { play, requests, calls, entries, ends, applied, attempts, deferred } = run;
  assert.deepEqual(run.invalid, []);
  assert.deepEqual(run.overruns, []);
  assert.equal(run.repeated, 0, "a compaction followed another with nothing appended between");
  assert.ok(deferred <= 0.01 * attempts, `${deferred} of ${attempts} attempts were deferred`);
  assert.ok(applied >= compactions, `only ${applied} compactions`);
  assert.deepEqual(ends, play.turns.map(() => "stop"));
  const made = play.turns.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
  assert.equal(calls, made.length);
  assert.ok(requests >= play.turns.reduce((sum, { steps }) => sum + steps.length, 0));
  assertLog(entries);
  // The log is the archive: each result as its tool gave it, none shortened.
  const kept = entries.flatMap((entry) => entry.kind === "result" ? [entry.output] : []);
  assert.deepEqual(
    kept.map((output) => output.type === "text" ? output.value : output).toSorted(),
    made.map(({ result }) => result).toSorted(),
  );
}

for (const service of SERVICES) {
  Deno.test(`184 calls in one turn pass a window of 12,000 tokens at ${service}: none refused, none deferred`, async () => {
    assertHeld(await runEngine(scenario(), { service, usable: 12_000 }), 10);
  });
}

const isThere = hasCorpus();
const RECORDED: readonly (readonly [name: string, share: number, service: Service])[] = [
  ["spotter-fa812bfe-b295-", 0.5, "openai"],
  ["spotter-fa812bfe-b295-", 0.35, "anthropic"],
];
for (const [name, share, service] of RECORDED) {
  Deno.test({
    name: `what an agent once did passes ${share} of its tokens at ${service}${
      isThere ? "" : " (ignored: the transcripts are not there)"
    }`,
    ignore: !isThere,
    async fn() {
      const found = readCorpus([name]).find(({ format, raw }) => format === "openai-chat" && !raw);
      assert.ok(found);
      const play = playOf(found);
      assertHeld(await runEngine(play, { service, usable: Math.floor(play.tokens * share) }), 5);
    },
  });
}
