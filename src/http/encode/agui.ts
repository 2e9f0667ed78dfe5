/**
 * AG-UI 1.0: the events of a turn as those of a run. Whatever becomes of the turn, the run has a last event.
 *
 * @module
 */
import { wireId } from "../../compaction/context.ts";
import { isObject, type JsonObject } from "../../formats/format.ts";
import { isApplied, type TurnEvent } from "../../loop/events.ts";
import { contentOf } from "../agui_content.ts";
import { interruptId } from "../decode/agui_request.ts";
import type { Problem } from "../problem.ts";
import { AguiStepWriter } from "./agui_step.ts";
import { usageMetadata } from "./ui_parts.ts";

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

type Ended = Extract<TurnEvent, { type: "turn.finished" | "turn.paused" }>;

/** Makes the frames of one run. */
export class AguiEncoder {
  readonly #options: AguiOptions;
  readonly #step = new AguiStepWriter();
  #isStarted = false;
  /** Calls of the step: whether their arguments are still to come, and whether any came. */
  readonly #calls = new Map<string, { isOpen: boolean; hasInput: boolean }>();
  /** Ids of calls by reference. A call of a step that begins anew, after its process died, is another one to clients. */
  readonly #ids = new Map<string, string>();
  readonly #answered = new Set<string>();
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
    return this.#step.flush();
  }

  /** The frames behind the last event. `problem`: what kept the turn from an end of its own. */
  end(problem: Problem | null = null): string {
    this.#start();
    const end = this.#end;
    this.#closeStep();
    if (problem !== null) {
      this.#step.push("RUN_ERROR", { message: problem.detail, code: problem.code });
    } else if (end === null) {
      const message = "The turn has left this process, and goes on where its events are asked for";
      this.#step.push("RUN_ERROR", { message, code: "turn_suspended" });
    } else if (end.type === "turn.finished" && end.reason === "error") {
      const { code, message } = this.#problem ?? { code: "internal", message: "The turn failed" };
      this.#step.push("RUN_ERROR", { message, code, usage: this.#usage(end) });
    } else {
      const { threadId, runId } = this.#options;
      const result = end.type === "turn.finished" ? { result: { reason: end.reason, steps: end.steps } } : {};
      const usage = this.#usage(end);
      this.#step.push("RUN_FINISHED", { threadId, runId, outcome: this.#outcome(end), usage, ...result });
    }
    return this.#step.flush();
  }

  #outcome(end: Ended): JsonObject {
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

  #usage({ model = this.#options.model, usage }: Ended): readonly JsonObject[] {
    return [{ model, ...usageMetadata(usage) }];
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { threadId, runId, turn, agent, model, state } = this.#options;
    this.#step.push("RUN_STARTED", { threadId, runId, protocolVersion: "1.0" });
    const ours = { turn, agent, model, context: null, compactions: this.#compactions };
    this.#step.push("STATE_SNAPSHOT", { snapshot: { ...isObject(state) ? state : {}, selvage: ours } });
  }

  #take(event: TurnEvent): void {
    switch (event.type) {
      case "turn.started":
        return;
      case "step.started":
        this.#closeStep();
        this.#calls.clear();
        return this.#step.open(event.step, `${this.#options.turn}:${event.step}`);
      case "text.delta":
        return this.#step.text(event.text, this.#calls.size > 0);
      case "reasoning.delta":
        return this.#step.reasoning(event.text);
      case "part.end":
        return event.kind === "text" ? this.#step.closeText() : this.#step.closeReasoning();
      case "part":
        this.#step.closeParts();
        return this.#step.push("CUSTOM", { name: "part", value: event.part });
      case "tool.input.delta": {
        const call = this.#openCall(event);
        call.hasInput ||= event.delta !== "";
        if (event.delta === "" || !call.isOpen) return;
        return this.#step.push("TOOL_CALL_ARGS", { toolCallId: this.#idOf(event.ref), delta: event.delta });
      }
      case "tool.input.end":
        return this.#closeCall(event.ref);
      case "tool.call": {
        this.#step.closeParts();
        const call = this.#openCall(event);
        if (!call.hasInput && call.isOpen) {
          const delta = JSON.stringify(event.input ?? {});
          this.#step.push("TOOL_CALL_ARGS", { toolCallId: this.#idOf(event.ref), delta });
        }
        call.hasInput = true;
        return this.#closeCall(event.ref);
      }
      case "tool.progress": {
        const { ref, name, data } = event;
        return this.#step.push("CUSTOM", {
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
        return this.#step.push("TOOL_CALL_RESULT", {
          messageId,
          toolCallId: id,
          role: "tool",
          content: contentOf(output),
          ...metadata,
        });
      }
      case "user.message":
        this.#step.closeParts();
        return this.#step.push("CUSTOM", {
          name: "user.message",
          value: { ref: event.ref, input: event.input },
        });
      case "context": {
        const { tokens, window, compactAt, stopAt } = event;
        return this.#patch("context", { tokens, window, compactAt, stopAt });
      }
      case "compaction": {
        const { type: _, id: __, ...value } = event;
        this.#step.push("CUSTOM", { name: "compaction", value });
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
    this.#step.push("STATE_DELTA", { delta: [{ op: "add", path: `/selvage/${name}`, value }] });
  }

  #closeStep(): void {
    this.#step.closeParts();
    for (const ref of this.#calls.keys()) this.#closeCall(ref);
    this.#step.close();
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
    this.#step.closeParts();
    const call = { isOpen: true, hasInput: false };
    this.#calls.set(ref, call);
    this.#ids.set(ref, this.#step.fresh(wireId(ref)));
    const { message } = this.#step;
    const parent = message === "" ? {} : { parentMessageId: message };
    this.#step.push("TOOL_CALL_START", { toolCallId: this.#idOf(ref), toolCallName: name, ...parent });
    return call;
  }

  #closeCall(ref: string): void {
    const call = this.#calls.get(ref);
    if (call?.isOpen !== true) return;
    call.isOpen = false;
    this.#step.push("TOOL_CALL_END", { toolCallId: this.#idOf(ref) });
  }
}
