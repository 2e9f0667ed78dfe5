/**
 * What the command line asks for.
 *
 * @module
 */
import type { CompactTranscriptOptions } from "./compaction/wire.ts";
import { SelvageError } from "./core/errors.ts";
import { type CallName, FORMAT_NAMES, type ReadOptions } from "./formats/read.ts";

/** The commands. */
export type Command = "check" | "repair" | "compact";

/** A command line that was understood. */
export type CliRequest =
  | { readonly kind: "help"; readonly command: Command | null }
  | { readonly kind: "version" }
  | {
    readonly kind: "run";
    readonly command: Command;
    /** Paths; `-` is standard input. */
    readonly files: readonly string[];
    readonly json: boolean;
    readonly write: boolean;
    readonly model: string | undefined;
    readonly read: ReadOptions;
    readonly compact: CompactTranscriptOptions;
  };

interface Flag {
  /** As the field of a request over HTTP, with dashes. */
  readonly name: string;
  /** Names that it had, or a short one. */
  readonly aliases?: readonly string[];
  /** What stands for its value in the help; a flag without a value has none. */
  readonly value?: string;
  readonly isRepeated?: boolean;
  /** Default: all. */
  readonly commands?: readonly Command[];
  readonly about: string;
}

const COMMANDS: Readonly<Record<Command, string>> = {
  check: "says what is wrong in a transcript and where it may be cut",
  repair: "mends what is wrong; prints the transcript, and what it did to standard error",
  compact: "replaces old messages by a ledger; prints as repair does",
};

const FLAGS: readonly Flag[] = [
  {
    name: "budget",
    value: "N",
    commands: ["compact"],
    about: "tokens to keep, the summary included; needed",
  },
  { name: "policy", value: "NAME", commands: ["compact"], about: "full (default) or backward" },
  {
    name: "pinned",
    aliases: ["pin"],
    value: "N",
    isRepeated: true,
    commands: ["compact"],
    about: "a message that stays; repeatable",
  },
  { name: "summary", value: "TEXT", commands: ["compact"], about: "prose to put behind the ledger" },
  {
    name: "summary-reserve",
    aliases: ["reserve"],
    value: "N",
    commands: ["compact"],
    about: "tokens for the summary; a cut aims at the budget less them",
  },
  {
    name: "lookback",
    value: "SHARE",
    commands: ["compact"],
    about: "share of the target that a cut may keep beyond it; default 0.15",
  },
  {
    name: "lookahead",
    value: "SHARE",
    commands: ["compact"],
    about: "share of the target that a cut may keep less than it; default 0.15",
  },
  {
    name: "repair",
    value: "BOOL",
    commands: ["compact"],
    about: "true (default), or false: leaves what is broken as it is",
  },
  { name: "no-repair", commands: ["compact"], about: "--repair false" },
  { name: "plan", commands: ["compact"], about: "shows what would be summarised, and changes nothing" },
  {
    name: "write",
    commands: ["repair", "compact"],
    about: "rewrites FILE, keeps FILE.bak, and prints what changed",
  },
  { name: "format", value: "NAME", about: `${FORMAT_NAMES.join(", ")}; default: found out` },
  {
    name: "in-flight",
    value: "CALL",
    isRepeated: true,
    about: "a call that will be answered: its id, or MESSAGE.CALL as in 8.1",
  },
  {
    name: "long-running",
    value: "CALL",
    isRepeated: true,
    about: "a call with interim results: its id, or MESSAGE.CALL",
  },
  {
    name: "thinking",
    value: "NAME",
    about: "auto (default): no cut in a loop with signed reasoning; or ignore",
  },
  { name: "model", value: "NAME", about: "counts with this model's vocabulary; default: o200k_base" },
  { name: "json", about: "prints one JSON document a file, in one line, and nothing else" },
  { name: "help", aliases: ["h"], about: "shows this" },
  { name: "version", about: "shows the version" },
];

/** A command line that cannot be understood. */
function badUsage(message: string): SelvageError {
  return new SelvageError("bad_usage", message);
}

function flagsOf(command: Command | null): readonly Flag[] {
  return FLAGS.filter((flag) => command === null || (flag.commands?.includes(command) ?? true));
}

/** The text of `--help`. */
export function helpText(command: Command | null): string {
  const lines = [
    `Usage: selvage ${command ?? "check | repair | compact"} [flags] FILE…`,
    "",
    ...Object.entries(COMMANDS).filter(([name]) => command === null || name === command)
      .map(([name, about]) => `  ${name.padEnd(20)} ${about}`),
    "",
    "FILE is JSON (a list of messages, or an object that holds one as messages, input or contents), or",
    "JSONL: one message a line, one such list or object a line, or the session log of an agent, whose",
    "lines wrap messages in message or payload. - is standard input. Messages are counted from 0.",
    "",
    ...flagsOf(command).map(({ name, value, commands, about }) => {
      const only = command === null && commands !== undefined ? ` (${commands.join(", ")})` : "";
      return `  ${`--${name}${value === undefined ? "" : ` ${value}`}`.padEnd(20)} ${about}${only}`;
    }),
    "",
    "Exit code: 0 valid or done; 1 violations found, or compaction refused or deferred; 2 a file cannot",
    "be read or the command line cannot be understood.",
  ];
  return `${lines.join("\n")}\n`;
}

function numberOf(flag: string, text: string, isWanted: (value: number) => boolean, wanted: string): number {
  const value = text.trim() === "" ? NaN : Number(text);
  if (!Number.isFinite(value) || !isWanted(value)) {
    throw badUsage(`Cannot use --${flag}: found ${JSON.stringify(text)}, wanted ${wanted}`);
  }
  return value;
}

function nameOf<const Name extends string>(flag: string, text: string, names: readonly Name[]): Name {
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  throw badUsage(`Cannot use --${flag}: found ${JSON.stringify(text)}, wanted ${names.join(", ")}`);
}

/** The flag of a name; fields of requests are known as they are called there, too. */
function findFlag(known: readonly Flag[], name: string): Flag | undefined {
  const dashed = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return known.find((flag) => flag.name === dashed || flag.aliases?.includes(name) === true);
}

/** Words of a command line: flags with their values, and the rest. */
function readWords(
  words: readonly string[],
  command: Command | null,
): { readonly flags: ReadonlyMap<string, readonly string[]>; readonly rest: readonly string[] } {
  const flags = new Map<string, string[]>();
  const rest: string[] = [];
  const known = flagsOf(command);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "--") {
      rest.push(...words.slice(index + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      rest.push(word);
      continue;
    }
    const [, name = "", inline] = word.match(/^--?([^=]*)(?:=(.*))?$/s) ?? [];
    const flag = findFlag(known, name);
    if (flag === undefined) {
      const list = known.map((found) => `--${found.name}`).join(" ");
      throw badUsage(`Cannot use ${word.slice(0, 100)}: ${command ?? "selvage"} knows ${list}`);
    }
    if (flag.value === undefined && inline !== undefined) {
      throw badUsage(`Cannot use ${word.slice(0, 100)}: --${flag.name} takes no value`);
    }
    const value = flag.value === undefined ? "" : inline ?? words[++index];
    if (value === undefined) throw badUsage(`Cannot use --${flag.name}: found no ${flag.value} behind it`);
    const values = flags.get(flag.name) ?? [];
    if (values.length > 0 && flag.isRepeated !== true) {
      throw badUsage(`Cannot use --${flag.name} twice: wanted it once`);
    }
    flags.set(flag.name, [...values, value]);
  }
  return { flags, rest };
}

/**
 * Reads a command line.
 *
 * @param words The words behind the name of the command itself.
 * @throws SelvageError `bad_usage`.
 */
export function parseCommandLine(words: readonly string[]): CliRequest {
  const [first] = words;
  const command = first !== undefined && Object.hasOwn(COMMANDS, first) ? first as Command : null;
  const { flags, rest } = readWords(command === null ? words : words.slice(1), command);
  if (flags.has("help")) return { kind: "help", command };
  if (flags.has("version")) return { kind: "version" };
  if (command === null) {
    const found = rest[0] === undefined
      ? "no command"
      : `the command ${JSON.stringify(rest[0].slice(0, 100))}`;
    throw badUsage(`Cannot start: found ${found}, wanted ${Object.keys(COMMANDS).join(", ")}; try --help`);
  }
  if (rest.length === 0) {
    throw badUsage(`Cannot ${command}: found no FILE, wanted at least one, or - for standard input`);
  }
  if (rest.filter((file) => file === "-").length > 1) throw badUsage("Cannot read standard input twice");
  if (flags.has("write") && rest.includes("-")) {
    throw badUsage("Cannot write to standard input: wanted a FILE with --write");
  }
  if (flags.has("write") && flags.has("plan")) {
    throw badUsage("Cannot use --write with --plan: a plan changes nothing");
  }
  const one = (name: string): string | undefined => flags.get(name)?.[0];
  const positive = (name: string): number =>
    numberOf(name, one(name) ?? "", (value) => value > 0, "a number over 0");
  const notNegative = (name: string): number =>
    numberOf(name, one(name) ?? "", (value) => value >= 0, "a number, 0 or more");
  if (command === "compact" && !flags.has("budget")) {
    throw badUsage("Cannot compact: found no --budget, wanted the tokens to keep");
  }
  // The names of calls are read with the transcript: what looks like a place may be an id.
  const inFlight: readonly CallName[] | undefined = flags.get("in-flight");
  const longRunning: readonly CallName[] | undefined = flags.get("long-running");
  const format = one("format");
  const thinking = one("thinking");
  const policy = one("policy");
  const summary = one("summary");
  const pins = flags.get("pinned");
  const repair = nameOf("repair", one("repair") ?? "true", ["true", "false"]) === "true";
  return {
    kind: "run",
    command,
    files: rest,
    json: flags.has("json"),
    write: flags.has("write"),
    model: one("model"),
    read: {
      ...(format === undefined ? {} : { format: nameOf("format", format, FORMAT_NAMES) }),
      ...(thinking === undefined ? {} : { thinking: nameOf("thinking", thinking, ["auto", "ignore"]) }),
      ...(inFlight === undefined ? {} : { inFlight }),
      ...(longRunning === undefined ? {} : { longRunning }),
    },
    compact: {
      budget: command === "compact" ? positive("budget") : 1,
      repair: repair && !flags.has("no-repair"),
      ...(flags.has("plan") ? { plan: true } : {}),
      ...(policy === undefined ? {} : { policy: nameOf("policy", policy, ["full", "backward"]) }),
      ...(flags.has("lookback") ? { lookback: notNegative("lookback") } : {}),
      ...(flags.has("lookahead") ? { lookahead: notNegative("lookahead") } : {}),
      ...(flags.has("summary-reserve") ? { summaryReserve: notNegative("summary-reserve") } : {}),
      ...(summary === undefined ? {} : { summary }),
      ...(pins === undefined ? {} : {
        pinned: pins.map((pin) =>
          numberOf("pinned", pin, (value) => Number.isInteger(value) && value >= 0, "the number of a message")
        ),
      }),
    },
  };
}
