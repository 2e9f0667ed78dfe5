/** Transcripts of any format as messages of Chat Completions and of Anthropic, as far as the judges look at them. */
import { isJson, isObjectText, type Json, objectsOf } from "./wire_json.ts";

/** Chat Completions as Anthropic Messages: adjacent results share one user message. */
export function chatToAnthropic(messages: readonly Json[]): readonly Json[] {
  const out: { role: unknown; content: unknown }[] = [];
  let results: Json[] = [];
  const settle = () => {
    if (results.length > 0) out.push({ role: "user", content: results });
    results = [];
  };
  for (const { role, content, tool_calls: calls, tool_call_id: id } of messages) {
    if (role === "tool") {
      results.push({ type: "tool_result", tool_use_id: id, content });
      continue;
    }
    settle();
    if (role !== "assistant" || !Array.isArray(calls)) {
      out.push({ role: role === "developer" ? "system" : role, content: content ?? "" });
      continue;
    }
    const text = typeof content === "string" && content !== ""
      ? [{ type: "text", text: content }]
      : objectsOf(content);
    out.push({ role, content: [...text, ...objectsOf(calls).map(chatCallToBlock)] });
  }
  settle();
  return out;
}

function chatCallToBlock(call: Json): Json {
  const made = isJson(call["function"]) ? call["function"] : {};
  const input = isObjectText(made["arguments"]) ? JSON.parse(String(made["arguments"])) : made["arguments"];
  return { type: "tool_use", id: call["id"], name: made["name"], input };
}

/** A step of a conversation, whatever the format: what pairing is about, and nothing else. */
type Step =
  | { readonly kind: "text"; readonly role: "user" | "assistant" | "system"; readonly text: string }
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly kind: "result"; readonly id: string };

/** Steps of one message as Chat Completions messages: calls with the text before them, each result alone. */
function stepsToChat(steps: readonly Step[]): readonly Json[] {
  const out: Json[] = [];
  let said: { text: string; calls: Json[] } | null = null;
  const settle = () => {
    if (said !== null) {
      out.push({
        role: "assistant",
        content: said.text,
        ...(said.calls.length > 0 ? { tool_calls: said.calls } : {}),
      });
    }
    said = null;
  };
  for (const step of steps) {
    if (step.kind === "call" || (step.kind === "text" && step.role === "assistant")) {
      said ??= { text: "", calls: [] };
      if (step.kind === "text") said.text += step.text;
      else {
        said.calls.push({
          id: step.id,
          type: "function",
          function: { name: step.name, arguments: JSON.stringify(step.input) ?? "" },
        });
      }
      continue;
    }
    settle();
    out.push(
      step.kind === "result"
        ? { role: "tool", tool_call_id: step.id, content: "" }
        : { role: step.role, content: step.text },
    );
  }
  settle();
  return out;
}

function speaker(role: unknown): "user" | "assistant" | "system" {
  if (role === "assistant" || role === "model") return "assistant";
  return role === "system" || role === "developer" ? "system" : "user";
}

function plain(role: unknown, content: unknown): Step {
  return {
    kind: "text",
    role: speaker(role),
    text: typeof content === "string" ? content : JSON.stringify(content),
  };
}

function anthropicSteps({ role, content }: Json): readonly Step[] {
  if (!Array.isArray(content)) return [plain(role, content)];
  return objectsOf(content).flatMap((block): Step[] => {
    if (block["type"] === "tool_use") {
      return [{ kind: "call", id: String(block["id"]), name: String(block["name"]), input: block["input"] }];
    }
    if (block["type"] === "tool_result") return [{ kind: "result", id: String(block["tool_use_id"]) }];
    return [plain(role, block["text"] ?? block)];
  });
}

/** Items that the model makes, and those that it does not, by type. */
function responsesSteps(item: Json): readonly Step[] {
  const type = String(item["type"] ?? "message");
  const id = String(item["call_id"]);
  if (/^(function|custom_tool)_call$/.test(type)) {
    const text = String(item["arguments"] ?? item["input"]);
    const input = isObjectText(text) ? JSON.parse(text) : text;
    return [{ kind: "call", id, name: String(item["name"]), input }];
  }
  if (/_call_output$/.test(type)) return [{ kind: "result", id }];
  if (type.startsWith("mcp_approval")) return [];
  return [plain(type === "message" ? item["role"] : "assistant", item["content"] ?? item["summary"] ?? type)];
}

function modelSteps({ role, content }: Json): readonly Step[] {
  if (!Array.isArray(content)) return [plain(role, content)];
  // What a provider runs it answers in the same message; approvals are no calls.
  const own = objectsOf(content).filter(({ type, providerExecuted }) =>
    !String(type).startsWith("tool-approval") && providerExecuted !== true
  );
  const run = new Set(
    objectsOf(content).filter((part) => part["providerExecuted"] === true).map((part) => part["toolCallId"]),
  );
  return own.filter((part) => part["type"] !== "tool-result" || !run.has(part["toolCallId"])).map(
    (part): Step => {
      const id = String(part["toolCallId"]);
      if (part["type"] === "tool-call") {
        return { kind: "call", id, name: String(part["toolName"]), input: part["input"] };
      }
      return part["type"] === "tool-result" ? { kind: "result", id } : plain(role, part["text"] ?? part);
    },
  );
}

/** A tool part of a UI message is a call, and its result once its state says so; results come behind all calls. */
function uiSteps({ role, parts }: Json): readonly Step[] {
  const steps: Step[] = [];
  let results: Step[] = [];
  for (const part of objectsOf(parts)) {
    const type = String(part["type"]);
    if (/^(tool-|dynamic-tool$)/.test(type)) {
      const id = String(part["toolCallId"]);
      const name = type === "dynamic-tool" ? String(part["toolName"]) : type.slice(5);
      steps.push({ kind: "call", id, name, input: part["input"] ?? {} });
      if (/^output-/.test(String(part["state"]))) results.push({ kind: "result", id });
    } else if (type === "step-start") {
      steps.push(...results);
      results = [];
    } else if (type === "text") {
      steps.push(...results, plain(role, part["text"]));
      results = [];
    } else if (type === "file") steps.push(plain(role, "[file]"));
  }
  return [...steps, ...results];
}

/** Parts without ids are paired by name and place: they get an id from these, per round. */
function geminiToChat(messages: readonly Json[]): readonly Json[] {
  let round = 0;
  let names: string[] = [];
  let answers: string[] = [];
  const numbered = (name: unknown, list: string[]): string => {
    list.push(String(name));
    return `${round}:${name}:${list.filter((other) => other === String(name)).length}`;
  };
  return messages.flatMap(({ role, parts }) => {
    const made = objectsOf(parts);
    if (made.some((part) => "functionCall" in part)) {
      round++;
      names = [];
      answers = [];
    }
    return stepsToChat(made.map((part): Step => {
      const call = part["functionCall"];
      const answer = part["functionResponse"];
      if (isJson(call)) {
        const id = typeof call["id"] === "string" && call["id"] !== ""
          ? call["id"]
          : numbered(call["name"], names);
        return { kind: "call", id, name: String(call["name"]), input: call["args"] };
      }
      if (isJson(answer)) {
        const id = typeof answer["id"] === "string" && answer["id"] !== ""
          ? answer["id"]
          : numbered(answer["name"], answers);
        return { kind: "result", id };
      }
      return plain(role, part["text"] ?? part);
    }));
  });
}

/**
 * A transcript of any of the five formats as Chat Completions messages, as far as pairing goes: who speaks, which
 * call, which result, in which order.
 */
export function toChat(format: string, messages: readonly Json[]): readonly Json[] {
  switch (format) {
    case "openai-chat":
      return messages;
    case "anthropic":
      return messages.flatMap((message) => stepsToChat(anthropicSteps(message)));
    case "openai-responses":
      // Items that the model made one after another are one message.
      return stepsToChat(messages.flatMap(responsesSteps));
    case "ai-sdk":
      return messages.flatMap((message) =>
        stepsToChat(Array.isArray(message["parts"]) ? uiSteps(message) : modelSteps(message))
      );
    case "gemini":
      return geminiToChat(messages);
    default:
      throw new TypeError(`Cannot convert the format ${format}`);
  }
}
