/**
 * Results that their tools want retained: verbatim in every request, with their calls, under a cap of their own.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { retainedResults, wholeAtoms } from "../../src/compaction/pins.ts";
import type { StoredView } from "../../src/compaction/context.ts";
import type { ModelRequest, Tool } from "../../src/ports.ts";
import type { Script } from "../../src/models/scripted.ts";
import { session } from "../support/entries.ts";
import { assertAccounted, overflow } from "../support/requests.ts";
import { Bench, calls, endOf, eventsOf, prose, replies, tool } from "../support/turns.ts";

function toolsWith(retain: Tool["retain"]): Tool[] {
  const plan = tool("plan", ({ n, length }) => `Plan ${n}: ${prose(Number(length ?? 60), Number(n))}`);
  return [
    { ...plan, ...(retain === undefined ? {} : { retain }) },
    tool("read", ({ n }) => prose(1_800, Number(n))),
  ];
}

const reads = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => calls("read", { n: from + n }));

/** Plans by number that a request shows raw, by their results. */
function plansIn({ messages }: ModelRequest): number[] {
  return messages.flatMap(({ role, content }) =>
    role !== "tool" ? [] : content.flatMap(({ toolName, output }) => {
      const said = output.type === "text" ? output.value : "";
      return toolName === "plan" ? [Number(said.match(/^Plan (\d+): /)?.[1] ?? NaN)] : [];
    })
  );
}

async function run(retain: Tool["retain"], script: Script, window = 9_000): Promise<Bench> {
  const bench = new Bench({ tools: toolsWith(retain), window, script });
  const events = await bench.run("The task.");
  equal(endOf(events), "stop");
  const phases = eventsOf(events, "compaction").map(({ phase }) => phase);
  ok(phases.filter((phase) => phase === "applied").length >= 3, phases.join());
  ok(!phases.includes("rejected"), phases.join());
  const { entries } = await bench.assertSound();
  for (const request of bench.requests) {
    assertAccounted(request, entries);
    equal(overflow(request, window), 0);
  }
  return bench;
}

const script = () =>
  replies(calls("plan", { n: 1 }), ...reads(14), calls("plan", { n: 2 }), ...reads(25, 20), {
    text: "Done.",
  });

Deno.test("a tool with retain latest keeps its newest result verbatim, and lets go of the one before", async () => {
  const bench = await run("latest", script());
  const seen = bench.requests.slice(1).map(plansIn);
  const second = seen.findIndex((plans) => plans.includes(2));
  ok(seen.slice(0, second).every((plans) => plans.join() === "1"), "the first, until there is a newer one");
  ok(seen.slice(second).every((plans) => plans.includes(2)), "the newest, to the end");
  deepEqual(seen.at(-1), [2], "the first one has left with a compaction");
  const ledger = String(bench.requests.at(-1)?.messages[0]?.content);
  ok(/e1\.0 plan|plan 1 ok/.test(ledger), "and is recorded");
});

Deno.test("a tool with retain always keeps all its results, a normal one none", async () => {
  const always = await run("always", script());
  deepEqual(plansIn(always.requests.at(-1) as ModelRequest), [1, 2]);
  for (const retain of ["normal", undefined] as const) {
    const bench = await run(retain, script());
    deepEqual(plansIn(bench.requests.at(-1) as ModelRequest), []);
  }
});

Deno.test("retained results stay under their cap: the newest have it, the others are recorded", async () => {
  const bench = await run(
    "always",
    replies(
      ...Array.from({ length: 12 }, (_, n) => calls("plan", { n: n + 1, length: 700 })),
      ...reads(25),
      { text: "Done." },
    ),
  );
  const plans = plansIn(bench.requests.at(-1) as ModelRequest);
  ok(plans.length >= 2 && plans.length < 12, `found ${plans}`);
  deepEqual(
    plans,
    Array.from({ length: plans.length }, (_, n) => 13 - plans.length + n),
    "the newest of them",
  );
});

Deno.test.each(["latest", "always"] as const)(
  "a result that was shortened in the tail and is retained then goes on as it was shown: %s",
  async (retain) => {
    const bench = await run(
      retain,
      replies(...reads(5), calls("plan", { n: 1, length: 8_000 }), ...reads(25, 20), { text: "Done." }),
    );
    deepEqual(plansIn(bench.requests.at(-1) as ModelRequest), [1]);
    const { trims, pinned, cut } = (await bench.state()).view as StoredView;
    ok(trims.some(([seq]) => seq < cut && pinned.includes(seq)), "it stands before the cut, shortened");
  },
);

Deno.test("a result that is retained keeps the whole of its round: no pair is severed", async () => {
  const both = { calls: [...(calls("plan", { n: 7 }).calls ?? []), { name: "read", input: { n: 3 } }] };
  const bench = await run("latest", replies(both, ...reads(45), { text: "Done." }), 12_000);
  const last = bench.requests.at(-1) as ModelRequest;
  const round = last.messages.find(({ role, content }) => role === "tool" && content.length === 2);
  ok(round !== undefined, "both results stand behind their message");
  deepEqual(plansIn(last), [7]);
  const { view } = await bench.state();
  deepEqual((view as StoredView).pinned.slice(0, 4), [0, 1, 2, 3]);
});

Deno.test("an error is not what a tool wants retained", async () => {
  let n = 0;
  const plan: Tool = {
    ...tool("plan", () => {
      if (n++ > 0) throw new Error("no plan");
      return "Plan 1: the first";
    }),
    retain: "latest",
  };
  const bench = new Bench({
    tools: [plan, tool("read", ({ n }) => prose(1_800, Number(n)))],
    window: 9_000,
    script: replies(calls("plan", {}), calls("plan", {}), ...reads(25)),
  });
  await bench.run("Go");
  await bench.assertSound();
  deepEqual(plansIn(bench.requests.at(-1) as ModelRequest), [1]);
});

Deno.test("a retained result goes on through later turns", async () => {
  const turn = (messages: ModelRequest["messages"]) =>
    messages.slice(messages.findLastIndex(({ role }) => role === "user"));
  const bench = new Bench({
    tools: toolsWith("latest"),
    window: 9_000,
    script: ({ messages }) => {
      const since = turn(messages);
      if (since.length > 12) return { text: "Read." };
      return since[0]?.content === "First." && since.length === 1
        ? calls("plan", { n: 5 })
        : calls("read", { n: since.length });
    },
  });
  for (const input of ["First.", "Second.", "Third."]) equal(endOf(await bench.run(input)), "stop");
  const { entries } = await bench.assertSound();
  for (const request of bench.requests) assertAccounted(request, entries);
  ok(bench.requests.slice(1).every((request) => plansIn(request).join() === "5"));
});

Deno.test("wholeAtoms() takes in the round of a result or a call, and nothing for what is not there", () => {
  const entries = session([{ count: 3 }, {}]);
  deepEqual(wholeAtoms(entries, [3]), [1, 2, 3, 4]);
  deepEqual(wholeAtoms(entries, [1, 0]), [0, 1, 2, 3, 4]);
  deepEqual(wholeAtoms(entries, [99]), []);
});

Deno.test("retainedResults() leaves out what is not shown any more, and what has no room", () => {
  const entries = session([{ count: 2 }, {}, {}]);
  const tools: Tool[] = [{ ...tool("read", () => ""), retain: "always" }];
  const find = (room: number, gone: readonly number[] = []) =>
    retainedResults(entries, tools, {
      room,
      sizeOf: (seqs) => seqs.some((seq) => gone.includes(seq)) ? null : seqs.length * 10,
    }).kept;
  deepEqual(find(100), [1, 2, 3, 4, 5, 6, 7]);
  deepEqual(find(40), [4, 5, 6, 7]);
  deepEqual(find(100, [5]), [1, 2, 3, 6, 7]);
  deepEqual(find(0), []);
});

Deno.test("the newest result of retain latest is in its ledger line to the letter where its round has no room", async () => {
  const wide = [1, 2, 3].map((n) => ({ name: "read", input: { n } }));
  const round = (n: number) => ({ calls: [...(calls("plan", { n, length: 260 }).calls ?? []), ...wide] });
  const bench = await run(
    "latest",
    replies(round(1), ...reads(8), round(2), ...reads(35), { text: "Done." }),
  );
  const plan = (n: number): string => `Plan ${n}: ${prose(260, n)}`;
  const shown = bench.requests.slice(1).map((request) => JSON.stringify(request.messages));
  const second = shown.findIndex((text) => text.includes(plan(2)));
  ok(shown.slice(0, second).every((text) => text.includes(plan(1))), "the first, until there is a newer one");
  ok(shown.slice(second).every((text) => text.includes(plan(2))), "the newest, to the end");
  deepEqual(plansIn(bench.requests.at(-1) as ModelRequest), [], "its round has left");
  const ledger = String(bench.requests.at(-1)?.messages[0]?.content);
  ok(ledger.includes(`ok: ${JSON.stringify(plan(2))}`), "and the line holds it");
});

Deno.test("a retained result that is too long for a line is there with both its ends", async () => {
  const wide = [1, 2, 3].map((n) => ({ name: "read", input: { n } }));
  const round = { calls: [...(calls("plan", { n: 1, length: 1_500 }).calls ?? []), ...wide] };
  const bench = await run("latest", replies(round, ...reads(40), { text: "Done." }));
  const ledger = String(bench.requests.at(-1)?.messages[0]?.content);
  const [, told = ""] = ledger.match(/^e1\.0 plan .* ok: (".*")$/m) ?? [];
  ok(
    /^"Plan 1: word 1000 .*…/.test(told) &&
      told.endsWith(`(1508 characters, #${told.match(/#(\w+)/)?.[1]})"`),
    told,
  );
});
