/**
 * AG-UI 1.0: the events of a turn as those of a run. Whatever becomes of the turn, the run has a last event.
 *
 * @module
 */
import { wireId } from "../../compaction/context.ts";
import type { FilePart, TextPart } from "../../core/message.ts";
import { isObject } from "../../formats/format.ts";
import { isApplied, type TurnEvent } from "../../loop/events.ts";
import type { Usage } from "../../ports.ts";
import { interruptId } from "../decode/agui_request.ts";
import type { Problem } from "../problem.ts";

/** The run that is told of. */
export interface AguiOptions {
  readonly threadId: string;
  readonly runId: string;
  readonly turn: string;
  readonly agent: string;
  readonly model: string;
  /** The state of the application; ours stands in it under a name of its own. */
  readonly state: unknown;
  /** Calls that the client has answered itself: it has their results. */
  readonly answered: ReadonlySet<string>;
}

/** What a person is to answer where a call waits for a word of theirs. */
const APPROVAL_SCHEMA = {
  type: "object",
  properties: { approved: { type: "boolean" }, reason: { type: "string" } },
  required: ["approved"],
};

type Fields = Readonly<Record<string, unknown>>;
type Ended = Extract<TurnEvent, { type: "turn.finished" | "turn.paused" }>;

/** Makes the frames of one run. */
export class AguiEncoder {
  readonly #options: AguiOptions;
  #frames = "";
  #isStarted = false;
  #step: string | null = null;
  /** Id of the assistant's message of the step. */
  #message = "";
  #text: string | null = null;
  #reasoning: string | null = null;
  /** Calls of the step: whether their arguments are still to come, and whether any came. */
  readonly #calls = new Map<string, { isOpen: boolean; hasInput: boolean }>();
  /** Ids of calls by reference. A call of a step that begins anew, after its process died, is another one to clients. */
  readonly #ids = new Map<string, string>();
  readonly #answered = new Set<string>();
  readonly #used = new Set<string>();
  #compactions: number;
  #problem: { readonly code: string; readonly message: string } | null = null;
  #end: Ended | null = null;

  constructor(options: AguiOptions) {
    this.#options = options;
    const { selvage } = isObject(options.state) ? options.state : {};
    const before = isObject(selvage) ? selvage["compactions"] : undefined;
    this.#compactions = typeof before === "number" ? before : 0;
  }

  /** One event as frames; none where it has nothing to say. */
  encode(event: TurnEvent): string {
    this.#start();
    this.#take(event);
    return this.#flush();
  }

  /** The frames behind the last event. `problem`: what kept the turn from an end of its own. */
  end(problem: Problem | null = null): string {
    this.#start();
    const end = this.#end;
    this.#closeStep();
    if (problem !== null) {
      this.#push("RUN_ERROR", { message: problem.detail, code: problem.code });
    } else if (end === null) {
      const message = "The turn has left this process, and goes on where its events are asked for";
      this.#push("RUN_ERROR", { message, code: "turn_suspended" });
    } else if (end.type === "turn.finished" && end.reason === "error") {
      const { code, message } = this.#problem ?? { code: "internal", message: "The turn failed" };
      this.#push("RUN_ERROR", { message, code, usage: this.#usage(end.usage) });
    } else {
      const { threadId, runId } = this.#options;
      const result = end.type === "turn.finished" ? { result: { reason: end.reason, steps: end.steps } } : {};
      const usage = this.#usage(end.usage);
      this.#push("RUN_FINISHED", { threadId, runId, outcome: this.#outcome(end), usage, ...result });
    }
    return this.#flush();
  }

  #outcome(end: Ended): Fields {
    if (end.type === "turn.finished") return { type: end.reason === "aborted" ? "cancelled" : "success" };
    const { turn } = this.#options;
    const asked = end.pending.filter(({ reason }) => reason === "approval");
    if (asked.length === 0) {
      return { type: "success", pendingToolCallIds: end.pending.map(({ ref }) => this.#idOf(ref)) };
    }
    return {
      type: "interrupt",
      interrupts: asked.map(({ ref, name, input }) => ({
        id: interruptId(turn, ref),
        reason: "tool_approval",
        toolCallId: this.#idOf(ref),
        message: `May ${name} be run?`,
        responseSchema: APPROVAL_SCHEMA,
        metadata: { toolName: name, input },
      })),
    };
  }

  #usage({ inputTokens, outputTokens, cachedTokens }: Usage): readonly Fields[] {
    const { model } = this.#options;
    const cached = cachedTokens === undefined ? {} : { cachedInputTokens: cachedTokens };
    return [{ model, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, ...cached }];
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { threadId, runId, turn, agent, model, state } = this.#options;
    this.#push("RUN_STARTED", { threadId, runId, protocolVersion: "1.0" });
    const ours = { turn, agent, model, context: null, compactions: this.#compactions };
    this.#push("STATE_SNAPSHOT", { snapshot: { ...isObject(state) ? state : {}, selvage: ours } });
  }

  #flush(): string {
    const frames = this.#frames;
    this.#frames = "";
    return frames;
  }

  #push(type: string, fields: Fields): void {
    this.#frames += `data: ${JSON.stringify({ type, ...fields })}\n\n`;
  }

  #take(event: TurnEvent): void {
    switch (event.type) {
      case "turn.started":
        return;
      case "step.started":
        this.#closeStep();
        return this.#openStep(event.step);
      case "text.delta":
        this.#closeReasoning();
        this.#openText();
        return this.#push("TEXT_MESSAGE_CONTENT", { messageId: this.#text, delta: event.text });
      case "reasoning.delta":
        this.#closeText();
        this.#openReasoning();
        return this.#push("REASONING_MESSAGE_CONTENT", { messageId: this.#reasoning, delta: event.text });
      case "part.end":
        return event.kind === "text" ? this.#closeText() : this.#closeReasoning();
      case "part":
        this.#closeParts();
        return this.#push("CUSTOM", { name: "part", value: event.part });
      case "tool.input.delta": {
        const call = this.#openCall(event);
        call.hasInput ||= event.delta !== "";
        if (event.delta === "" || !call.isOpen) return;
        return this.#push("TOOL_CALL_ARGS", { toolCallId: this.#idOf(event.ref), delta: event.delta });
      }
      case "tool.input.end":
        return this.#closeCall(event.ref);
      case "tool.call": {
        this.#closeParts();
        const call = this.#openCall(event);
        if (!call.hasInput && call.isOpen) {
          const delta = JSON.stringify(event.input ?? {});
          this.#push("TOOL_CALL_ARGS", { toolCallId: this.#idOf(event.ref), delta });
        }
        call.hasInput = true;
        return this.#closeCall(event.ref);
      }
      case "tool.progress": {
        const { ref, name, data } = event;
        return this.#push("CUSTOM", {
          name: "tool.progress",
          value: { toolCallId: this.#idOf(ref), toolCallName: name, data },
        });
      }
      case "tool.result": {
        const { ref, status, output } = event;
        const id = this.#idOf(ref);
        // Told once: a client cannot take a result back.
        if (this.#options.answered.has(ref) || this.#answered.has(id)) return;
        this.#answered.add(id);
        this.#closeCall(ref);
        const messageId = `${this.#options.turn}:${id}`;
        const metadata = status === "ok" ? {} : { metadata: { status } };
        return this.#push("TOOL_CALL_RESULT", {
          messageId,
          toolCallId: id,
          role: "tool",
          content: contentOf(output),
          ...metadata,
        });
      }
      case "user.message":
        this.#closeParts();
        return this.#push("CUSTOM", {
          name: "user.message",
          value: { ref: event.ref, input: event.input },
        });
      case "context": {
        const { tokens, window, compactAt, stopAt } = event;
        return this.#patch("context", { tokens, window, compactAt, stopAt });
      }
      case "compaction": {
        const { type: _, id: __, ...value } = event;
        this.#push("CUSTOM", { name: "compaction", value });
        return isApplied(event) ? this.#patch("compactions", ++this.#compactions) : undefined;
      }
      case "error":
        this.#problem = { code: event.code, message: event.message };
        return;
      case "turn.paused":
      case "turn.finished":
        this.#end = event;
        return;
      default:
        return event satisfies never;
    }
  }

  #patch(name: string, value: unknown): void {
    this.#push("STATE_DELTA", { delta: [{ op: "add", path: `/selvage/${name}`, value }] });
  }

  #openStep(step: number): void {
    this.#step = `step-${step}`;
    this.#calls.clear();
    this.#message = this.#fresh(`${this.#options.turn}:${step}`);
    this.#push("STEP_STARTED", { stepName: this.#step });
  }

  #closeStep(): void {
    this.#closeParts();
    for (const ref of this.#calls.keys()) this.#closeCall(ref);
    if (this.#step === null) return;
    this.#push("STEP_FINISHED", { stepName: this.#step });
    this.#step = null;
  }

  /** An id that no message of the run has: a step that begins anew, and a text behind another, are messages of their own. */
  #fresh(id: string): string {
    let fresh = id;
    for (let n = 2; this.#used.has(fresh); n++) fresh = `${id}.${n}`;
    this.#used.add(fresh);
    return fresh;
  }

  #openText(): void {
    if (this.#text !== null) return;
    // The first text of a step is the message that its calls belong to.
    const isFirst = !this.#used.has(`${this.#message}.text`);
    this.#used.add(`${this.#message}.text`);
    this.#text = isFirst && this.#calls.size === 0 ? this.#message : this.#fresh(this.#message);
    this.#push("TEXT_MESSAGE_START", { messageId: this.#text, role: "assistant" });
  }

  #closeText(): void {
    if (this.#text === null) return;
    this.#push("TEXT_MESSAGE_END", { messageId: this.#text });
    this.#text = null;
  }

  #openReasoning(): void {
    if (this.#reasoning !== null) return;
    const messageId = this.#reasoning = this.#fresh(`${this.#message}.r`);
    this.#push("REASONING_START", { messageId });
    this.#push("REASONING_MESSAGE_START", { messageId, role: "reasoning" });
  }

  #closeReasoning(): void {
    if (this.#reasoning === null) return;
    this.#push("REASONING_MESSAGE_END", { messageId: this.#reasoning });
    this.#push("REASONING_END", { messageId: this.#reasoning });
    this.#reasoning = null;
  }

  #closeParts(): void {
    this.#closeText();
    this.#closeReasoning();
  }

  #idOf(ref: string): string {
    return this.#ids.get(ref) ?? wireId(ref);
  }

  #openCall({ ref, name }: { readonly ref: string; readonly name: string }): {
    isOpen: boolean;
    hasInput: boolean;
  } {
    const known = this.#calls.get(ref);
    if (known !== undefined) return known;
    this.#closeParts();
    const call = { isOpen: true, hasInput: false };
    this.#calls.set(ref, call);
    this.#ids.set(ref, this.#fresh(wireId(ref)));
    const parent = this.#message === "" ? {} : { parentMessageId: this.#message };
    this.#push("TOOL_CALL_START", { toolCallId: this.#idOf(ref), toolCallName: name, ...parent });
    return call;
  }

  #closeCall(ref: string): void {
    const call = this.#calls.get(ref);
    if (call?.isOpen !== true) return;
    call.isOpen = false;
    this.#push("TOOL_CALL_END", { toolCallId: this.#idOf(ref) });
  }
}

/** An output as the content of a message: text, parts where it has files, or JSON as text. */
function contentOf(output: unknown): unknown {
  if (typeof output === "string") return output;
  const isParts = Array.isArray(output) && output.length > 0 && output.every(isPart) && output.some(isFile);
  return isParts ? (output as (TextPart | FilePart)[]).map(contentPart) : JSON.stringify(output ?? null);
}

function isPart(part: unknown): part is TextPart | FilePart {
  return isFile(part) || (isObject(part) && part["type"] === "text" && typeof part["text"] === "string");
}

function isFile(part: unknown): part is FilePart {
  return isObject(part) && part["type"] === "file" && typeof part["data"] === "string" &&
    typeof part["mediaType"] === "string";
}

function contentPart(part: TextPart | FilePart): Fields {
  if (part.type === "text") return { type: "text", text: part.text };
  const { data: value, mediaType: mimeType } = part;
  const family = mimeType.slice(0, mimeType.indexOf("/"));
  const type = /^(?:image|audio|video)$/.test(family) ? family : "document";
  return { type, source: { type: /^https?:/.test(value) ? "url" : "data", value, mimeType } };
}

/** The frames of a run, with a last one whatever happens. */
export async function* aguiFrames(
  events: AsyncIterable<TurnEvent>,
  { encoder, problemOf }: { readonly encoder: AguiEncoder; readonly problemOf: (error: unknown) => Problem },
): AsyncGenerator<string, void> {
  let problem: Problem | null = null;
  try {
    for await (const event of events) {
      const frames = encoder.encode(event);
      if (frames !== "") yield frames;
    }
  } catch (error) {
    problem = problemOf(error);
  }
  yield encoder.end(problem);
}
