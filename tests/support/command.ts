/**
 * The command: in this process with streams of its own, or as a user runs it. `process_test.ts` holds the one to the
 * other.
 */
import { Readable, Writable } from "node:stream";
import { runCommand } from "../../src/_cli_run.ts";

/** The folder of the project. */
export const ROOT = new URL("../../", import.meta.url);
/** The words that run the command. */
export const COMMAND = [Deno.execPath(), "run", "--quiet", "--no-lock", "-P=cli", "src/cli.ts"];

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A stream to write to that keeps what was written. */
class Kept extends Writable {
  readonly #chunks: Uint8Array[] = [];

  override _write(chunk: Uint8Array, _: string, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  /** All of it. */
  text(): Promise<string> {
    return new Blob(this.#chunks as Uint8Array<ArrayBuffer>[]).bytes().then(textOf);
  }
}

const textOf = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
const bytesOf = (text: string | Uint8Array<ArrayBuffer>) =>
  typeof text === "string" ? new TextEncoder().encode(text) : text;

interface Input {
  readonly stdin?: string | Uint8Array<ArrayBuffer>;
}

/** Runs the command in this process, to its end. */
export async function run(args: readonly string[], { stdin = "" }: Input = {}): Promise<Outcome> {
  const [stdout, stderr] = [new Kept(), new Kept()];
  const code = await runCommand(args, { stdin: Readable.from([bytesOf(stdin)]), stdout, stderr });
  return { code, out: await stdout.text(), err: await stderr.text() };
}

/** Runs the command in a process of its own, to its end. */
export async function runProcess(
  args: readonly string[],
  { stdin = "", command = COMMAND, cwd = ROOT }: Input & {
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
    await writer.write(bytesOf(stdin));
    await writer.close();
  };
  // A command that refuses its arguments does not read its input.
  const [output] = await Promise.all([child.output(), write().catch(() => {})]);
  return { code: output.code, out: textOf(output.stdout), err: textOf(output.stderr) };
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
