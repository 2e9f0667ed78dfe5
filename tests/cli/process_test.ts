/** The command as a process, and where else it runs. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { call, result, user } from "../support/chat.ts";
import { COMMAND, lines, ROOT, run, runProcess, testInFolder, write } from "../support/command.ts";

Deno.test("selvage stops quietly when nobody reads its output any more", async () => {
  const child = new Deno.Command(COMMAND[0] ?? "", {
    args: [...COMMAND.slice(1), "repair", "-"],
    cwd: ROOT,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await child.stdout.cancel();
  const writer = child.stdin.getWriter();
  await writer.write(
    new TextEncoder().encode(lines(Array.from({ length: 20_000 }, () => user("word ".repeat(40))))),
  );
  await writer.close();
  const err = await new Response(child.stderr).text();
  ok(!/error|EPIPE/i.test(err), err);
  equal((await child.status).code, 0);
});

testInFolder("deno task cli runs the command", async (folder) => {
  const file = await write(`${folder}/t.json`, JSON.stringify([user("Go.")]));
  const { code, out } = await runProcess(["check", file], {
    command: [Deno.execPath(), "task", "--quiet", "cli"],
  });
  equal(code, 0);
  match(out, /valid/);
});

testInFolder("the process answers as runCommand() does, in text and exit code", async (folder) => {
  const text = lines([user("Start. ".repeat(400)), call("a"), user("Stop."), call("b"), result("b")]);
  const file = await write(`${folder}/t.jsonl`, text);
  const codes = new Set<number>();
  for (
    const [args, stdin = ""] of [
      [["check", file]],
      [["check", "--json", "-"], text],
      [["check", "-"], lines([user("Go.")])],
      [["check", "no/such.json", file]],
      [["check", "--wrong", file]],
      [["repair", file]],
      [["repair", "--json", "-"], text],
      [["compact", "--budget", "300", "-"], text],
      [["--help"]],
      [["--version"]],
    ] as const
  ) {
    const inside = await run(args, { stdin });
    deepEqual(await runProcess(args, { stdin }), inside, args.join(" "));
    codes.add(inside.code);
  }
  deepEqual([...codes].sort(), [0, 1, 2]);
  const outcomes = [];
  for (const repair of [run, runProcess]) {
    const outcome = await repair(["repair", "--write", file]);
    outcomes.push([outcome, await Deno.readTextFile(file), await Deno.readTextFile(`${file}.bak`)]);
    await Deno.rename(`${file}.bak`, file);
  }
  deepEqual(outcomes[0], outcomes[1]);
});

/** The version of a Node that can run TypeScript, or why there is none. */
async function findNode(): Promise<{ readonly isAble: boolean; readonly found: string }> {
  try {
    const { stdout } = await new Deno.Command("node", { args: ["--version"] }).output();
    const found = new TextDecoder().decode(stdout).trim();
    const [major = 0, minor = 0] = found.slice(1).split(".").map(Number);
    return { isAble: major > 22 || (major === 22 && minor >= 7), found: `found node ${found}` };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { isAble: false, found: "found no node" };
  }
}

const node = await findNode();

Deno.test({
  name: node.isAble
    ? "selvage runs under plain Node, without any package"
    : `selvage runs under plain Node (not tried: ${node.found}, wanted 22.7 or later)`,
  ignore: !node.isAble,
  fn: async () => {
    const folder = await Deno.makeTempDir();
    try {
      const command = ["node", "--experimental-transform-types", "--no-warnings", "src/cli.ts"];
      const file = await write(`${folder}/t.jsonl`, lines([user("Go."), call("a"), user("Stop.")]));
      const checked = await runProcess(["check", file], { command });
      equal(checked.code, 1, checked.err);
      ok(checked.out.includes("|U|A|U|"), checked.out);
      const repaired = await runProcess(["repair", "--write", file], { command });
      equal(repaired.code, 0, repaired.err);
      equal((await runProcess(["check", "-"], { command, stdin: await Deno.readTextFile(file) })).code, 0);
      deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["t.jsonl", "t.jsonl.bak"]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
