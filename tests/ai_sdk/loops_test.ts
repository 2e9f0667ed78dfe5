/**
 * compactSteps() in loops of the real AI SDK, versions 6 and 7, against strict doubles: the clerk audits a workspace
 * over 196 calls, and derails where a pair is lost, doubled or mixed up.
 */
import assert from "node:assert/strict";
import { compactSteps, type CompactStepsEvent } from "../../src/ai_sdk/mod.ts";
import { fixedTokens } from "../../src/loop/measures.ts";
import { clerk } from "../../src/models/clerk.ts";
import type { Tool } from "../../src/ports.ts";
import { workspaceTools } from "../../src/tools/workspace.ts";
import { startAnthropicDouble } from "../support/anthropic_double.ts";
import type { AnyDouble } from "../support/double_server.ts";
import { startDouble } from "../support/openai_double.ts";
import { Bench, eventsOf, modelOf } from "../support/turns.ts";
import { scripted } from "../../src/models/scripted.ts";
import type { StoredView } from "../../src/compaction/context.ts";
import { summaryText } from "../../src/compaction/context.ts";
import { toolSet, VERSIONS } from "./_versions.ts";

const WINDOW = 12_000;
const MAX_OUTPUT = 2_400;
const TASK = "Please audit the workspace.";

const KINDS = [
  { kind: "generateText", service: "openai" },
  { kind: "generateText", service: "anthropic" },
  { kind: "streamText", service: "openai" },
  { kind: "ToolLoopAgent", service: "anthropic" },
] as const;

const runs = VERSIONS.flatMap((version) =>
  KINDS.map(({ kind, service }) => ({
    ...version,
    service,
    kind,
    name: `${kind} of version ${version.version} against ${service}`,
  }))
);

/** Runs the audit to its end; gives the last text. */
async function audit(
  { ai: load, kind, service, openai, anthropic }: (typeof runs)[number],
  { url, prepareStep }: { readonly url: string; readonly prepareStep: unknown },
): Promise<string> {
  const ai = await load();
  const model = await (service === "openai" ? openai(url) : anthropic(url));
  const tools = toolSet(ai, workspaceTools({ sleep: () => Promise.resolve() }));
  const settings = {
    model,
    tools,
    stopWhen: ai.stepCountIs(300),
    prepareStep,
    maxOutputTokens: MAX_OUTPUT,
    maxRetries: 0,
  };
  if (kind === "ToolLoopAgent") {
    const agent = new ai.ToolLoopAgent({ ...settings, instructions: "You audit a workspace." });
    return (await agent.generate({ prompt: TASK })).text;
  }
  const run = { ...settings, system: "You audit a workspace.", prompt: TASK };
  if (kind === "generateText") return (await ai.generateText(run)).text;
  const errors: unknown[] = [];
  const { fullStream, text } = ai.streamText({ ...run, onError: (event) => errors.push(event) });
  for await (const part of fullStream) if (part.type === "error") errors.push(part.error);
  assert.deepEqual(errors, []);
  return await text;
}

function start(service: "openai" | "anthropic"): AnyDouble {
  return service === "openai"
    ? startDouble({ script: clerk, window: WINDOW })
    : startAnthropicDouble({ script: clerk, window: WINDOW });
}

Deno.test.each(runs)("compactSteps() carries $name through 196 calls in a small window", async (run) => {
  await using double = start(run.service);
  const events: CompactStepsEvent[] = [];
  const prepareStep = compactSteps({
    window: WINDOW,
    maxOutput: MAX_OUTPUT,
    onEvent: (event) => events.push(event),
  });
  const text = await audit(run, { url: double.url, prepareStep });
  assert.deepEqual(double.violations, []);
  assert.match(text, /^Audit finished: 36 of 36 units sealed/);
  const phases = events.flatMap((event) => event.type === "compaction" ? [event.phase] : []);
  assert.ok(phases.filter((phase) => phase === "applied").length >= 8, phases.join());
  assert.ok(double.requests.length >= 150, `found ${double.requests.length} steps`);
});

/** What happened to the context, but for what is only read. */
function compactions(events: readonly { readonly type: string }[]): readonly unknown[] {
  return events.flatMap((event) => {
    const { id: _, ...rest } = event as { readonly id?: string; readonly type: string };
    return event.type === "compaction" ? [rest] : [];
  });
}

/** Tools that say what failed as our own loop does. */
function asOurs(tools: readonly Tool[]): readonly Tool[] {
  return tools.map((tool) => ({
    ...tool,
    execute: async (input, context) => {
      try {
        return await tool.execute?.(input, context);
      } catch (error) {
        throw new Error(`${tool.name} failed: ${error instanceof Error ? error.message : error}`);
      }
    },
  }));
}

Deno.test.each([...VERSIONS])(
  "compactSteps() compacts a loop of version $version as our own loop does, to the same ledger, without any bill",
  async ({ ai: load, openai }) => {
    const tools = workspaceTools({ sleep: () => Promise.resolve() });
    const system = "You audit a workspace.";
    const script = scripted({ script: clerk, window: WINDOW, maxOutput: MAX_OUTPUT });
    const unbilled = modelOf(async function* (request, signal) {
      for await (const event of script.stream(request, signal)) {
        if (event.type !== "finish") yield event;
        else yield { type: "finish", reason: event.reason, message: event.message };
      }
    }, { window: WINDOW, maxOutput: MAX_OUTPUT });
    const bench = new Bench({ model: unbilled, tools, agent: { system, maxSteps: 300 } });
    const own = await bench.run(TASK);
    const { view } = await bench.state();

    await using double = startDouble({ script: clerk, window: 10 * WINDOW });
    const events: CompactStepsEvent[] = [];
    const ai = await load();
    const prepareStep = compactSteps({
      window: WINDOW,
      maxOutput: MAX_OUTPUT,
      fixed: fixedTokens(bench.agent),
      tokenFactor: 1,
      verbatimArgs: Object.fromEntries(tools.map(({ name, verbatimArgs }) => [name, verbatimArgs])),
      recall: true,
      onEvent: (event) => events.push(event),
    });
    const run = ai.streamText({
      // Bills come with streams only where they are asked for.
      model: await openai(double.url, { includeUsage: false }),
      tools: { ...toolSet(ai, asOurs(tools)), recall: prepareStep.recall },
      system,
      prompt: TASK,
      stopWhen: ai.stepCountIs(300),
      prepareStep,
    });
    const said = eventsOf(own, "text.delta").map((event) => event.text).join("");
    assert.ok(said.endsWith(await run.text), said);
    const [ours, theirs] = [compactions(own), compactions(events)];
    assert.ok(ours.length > 8);
    assert.deepEqual(theirs, ours);
    const { messages } = double.requests.at(-1) as {
      readonly messages: readonly { readonly content: string }[];
    };
    assert.equal(messages[1]?.content, summaryText(view as StoredView, true));
  },
);
