/**
 * The demo: the real server as its own process, against the strict double of a model service, in two turns.
 * The first audits 36 units in one turn of more than 180 calls and compacts on the way; the second shows a
 * deferral under policy `backward`. Run with `deno task demo`.
 */
import { createParser } from "eventsource-parser";
import type { TurnEventBody } from "../src/loop/events.ts";
import { clerk } from "../src/models/clerk.ts";
import { startDouble } from "../tests/support/openai_double.ts";
import { killServers, type Server, startServer } from "./_demo_server.ts";
import { wrap } from "./_demo_text.ts";
import { createPaint } from "../src/_cli_text.ts";
import { grouped } from "../src/files/words.ts";
import { summaryTable, type TurnCounts, TurnView } from "./_demo_view.ts";

/** Milliseconds for one turn. */
const TURN_MS = 60_000;

interface Scene {
  /** Heading of the column in the table. */
  readonly title: string;
  readonly about: string;
  readonly input: string;
  readonly policy: "full" | "backward";
  /** Tokens. */
  readonly window: number;
  /** How the answer of a turn that went well begins. */
  readonly answer: string;
}

const SCENES: readonly Scene[] = [
  {
    title: "long turn",
    about:
      "One turn, 36 units, five calls each, eight slow reads in parallel half-way. Compaction falls in the middle of it.",
    input: "Audit the workspace",
    policy: "full",
    window: 10_000,
    answer: "Audit finished: 36 of 36 units sealed",
  },
  {
    title: "short turn",
    about:
      "One step reads eight files at once. There is no legal cut within the lookback: compaction waits for the turn boundary.",
    input: "Audit the archive",
    policy: "backward",
    window: 9_000,
    answer: "Audit finished: 8 of 8 reports",
  },
];

const paint = createPaint(Deno.stdout.isTerminal() && !Deno.noColor);

/** Sends the input and shows the events until the stream ends. */
async function play(
  server: Server,
  { input, view }: { readonly input: string; readonly view: TurnView },
): Promise<void> {
  const response = await fetch(`${server.url}/v1/turns`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ input }),
  });
  if (!response.ok || response.body === null) {
    throw new Error(
      `Cannot start the turn: found status ${response.status}, wanted 200\n${await response.text()}`,
    );
  }
  const parser = createParser({
    onEvent({ event, data }) {
      view.show({ ...JSON.parse(data), type: event } as TurnEventBody);
    },
  });
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) parser.feed(text);
}

/** One server, one turn. */
async function perform(
  scene: Scene,
): Promise<{ counts: TurnCounts; violations: number; problems: string[] }> {
  await using double = startDouble({ script: clerk, window: scene.window });
  await using server = await startServer({
    SELVAGE_MODEL: "openai:scripted",
    OPENAI_BASE_URL: double.url,
    OPENAI_API_KEY: "demo",
    SELVAGE_WINDOW: String(scene.window),
    SELVAGE_MAX_OUTPUT: "1000",
    SELVAGE_KV: ":memory:",
    SELVAGE_MAX_STEPS: "400",
    SELVAGE_POLICY: scene.policy,
  });
  console.log(
    paint.bold(
      `\n${scene.title}: "${scene.input}", window ${grouped(scene.window)} tokens, policy ${scene.policy}`,
    ),
  );
  for (const line of wrap(scene.about, 98)) console.log(line);
  console.log(paint.dim(`server ${server.url}, model ${double.url}`));
  console.log(paint.dim("in the bars: C compaction is due from here on, S the model is no longer called\n"));
  const view = new TurnView((line) => console.log(line), paint);
  const problems: string[] = [];
  // A server that hangs ends here; the stream then breaks off, which is reported below.
  const timer = setTimeout(() => server.kill(), TURN_MS);
  try {
    await play(server, { input: scene.input, view });
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(timer);
  }
  const { counts } = view;
  const violations = double.violations.length + counts.errors;
  for (const violation of double.violations) {
    problems.push(`the model service refused a request: ${violation}`);
  }
  if (counts.errors > 0) problems.push(`${counts.errors} error events`);
  if (!counts.isFinished) problems.push("the stream ended without turn.finished");
  if (!counts.answer.startsWith(scene.answer)) {
    problems.push(`the answer begins with "${counts.answer.slice(0, 60)}", wanted "${scene.answer}"`);
  }
  if (scene.policy === "full" && counts.resolved === 0) {
    problems.push("no deferral was resolved within the long turn");
  }
  if (scene.policy === "backward" && counts.honoured === 0) {
    problems.push("no deferral was honoured at the turn boundary");
  }
  if (problems.length > 0) problems.push(...server.output.map((line) => `server: ${line}`));
  return { counts, violations, problems };
}

/** Plays both turns and prints the table; resolves to the exit code. */
async function main(): Promise<number> {
  const runs = [];
  for (const scene of SCENES) {
    runs.push({ title: `${scene.title} (${scene.policy})`, ...await perform(scene) });
  }
  console.log("");
  for (const line of summaryTable(runs)) console.log(line);
  console.log(
    "\nEvery request that the model service got was checked: a call without its result, or a result without",
  );
  console.log("its call, would be a violation. Next: deno task start, then the curl example of the README.");
  const problems = runs.flatMap((run) => run.problems);
  for (const problem of problems) console.error(paint.red(problem));
  return problems.length > 0 ? 1 : 0;
}

if (import.meta.main) {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => {
      killServers();
      Deno.exit(signal === "SIGINT" ? 130 : 143);
    });
  }
  const code = await main().catch((error) => {
    console.error(paint.red(error instanceof Error ? error.message : String(error)));
    return 1;
  });
  Deno.exit(code);
}
