/** What of a removed part can be found again; `deno task bench facts` holds it against what others keep. */
import { equal, ok } from "node:assert/strict";
import { hasCorpus, readCorpus } from "../bench/_corpus.ts";
import { reader } from "../bench/_facts.ts";
import { ownWay, recallable, tokensOf } from "../bench/_ways.ts";
import { removedFacts } from "../bench/facts.ts";
import { loadCounter } from "../../src/tokens/counter.ts";
import type { Json } from "../support/wire_json.ts";
import { messagesOf, scenario } from "../support/scenario.ts";

/** Compacts to a share of the tokens; gives the facts of what went, and those of them that nothing leads to. */
async function lostFacts(messages: readonly Json[], share: number) {
  const counter = await loadCounter("o200k_base");
  const measure = (text: string): number => counter.count(text);
  const budget = Math.floor(tokensOf(messages, measure) * share);
  const facts = removedFacts(messages, { budget, measure });
  const { messages: output } = await ownWay(measure).run(messages, budget);
  ok(tokensOf(output, measure) <= 1.15 * budget);
  const [isRead, isReached] = [reader(output), recallable(messages, output)];
  return { facts, lost: facts.filter((fact) => !isRead(fact) && !isReached(fact.at)) };
}

Deno.test("every fact of a removed part can be read, or found by a number in the ledger", async () => {
  const messages = messagesOf(scenario());
  for (const share of [0.1, 0.25, 0.5]) {
    const { facts, lost } = await lostFacts(messages, share);
    ok(facts.length > 100, `only ${facts.length} facts`);
    equal(lost.length, 0, `lost: ${JSON.stringify(lost.slice(0, 3))}`);
  }
  // The rule can tell: without a ledger nothing leads back.
  const none = recallable(messages, messages.slice(-10));
  ok(!none(3) && !none(40));
});

const isThere = hasCorpus();
Deno.test({
  name: `every fact of a removed part of recorded transcripts can be found again${
    isThere ? "" : " (ignored: the transcripts are not there)"
  }`,
  ignore: !isThere,
  async fn() {
    // One of them with a result that is shown shortened, one with users who talk.
    for (const { messages, format, raw } of readCorpus(["spotter-agent-a2898e3", "tau-airline-10-t3"])) {
      if (format !== "openai-chat" || raw) continue;
      const { facts, lost } = await lostFacts(messages, 0.25);
      ok(facts.length > 10);
      equal(lost.length, 0, `lost: ${JSON.stringify(lost.slice(0, 3))}`);
    }
  },
});
