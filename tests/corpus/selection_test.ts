/** The gates of selection on recorded transcripts, on a sample of points; `deno task bench selection` has all. */
import { equal, ok } from "node:assert/strict";
import { hasCorpus } from "../bench/_corpus.ts";
import { measureSelection } from "../bench/selection.ts";

const isThere = hasCorpus();
Deno.test({
  name: `selection on recorded transcripts keeps its gates${
    isThere ? "" : " (ignored: the transcripts are not there)"
  }`,
  ignore: !isThere,
  async fn() {
    const tallies = await measureSelection({ step: 67 });
    for (const name of ["full", "full, thinking ignored"]) {
      const tally = tallies.get(name)?.tally;
      ok(tally !== undefined && tally.points > 300, `${name}: ${tally?.points} points`);
      equal(tally.invalid, 0, `${name}: invalid`);
      equal(tally.settledShare, 1, `${name}: second runs that answer nothing`);
      ok(tally.deferredShare <= 0.01, `${name}: ${tally.deferredShare} deferred`);
      ok(tally.tailShare >= 0.95, `${name}: ${tally.tailShare} of the tails within bounds`);
      ok(tally.charged >= 0.95 && tally.charged <= 1.02, `${name}: ${tally.charged} kept to budget`);
    }
    // The naive way shows that the judges can say no.
    ok((tallies.get("naive: the last N tokens")?.tally.invalid ?? 0) > 100);
  },
});
