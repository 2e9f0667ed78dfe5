/**
 * The clerk: the default model. It is a set of rules, not a language model: it works on the demo workspace, and it
 * decides on each step from nothing but the messages of the request. What a compaction loses, it does not know, so
 * a lost or doubled pair shows in what it does: it stops with a text that begins with "Derailed:".
 *
 * @module
 */
import type { ModelRequest } from "../ports.ts";
import { audit, auditArchive, derailed, UNITS } from "./_clerk_audit.ts";
import { type Evidence, readEvidence } from "./_evidence.ts";
import type { ScriptedCall, ScriptedReply } from "./scripted.ts";

/** Characters of a result that an answer quotes. */
const QUOTE = 2000;

/** The one call that a request in plain words asks for, or null. */
function plainCall(task: string): ScriptedCall | null {
  const [, verb = "", rest = ""] = task.trim().match(/^(?:please\s+)?(list|read|search|check)\b\s*(.*)$/is) ??
    [];
  const what = rest.trim().replace(/^(["'`])(.*)\1$/s, "$2").replace(/[.?!]$/, "");
  switch (verb.toLowerCase()) {
    case "list":
      return { name: "list_files", input: { path: what } };
    case "read":
      return what === "" ? null : { name: "read_file", input: { path: what } };
    case "search":
      return what === "" ? null : { name: "search", input: { query: what } };
    case "check": {
      const unit = what.match(/\d+/)?.[0];
      return unit === undefined ? null : { name: "run_check", input: { unit: unit.padStart(2, "0") } };
    }
    default:
      return null;
  }
}

function answerPlain(evidence: Evidence, wanted: ScriptedCall): ScriptedReply {
  const result = evidence.batch.at(-1);
  if (result === undefined) return { calls: [wanted] };
  const fault = evidence.faults[0];
  if (fault !== undefined) return derailed(fault);
  const { text } = result;
  const left = text.length - QUOTE;
  const quoted = left > 0 ? `${text.slice(0, QUOTE)}\n[${left} more characters]` : text;
  return { text: `${result.name} ${JSON.stringify(result.input)} answered:\n\n${quoted}` };
}

const ABOUT =
  "I am the clerk, a rule-based model: a set of rules that needs no key and no network, not a language model, " +
  "so I cannot talk about this. On the demo workspace I can do: " +
  '"list units/07", "read units/07/README.md", "search MAX_WAITING", "check 07", ' +
  '"audit the workspace" (a long task: all 36 units), "audit 3 units", and "audit the archive". ' +
  "For a real model set SELVAGE_MODEL, for example SELVAGE_MODEL=openai:NAME with OPENAI_API_KEY (and " +
  "OPENAI_BASE_URL for another server that speaks its protocol).";

/** Says which tools are missing, or null when all are there. */
function missing(request: ModelRequest, names: readonly string[]): ScriptedReply | null {
  const there = request.tools.map((tool) => tool.name);
  const gone = names.filter((name) => !there.includes(name));
  if (gone.length === 0) return null;
  const found = there.length === 0 ? "no tools" : `only ${there.join(", ")}`;
  return { text: `I cannot do this: it needs the tools ${gone.join(", ")}, and this agent has ${found}.` };
}

/**
 * Decides on the next reply of the rule-based model. It keeps no state: the same request gets the same reply.
 *
 * A user message with "audit" in it starts the long task, five calls for each of 36 units, or of the first N where
 * it says so ("audit 3 units"); "audit the archive" reads eight files at once. `list`, `read`, `search` and `check`
 * make one call. Anything else is answered with what it is and can do.
 *
 * @param request The request as the model gets it.
 * @returns One step: text, calls, or both.
 *
 * @example
 * ```ts
 * import { clerk, scripted } from "@selvage/selvage/models";
 *
 * const model = scripted({ script: clerk, window: 16_000 });
 * console.log(model.window, clerk({ system: "", messages: [], tools: [], maxOutput: 100 }).text);
 * ```
 */
export function clerk(request: ModelRequest): ScriptedReply {
  const evidence = readEvidence(request.messages);
  const { task } = evidence;
  if (/\baudit/i.test(task)) {
    const [, a, b] = task.match(/\b(\d+)\s+units?\b|\b(?:audit|first)\s+(\d+)\b/i) ?? [];
    const limit = Math.min(UNITS, Number(a ?? b ?? UNITS));
    if (a === undefined && b === undefined && /\barchive\b/i.test(task)) {
      return missing(request, ["read_file"]) ?? auditArchive(evidence);
    }
    return missing(request, ["list_files", "read_file", "search", "write_file", "run_check"]) ??
      audit(evidence, limit);
  }
  const wanted = plainCall(task);
  if (wanted === null) return { text: ABOUT };
  return missing(request, [wanted.name]) ?? answerPlain(evidence, wanted);
}
