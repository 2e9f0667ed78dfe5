/** The live loop on a few recorded transcripts: a window that is too small, a check after every record. */
import { equal, ok } from "node:assert/strict";
import { hasCorpus } from "../bench/_corpus.ts";
import { isWithin } from "../bench/_live.ts";
import { measureLive } from "../bench/selection.ts";

/** One prompt and signed reasoning, wide rounds, a dialogue in a tiny window, one call after another. */
const NAMES = ["spotter-ae4a77f8-aedd-", "spotter-fa812bfe-b295-", "tau-airline-10-t3", "openhands-mswe-2"];

const isThere = hasCorpus();
Deno.test({
  name: `recorded transcripts never pass a window that is too small for them${
    isThere ? "" : " (ignored: the transcripts are not there)"
  }`,
  ignore: !isThere,
  async fn() {
    const runs = await measureLive(NAMES);
    equal(runs.length, 2 * 3 * NAMES.length);
    const within = runs.filter(isWithin);
    ok(within.length >= 18, `${within.length} runs`);
    ok(within.reduce((sum, { compactions }) => sum + compactions, 0) > 60);
    for (const { transcript: { name, format }, share, peak } of within) {
      ok(peak <= 1, `${name} ${format}: ${peak.toFixed(2)} of a window of ${share}`);
    }
  },
});
