/**
 * The `selvage` command: checks, repairs and compacts transcripts in files. Web and `node:` APIs only, so that it
 * runs wherever they do.
 *
 *     deno task cli check FILE
 *
 * @module
 */
import process from "node:process";
import { once } from "node:events";
import config from "../deno.json" with { type: "json" };
import { type CliRequest, helpText, parseCommandLine } from "./_cli_args.ts";
import { diffMessages } from "./_cli_diff.ts";
import { readTranscriptFile, titleOf, type TranscriptFile } from "./_cli_files.ts";
import { reportCheck, reportCompact, reportRepair, type Subject } from "./_cli_report.ts";
import { createPaint, plain, WIDTH } from "./_cli_text.ts";
import { inBlocks, lookAt, replaceFile } from "./_cli_write.ts";
import { compactTranscript, isLedger } from "./compaction/wire.ts";
import { SelvageError } from "./core/errors.ts";
import { checkMessages } from "./formats/check.ts";
import { describeTranscript } from "./formats/describe.ts";
import { estimateTokens, readTranscript } from "./formats/read.ts";
import { repairTranscript } from "./formats/repair.ts";
import { rereadTranscript } from "./formats/reread.ts";
import { jsonList } from "./formats/source.ts";
import { countOnce } from "./tokens/count_once.ts";
import { loadCounter } from "./tokens/counter.ts";
import { encodingOf } from "./tokens/encoding.ts";

type Run = Extract<CliRequest, { readonly kind: "run" }>;
/** A standard stream to write to. */
type Out = typeof process.stdout | typeof process.stderr;
/** 0 valid or done, 1 violations or no compaction, 2 not readable. */
type ExitCode = 0 | 1 | 2;

/** Writes to a stream no faster than it takes it. */
async function print(stream: Out, chunks: Iterable<string>): Promise<void> {
  for (const chunk of inBlocks(chunks)) if (!stream.write(chunk)) await once(stream, "drain");
}

async function printLines(stream: Out, lines: readonly string[]): Promise<void> {
  await print(stream, lines.map((line) => `${line}\n`));
}

/** Colours are for people: not in files, not in pipes, not where nobody wants them. */
function paintFor(stream: Out): Subject["paint"] {
  return createPaint(stream.isTTY === true && !process.env["NO_COLOR"]);
}

/** The exact counter, or an estimate where its vocabulary is not installed. */
async function chooseMeasure(model: string | undefined): Promise<(text: string) => number> {
  try {
    const { count } = await loadCounter(encodingOf(model));
    return (text) => count(text);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    await printLines(process.stderr, [
      "selvage: tokens are estimated, four characters each: the package js-tiktoken is not installed",
    ]);
    return estimateTokens;
  }
}

/** A JSON document in one line; messages in their own text. */
function jsonLine(
  fields: Readonly<Record<string, unknown>>,
  messages: readonly unknown[] | null,
  { textOf }: TranscriptFile,
): string {
  const text = JSON.stringify(fields);
  if (messages === null) return `${text}\n`;
  // A line end in JSON text is never part of a string.
  const texts = new Map(
    messages.map((message) => [message, textOf(message).replaceAll(/\s*[\r\n]\s*/g, "")]),
  );
  return `${text.slice(0, -1)},"messages":${jsonList(messages, texts)}}\n`;
}

/** Runs the command on one file. */
async function runFile(file: string, run: Run, count: (text: string) => number): Promise<ExitCode> {
  const seen = run.write ? await lookAt(file) : null;
  const found = await readTranscriptFile(file, { keepTexts: run.command !== "check" });
  const reading = readFound(found, run, count);
  const document = describeTranscript(reading);
  const { stdout, stderr } = process;
  const format = reading.format.name;
  const subject = { file, reading, document, lineOf: found.lineOf };
  switch (run.command) {
    case "check": {
      if (run.json) await print(stdout, [jsonLine({ file, ...document }, null, found)]);
      else await printLines(stdout, reportCheck({ ...subject, paint: paintFor(stdout) }));
      return document.valid ? 0 : 1;
    }
    case "repair": {
      const { messages, repairs, calls } = repairTranscript(reading);
      const left = checkMessages(rereadTranscript(reading, { messages, calls }));
      const isChanged = seen !== null && repairs.length > 0;
      const backup = isChanged ? await replaceFile(file, found.write(messages), seen) : null;
      const out = run.write ? stdout : stderr;
      const paint = paintFor(out);
      if (run.json) {
        const fields = { file, format, repairs, violations: left, ...(backup === null ? {} : { backup }) };
        await print(stdout, [jsonLine(fields, run.write ? null : messages, found)]);
        return left.length > 0 ? 1 : 0;
      }
      if (!run.write) await print(stdout, found.write(messages));
      if (isChanged) {
        const { textOf } = found;
        await printLines(out, [
          `--- ${plain(backup ?? file, WIDTH)}`,
          `+++ ${plain(file, WIDTH)}`,
          ...diffMessages(reading.messages, messages, { textOf, paint }),
        ]);
      }
      await printLines(out, reportRepair({ ...subject, paint }, { repairs, left, backup }));
      return left.length > 0 ? 1 : 0;
    }
    case "compact": {
      const { messages, ...rest } = compactTranscript(reading, run.compact);
      if (run.json) await print(stdout, [jsonLine({ file, format, ...rest }, messages, found)]);
      else {
        await print(stdout, found.write(messages));
        const paint = paintFor(stderr);
        await printLines(stderr, reportCompact({ ...subject, paint }, { messages, ...rest }));
      }
      return rest.outcome === "compacted" || rest.outcome === "nothing" ? 0 : 1;
    }
    default:
      return run.command satisfies never;
  }
}

/** Reads the messages of a file; an error names the line where a message has one. */
function readFound(found: TranscriptFile, run: Run, count: (text: string) => number): Subject["reading"] {
  try {
    return readTranscript(found.messages, {
      // A check reads once; a memory of its texts would only take room.
      measure: run.command === "check" ? count : countOnce(count),
      isSummary: isLedger,
      ...(found.hint === null ? {} : { format: found.hint }),
      ...run.read,
    });
  } catch (error) {
    const at = error instanceof SelvageError ? error.fields["at"] : undefined;
    const line = typeof at === "number" ? found.lineOf(at) : null;
    if (!(error instanceof SelvageError) || line === null) throw error;
    throw new SelvageError(error.code, `${error.message} (line ${line})`, {
      cause: error,
      fields: { ...error.fields, line },
    });
  }
}

/** Says why a file could not be worked on. */
async function printError(error: unknown, file: string, isJson: boolean): Promise<void> {
  const { code = "internal", message } = error instanceof Error
    ? error as Error & { readonly code?: string }
    : { message: String(error) };
  const fields = error instanceof SelvageError ? error.fields : {};
  if (isJson) {
    await printLines(process.stdout, [JSON.stringify({ file, error: { code, message, ...fields } })]);
    return;
  }
  // Errors of files name the file themselves.
  const where = message.includes(titleOf(file)) ? "" : `${plain(titleOf(file), WIDTH)}: `;
  await printLines(process.stderr, [`selvage: ${where}${plain(message, 1_000)}`]);
}

/** Runs a command line; resolves to the exit code. */
async function main(words: readonly string[]): Promise<ExitCode> {
  let request: CliRequest;
  try {
    request = parseCommandLine(words);
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    await printLines(process.stderr, [`selvage: ${plain(error.message, 1_000)}`]);
    return 2;
  }
  if (request.kind === "version") await printLines(process.stdout, [config.version]);
  if (request.kind === "help") await print(process.stdout, [helpText(request.command)]);
  if (request.kind !== "run") return 0;
  const count = await chooseMeasure(request.model);
  let code: ExitCode = 0;
  for (const file of request.files) {
    try {
      const own = await runFile(file, request, count);
      code = own > code ? own : code;
    } catch (error) {
      await printError(error, file, request.json);
      code = 2;
    }
  }
  return code;
}

// Whoever reads the output may stop before its end, as `head` does.
process.stdout.on("error", (error: Error & { readonly code?: string }) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});
process.exitCode = await main(process.argv.slice(2));
