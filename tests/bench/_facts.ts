/** Facts of a transcript, found by rule: what an agent has to know again after its context was compacted. */
import type { Json } from "../support/wire_json.ts";

/** What facts there are. */
export const KINDS = [
  "paths",
  "hashes",
  "URLs",
  "ids",
  "numbers",
  "error lines",
  "user constraints",
] as const;
export type FactKind = typeof KINDS[number];

/** One fact, and the first message that it is in. */
export interface Fact {
  readonly kind: FactKind;
  readonly text: string;
  readonly at: number;
}

/** Rules of the kinds that can be in any message, the special before the general. */
const RULES: readonly (readonly [FactKind, RegExp])[] = [
  ["URLs", /\bhttps?:\/\/[^\s"'`<>()\\\]}]{4,200}/g],
  ["paths", /(?<![\w/.:-])(?:~|\.{1,2})?\/?(?:[\w@.-]+\/)+[\w@-]+\.\w{1,8}\b/g],
  ["hashes", /\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/g],
  [
    "ids",
    /\b(?:[A-Z]{2,10}-\d{1,6}|(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6,10}|[a-z]+_[a-z]+_\d{2,8})\b/g,
  ],
  ["numbers", /(?<![\w./-])\d{3,12}(?:\.\d+)?(?![\w/-])/g],
  ["error lines", /^.*\b(?:error|exception|failed|failure|traceback|cannot|not found)\b.*$/gim],
];
const CONSTRAINT =
  /[^.!?\n]*\b(?:must|never|always|do not|don't|only|should not|make sure|without)\b[^.!?\n]*/gi;
/** Of a line or a sentence so much has to be there. */
const MOST = 100;

/** The texts of a message: what it says, and names and arguments of its calls. */
export function textsOf({ content, tool_calls }: Json): readonly string[] {
  const said = typeof content === "string"
    ? [content]
    : Array.isArray(content)
    ? content.map((part) => typeof part?.text === "string" ? part.text : "")
    : [];
  const calls = Array.isArray(tool_calls) ? tool_calls : [];
  return [...said, ...calls.map((call) => String(call?.function?.arguments ?? ""))];
}

/** Facts of the messages up to `to`, each once; system messages are never removed, and have none. */
export function factsOf(messages: readonly Json[], to: number): readonly Fact[] {
  const facts = new Map<string, Fact>();
  const note = (kind: FactKind, text: string, at: number): void => {
    const fact = text.trim().slice(0, MOST);
    const key = `${kind} ${fact}`;
    if (fact.length > 2 && !facts.has(key)) facts.set(key, { kind, text: fact, at });
  };
  for (const [at, message] of messages.slice(0, to).entries()) {
    if (message["role"] === "system") continue;
    for (const text of textsOf(message)) {
      for (const [kind, rule] of RULES) for (const [found] of text.matchAll(rule)) note(kind, found, at);
      if (message["role"] !== "user") continue;
      for (const [found] of text.matchAll(CONSTRAINT)) note("user constraints", found, at);
    }
  }
  return [...facts.values()];
}

/** Says whether a text can be read somewhere in messages, as it is or as JSON writes it. */
export function reader(messages: readonly Json[]): (fact: Fact) => boolean {
  const all = messages.flatMap(textsOf).join("\n");
  return ({ text }) => all.includes(text) || all.includes(JSON.stringify(text).slice(1, -1));
}
