/**
 * What the model does in the crash suite. Each turn has a plan of its own, named in the user's message; the model
 * asks for calls as often as the plan says and then answers. Keys of calls are never used twice, so that the tally
 * tells what was run how often.
 */
import type { Message } from "../../src/core/message.ts";
import type { ModelRequest } from "../../src/ports.ts";
import type { ScriptedReply } from "../../src/models/scripted.ts";
import { type Double, type Fault, startDouble } from "../support/openai_double.ts";
import type { Json } from "../support/wire_json.ts";
import { type Random, WINDOW } from "./_setup.ts";

/** What one turn does. */
export interface PlanOptions {
  /** Answers with calls, those asked for again after a crash included. */
  readonly steps: number;
  /** The most calls of one answer. */
  readonly calls: number;
  /** The most milliseconds that a tool takes. */
  readonly ms: number;
  /** The most characters of a result. */
  readonly chars: number;
}

interface Plan {
  readonly options: PlanOptions;
  readonly random: Random;
  requests: number;
  keys: number;
  /** Called with each request, numbered from 1; may hold its answer up after some frames. */
  onRequest: ((number: number) => Fault | undefined) | undefined;
}

function textOf({ content }: Message): string {
  return typeof content === "string"
    ? content
    : content.map((part) => part.type === "text" ? part.text : "").join(" ");
}

/** The plans of a run, and the double that follows them. */
export class Plans implements AsyncDisposable {
  readonly #plans = new Map<string, Plan>();
  readonly double: Double;

  constructor() {
    this.double = startDouble({
      window: WINDOW,
      script: (request) => this.#reply(request),
      faults: (_, body) => this.#fault(body),
    });
  }

  /** Makes a plan; gives its name, which the user's message must have. */
  add(options: PlanOptions, random: Random): string {
    const name = `plan${this.#plans.size}x`;
    this.#plans.set(name, { options, random, requests: 0, keys: 0, onRequest: undefined });
    return name;
  }

  /** Looks at the requests of a plan. */
  watch(name: string, onRequest: Plan["onRequest"]): void {
    const plan = this.#plans.get(name);
    if (plan !== undefined) plan.onRequest = onRequest;
  }

  #reply({ messages }: ModelRequest): ScriptedReply {
    const task = messages.findLast(({ role }) => role === "user");
    const name = task === undefined ? undefined : nameIn(textOf(task));
    const plan = this.#plans.get(name ?? "");
    if (plan === undefined) throw new Error(`Found no plan in ${JSON.stringify(task)}`);
    const { options, random } = plan;
    if (plan.requests > options.steps) return { text: `${name} is done after ${plan.requests} requests.` };
    const count = 1 + random.below(options.calls);
    const calls = Array.from({ length: count }, () => ({
      name: random.pick(["count_some", "count_none"]),
      input: {
        key: `${name}.${plan.keys++}`,
        ms: random.chance(0.3) ? 0 : random.below(options.ms + 1),
        // Now and then one that takes several writes to store.
        chars: options.chars > 1_000 && random.chance(0.02) ? 700_000 : random.below(options.chars),
      },
    }));
    return random.chance(0.5)
      ? { text: `Step ${plan.requests} of ${name}, with ${count} calls.`, calls }
      : { calls };
  }

  #fault({ messages }: Json): Fault | undefined {
    const tasks = Array.isArray(messages) ? messages.filter(({ role }) => role === "user") : [];
    const plan = this.#plans.get(nameIn(JSON.stringify(tasks.at(-1))) ?? "");
    if (plan === undefined) return undefined;
    plan.requests++;
    return plan.onRequest?.(plan.requests);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.double[Symbol.asyncDispose]();
  }
}

/** The name of the plan in a text; the last one, where there are several. */
export function nameIn(text: string): string | undefined {
  return text.match(/plan\d+x/g)?.at(-1);
}
