/**
 * What the command does with its words, its files and three streams: all of it but the process.
 *
 * @module
 */
import process from "node:process";
import { once } from "node:events";
import type { Writable } from "node:stream";
import { type CliRequest, helpText, parseCommandLine } from "./_cli_args.ts";
import { diffMessages } from "./_cli_diff.ts";
import { placeOf, reportCheck, reportCompact, reportRepair, type Subject } from "./_cli_report.ts";
import { readText } from "./_cli_source.ts";
import { createPaint, plain, WIDTH } from "./_cli_text.ts";
import { lookAt, replaceFile } from "./_cli_write.ts";
import { compactTranscript, isLedger } from "./compaction/wire.ts";
import { SelvageError } from "./core/errors.ts";
import { readFound } from "./files/reading.ts";
import { inBlocks, titleOf } from "./files/text.ts";
import { readTranscriptFile, type TranscriptFile } from "./files/transcripts.ts";
import { checkMessages } from "./formats/check.ts";
import { describeTranscript } from "./formats/describe.ts";
import { estimateTokens } from "./formats/read.ts";
import { repairTranscript } from "./formats/repair.ts";
import { rereadTranscript } from "./formats/reread.ts";
import { countOnce } from "./tokens/count_once.ts";
import { loadCounter } from "./tokens/counter.ts";
import { encodingOf } from "./tokens/encoding.ts";
import { modelFacts, UNKNOWN_MODEL } from "./tokens/models.ts";
import { VERSION } from "./version.ts";

type Run = Extract<CliRequest, { readonly kind: "run" }>;
/** A standard stream to write to. */
type Out = Writable & { readonly isTTY?: boolean };
/** What the command reads from and writes to beside files: a process has them. */
export interface Streams {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: Out;
  readonly stderr: Out;
}
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

/**
 * The exact counter, or an estimate where its vocabulary is not installed. A model that is not known is counted as any
 * other, and the one note says so once, in front of all reports.
 */
async function chooseMeasure(
  model: string | undefined,
  streams: Streams,
): Promise<(text: string) => number> {
  try {
    const encoding = encodingOf(model);
    const { count } = await loadCounter(encoding);
    if (model !== undefined && encoding === encodingOf(undefined) && !isKnownModel(model)) {
      const name = plain(model, WIDTH);
      await printLines(streams.stderr, [
        `selvage: tokens are counted with ${encoding}: the model ${name} is not known`,
      ]);
    }
    return (text) => count(text);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    await printLines(streams.stderr, [
      "selvage: tokens are estimated, four characters each: the package js-tiktoken is not installed",
    ]);
    return estimateTokens;
  }
}

/** Whether anything is known of a model of that name. */
function isKnownModel(name: string): boolean {
  return modelFacts(name).media !== UNKNOWN_MODEL.media;
}

/** A JSON document in one line; messages in their own text, each a part of it. */
function* jsonLine(
  fields: Readonly<Record<string, unknown>>,
  { textOf }: TranscriptFile,
  lists: Readonly<Record<string, readonly unknown[] | undefined>> = {},
): Generator<string> {
  yield JSON.stringify(fields).slice(0, -1);
  for (const [name, list] of Object.entries(lists)) {
    if (list === undefined) continue;
    yield `,${JSON.stringify(name)}:[`;
    for (const [index, message] of list.entries()) {
      // A line end in JSON text is never part of a string.
      yield `${index > 0 ? "," : ""}${textOf(message).replaceAll(/\s*[\r\n]\s*/g, "")}`;
    }
    yield "]";
  }
  yield "}\n";
}

/** What became of one transcript. */
interface Done {
  readonly code: ExitCode;
  /** The messages from now on; null where they are not to be printed. */
  readonly messages: readonly unknown[] | null;
  readonly isChanged: boolean;
  /** The answer of `--json`; `backup` is where the file as it was is kept. */
  json(backup: string | null): Iterable<string>;
  /** The answer for people. */
  report(paint: Subject["paint"], backup: string | null): readonly string[];
}

function check(subject: Omit<Subject, "paint">): Done {
  const { file, found, document } = subject;
  return {
    code: document.valid ? 0 : 1,
    messages: null,
    isChanged: false,
    json: () => jsonLine({ ...headOf(file, found), ...document }, found),
    report: (paint) => reportCheck({ ...subject, paint }),
  };
}

function repair(subject: Omit<Subject, "paint">, { write }: Run): Done {
  const { file, found, reading } = subject;
  const { messages, repairs, calls } = repairTranscript(reading);
  const left = checkMessages(rereadTranscript(reading, { messages, calls }));
  const { textOf } = found;
  const fields = { ...headOf(file, found), format: reading.format.name, repairs, violations: left };
  return {
    code: left.length > 0 ? 1 : 0,
    messages,
    isChanged: repairs.length > 0,
    json: (backup) =>
      jsonLine({ ...fields, ...(backup === null ? {} : { backup }) }, found, write ? {} : { messages }),
    report: (paint, backup) => [
      ...reportRepair({ ...subject, paint }, { repairs, left, backup }),
      ...(write && repairs.length > 0
        ? [
          "  what changed:",
          ...diffMessages(reading.messages, messages, { textOf, nameOf: (at) => placeOf(at, found), paint }),
        ]
        : []),
    ],
  };
}

function compact(subject: Omit<Subject, "paint">, { write, compact }: Run): Done {
  const { file, found, reading } = subject;
  const compacted = compactTranscript(reading, compact);
  const { messages, toSummarise = [], ...rest } = compacted;
  const isPlan = compact.plan === true;
  const fields = {
    ...headOf(file, found),
    ...(isPlan ? { plan: true } : {}),
    format: reading.format.name,
    ...rest,
  };
  const lists = isPlan ? { toSummarise } : write ? {} : { messages };
  return {
    code: rest.outcome === "applied" || rest.outcome === "nothing" ? 0 : 1,
    messages: isPlan ? null : messages,
    isChanged: messages.length !== reading.messages.length ||
      messages.some((message, at) => message !== reading.messages[at]),
    json: (backup) => jsonLine({ ...fields, ...(backup === null ? {} : { backup }) }, found, lists),
    report: (paint, backup) => reportCompact({ ...subject, paint }, { compacted, backup, isPlan }),
  };
}

const COMMANDS = { check, repair, compact };

/** The file, and the line where it has one transcript a line. */
function headOf(file: string, { line }: TranscriptFile): Readonly<Record<string, unknown>> {
  return line === null ? { file } : { file, line };
}

/** Runs the command on one file. */
async function runFile(
  file: string,
  run: Run,
  { count, streams }: { readonly count: (text: string) => number; readonly streams: Streams },
): Promise<ExitCode> {
  const { stdout, stderr } = streams;
  const seen = run.write ? await lookAt(file) : null;
  const opened = await readTranscriptFile(file, {
    chunks: readText(file, streams.stdin),
    keepTexts: run.command !== "check",
  });
  let code: ExitCode = 0;
  const results: Done[] = [];
  const messages: (readonly unknown[])[] = [];
  // A check is printed as soon as it is done: a file of many transcripts need not be held.
  const say = async (done: Done, backup: string | null): Promise<void> => {
    if (run.json) return await print(stdout, done.json(backup));
    const out = run.write || done.messages === null ? stdout : stderr;
    await printLines(out, done.report(paintFor(out), backup));
  };
  for (const found of opened.transcripts) {
    try {
      const reading = readFound(found, {
        // A check reads once; a memory of its texts would only take room.
        measure: run.command === "check" ? count : countOnce(count),
        isSummary: isLedger,
        ...run.read,
      });
      const done = COMMANDS[run.command](
        { file, found, reading, document: describeTranscript(reading) },
        run,
      );
      if (run.write && done.isChanged && found.wrapper !== null) throw wrapped(file, found.wrapper.inside);
      code = done.code > code ? done.code : code;
      messages.push(done.messages ?? found.messages);
      if (done.messages === null) await say(done, null);
      else results.push(done);
    } catch (error) {
      // Of many transcripts the others are worked on; this one stays as it was.
      if (found.line === null) throw error;
      await printError(error, { file, isJson: run.json, streams });
      code = 2;
      messages.push(found.messages);
    }
  }
  if (results.length === 0) return code;
  const isChanged = results.some((done) => done.isChanged);
  const backup = seen !== null && isChanged ? await replaceFile(file, opened.write(messages), seen) : null;
  if (!run.write && !run.json) await print(stdout, opened.write(messages));
  for (const done of results) await say(done, done.isChanged ? backup : null);
  return code;
}

function wrapped(file: string, inside: string): SelvageError {
  return new SelvageError(
    "wrapped",
    `Cannot write ${
      titleOf(file)
    }: its lines wrap each message in \`${inside}\`, beside ids and times that nobody ` +
      "can make up for a message that is new; without --write the messages are printed",
  );
}

/** Says why a file could not be worked on. */
async function printError(
  error: unknown,
  { file, isJson, streams }: {
    readonly file: string;
    readonly isJson: boolean;
    readonly streams: Streams;
  },
): Promise<void> {
  const { code = "internal", message } = error instanceof Error
    ? error as Error & { readonly code?: string }
    : { message: String(error) };
  const fields = error instanceof SelvageError ? error.fields : {};
  if (isJson) {
    await printLines(streams.stdout, [JSON.stringify({ file, error: { code, message, ...fields } })]);
    return;
  }
  // Errors of files name the file themselves.
  const title = titleOf(file);
  const isNamed = [`Cannot read ${title}: `, `Cannot write ${title}: `].some((start) =>
    message.startsWith(start)
  );
  const where = isNamed ? "" : `${plain(title, WIDTH)}: `;
  await printLines(streams.stderr, [`selvage: ${where}${plain(message, 1_000)}`]);
}

/** Runs a command line; resolves to the exit code. */
export async function runCommand(words: readonly string[], streams: Streams): Promise<ExitCode> {
  let request: CliRequest;
  try {
    request = parseCommandLine(words);
  } catch (error) {
    if (!(error instanceof SelvageError)) throw error;
    await printLines(streams.stderr, [`selvage: ${plain(error.message, 1_000)}`]);
    return 2;
  }
  if (request.kind === "version") await printLines(streams.stdout, [VERSION]);
  if (request.kind === "help") await print(streams.stdout, [helpText(request.command)]);
  if (request.kind !== "run") return 0;
  const count = await chooseMeasure(request.model, streams);
  let code: ExitCode = 0;
  for (const file of request.files) {
    try {
      const own = await runFile(file, request, { count, streams });
      code = own > code ? own : code;
    } catch (error) {
      await printError(error, { file, isJson: request.json, streams });
      code = 2;
    }
  }
  return code;
}
