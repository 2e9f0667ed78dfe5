/**
 * Canonical messages as the body of a Responses request. Private to the adapters.
 *
 * `input` comes last in the body and every message is encoded once: a step of the loop costs the encoding of what is
 * new plus one copy of the bytes, however long the history has grown.
 */
import type { Message } from "../core/message.ts";
import type { JsonObject } from "../formats/format.ts";
import type { ModelRequest, ToolSchema } from "../ports.ts";
import { encodeItems, joinBody } from "./_bytes.ts";
import { CallIds } from "./_call_ids.ts";
import { idsOf, messageItems } from "./_items_responses.ts";
import { responsesSettings } from "./_settings.ts";
import { NO_TEXT } from "./_texts.ts";
import { UserRuns } from "./_user_runs.ts";

/** The fewest tokens of an answer that the service takes. */
const MIN_OUTPUT_TOKENS = 16;

/** What is the same in all requests of a model. */
export interface ResponsesBodyOptions {
  readonly model: string;
  /** Which model is asked, and where: only what comes from there can go back opaque. */
  readonly from: string;
  /** Sent as it is. */
  readonly reasoning?: JsonObject;
  readonly providerTools: readonly JsonObject[];
}

interface Encoded {
  readonly bytes: Uint8Array;
  readonly itemIds: readonly string[];
  /** What the bytes depend on beside the message. */
  readonly key: string;
}

/** Makes the bodies of one model's requests. */
export class ResponsesEncoder {
  readonly #options: ResponsesBodyOptions;
  // Messages are values: one that was sent is never edited, so that its bytes stay true for as long as it lives.
  readonly #encoded = new WeakMap<Message, Encoded>();
  readonly #plain = new WeakSet<Message>();
  readonly #runs = new UserRuns();
  #asksForReasoning = true;

  /** @param options What is the same in all requests. */
  constructor(options: ResponsesBodyOptions) {
    this.#options = options;
  }

  /** The bytes of a streaming request. */
  encode(request: ModelRequest): Uint8Array<ArrayBuffer> {
    const { model, providerTools } = this.#options;
    const { settings = {} } = request;
    const effort = settings.effort === undefined ? {} : { effort: settings.effort };
    const reasoning = { ...this.#options.reasoning, ...effort };
    const tools = [...providerTools, ...request.tools.map(renderTool)];
    const head = {
      model,
      stream: true,
      // Stateless: the service keeps nothing, and gives its reasoning to us to keep.
      store: false,
      ...(this.#asksForReasoning ? { include: ["reasoning.encrypted_content"] } : {}),
      max_output_tokens: Math.max(MIN_OUTPUT_TOKENS, request.maxOutput),
      ...(Object.keys(reasoning).length === 0 ? {} : { reasoning }),
      ...responsesSettings(settings, tools.length > 0),
      ...(request.system === "" ? {} : { instructions: request.system }),
      ...(tools.length === 0 ? {} : { tools }),
    };
    const ids = new CallIds();
    const itemIds = new Set<string>();
    const items = this.#runs.join(request.messages).map((message) => this.#encode(message, ids, { itemIds }));
    if (!items.some(({ length }) => length > 0)) {
      items.push(encodeItems([{ role: "user", content: NO_TEXT }]));
    }
    return joinBody(head, "input", { items });
  }

  /**
   * Leaves out what the service does not take: reasoning that it cannot read any more, or the wish for it where the
   * model has none.
   *
   * @param messages The messages of the refused request.
   * @param words The service's own words.
   * @returns Whether the next request will be another one.
   */
  withdraw(messages: readonly Message[], words: string): boolean {
    if (!/encrypted content/i.test(words)) return false;
    if (/not supported/i.test(words)) {
      const isChanged = this.#asksForReasoning;
      this.#asksForReasoning = false;
      return isChanged;
    }
    const opaque = messages.filter((message) =>
      !this.#plain.has(message) && (this.#encoded.get(message)?.itemIds.length ?? 0) > 0
    );
    for (const message of opaque) this.#plain.add(message);
    return opaque.length > 0;
  }

  #encode(message: Message, ids: CallIds, { itemIds }: { readonly itemIds: Set<string> }): Uint8Array {
    ids.next();
    const named = idsOf(message);
    const wireIds = named.map(({ id, isCall }) => isCall ? ids.call(id) : ids.result(id));
    const renamed = wireIds.every((id, index) => id === named[index]?.id) ? "" : JSON.stringify(wireIds);
    let made = this.#render(message, wireIds, { key: renamed, keepsOpaque: !this.#plain.has(message) });
    if (made.itemIds.some((id) => itemIds.has(id))) {
      made = this.#render(message, wireIds, { key: renamed, keepsOpaque: false });
    }
    for (const id of made.itemIds) itemIds.add(id);
    return made.bytes;
  }

  #render(
    message: Message,
    ids: readonly string[],
    options: { readonly key: string; readonly keepsOpaque: boolean },
  ): Encoded {
    const key = `${options.keepsOpaque} ${options.key}`;
    const known = this.#encoded.get(message);
    if (known?.key === key) return known;
    const { items, itemIds } = messageItems(message, {
      from: this.#options.from,
      ids,
      keepsOpaque: options.keepsOpaque,
    });
    const made = { bytes: encodeItems(items), itemIds, key };
    this.#encoded.set(message, made);
    return made;
  }
}

/** A tool for the model. Not strict: the service would make every argument a required one. */
function renderTool({ description, inputSchema, name }: ToolSchema): JsonObject {
  return {
    type: "function",
    name,
    ...(description === "" ? {} : { description }),
    parameters: inputSchema,
    strict: false,
  };
}
