/** Turns of the loop through every dialect. */
import assert from "node:assert/strict";
import { runTurn } from "../../src/loop/turn.ts";
import { clerk } from "../../src/models/clerk.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { endOf, eventsOf, tool } from "../support/turns.ts";
import { assertAudited, audit, SMALL } from "./_audit.ts";
import { conform } from "./_conformance.ts";

conform((dialect, test) => {
  const { wire } = dialect;

  test("never has arguments executed that the output limit has cut off", async () => {
    const executed: unknown[] = [];
    const fake = fakeFetch({ reads: [wire.cutArguments] }, { reads: [wire.text("I see.") + wire.end] });
    const model = await dialect.model({ fetch: fake.fetch });
    const agent = { model, tools: [tool("get", (input) => executed.push(input))] };
    const events = await Array.fromAsync(
      runTurn({ agent, session: "s", input: "Go." }, { store: memoryStore() }),
    );
    assert.deepEqual(executed, []);
    assert.equal(endOf(events), "stop");
    const results = eventsOf(events, "tool.result");
    assert.deepEqual(results.map(({ status }) => status), ["error"]);
    assert.match(JSON.stringify(results), /cut off at the output limit/);
    assert.match(fake.requests[1]?.body ?? "", /cut off at the output limit/);
  });

  test("takes a turn of more than 50 steps through its compactions", async () => {
    const { window } = SMALL;
    await using double = dialect.start({ window, script: (asked) => clerk(asked) });
    const done = await audit(await dialect.model({ baseURL: double.url, ...SMALL }));
    assertAudited(done, double);
  });
});
