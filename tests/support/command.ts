/** The command, run as a user runs it. */

/** The folder of the project. */
export const ROOT = new URL("../../", import.meta.url);
/** The words that run the command. */
export const COMMAND = [Deno.execPath(), "run", "--quiet", "--no-lock", "-P=cli", "src/cli.ts"];

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command to its end. */
export async function run(
  args: readonly string[],
  { stdin = "", command = COMMAND, cwd = ROOT }: {
    readonly stdin?: string | Uint8Array<ArrayBuffer>;
    readonly command?: readonly string[];
    readonly cwd?: string | URL;
  } = {},
): Promise<Outcome> {
  const [program = "", ...words] = command;
  const child = new Deno.Command(program, {
    args: [...words, ...args],
    cwd,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const write = async () => {
    const writer = child.stdin.getWriter();
    await writer.write(typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin);
    await writer.close();
  };
  // A command that refuses its arguments does not read its input.
  const [output] = await Promise.all([child.output(), write().catch(() => {})]);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return { code: output.code, out: decoder.decode(output.stdout), err: decoder.decode(output.stderr) };
}

/** Runs a test in a folder of its own. */
export function testInFolder(name: string, test: (folder: string) => Promise<void>): void {
  Deno.test(name, async () => {
    const folder = await Deno.makeTempDir();
    try {
      await test(folder);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

/** Writes a file; gives its path. */
export async function write(path: string, text: string): Promise<string> {
  await Deno.writeTextFile(path, text);
  return path;
}

/** Messages as JSONL. */
export const lines = (messages: readonly unknown[]) =>
  messages.map((message) => `${JSON.stringify(message)}\n`).join("");
