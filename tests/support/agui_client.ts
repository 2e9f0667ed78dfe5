/**
 * A client of AG-UI: the official one, which holds the order of events against the protocol, and every frame held
 * against its schemas.
 *
 * @module
 */
import assert from "node:assert/strict";
import { HttpAgent } from "npm:@ag-ui/client@1.0.0";
import { EventSchemas } from "npm:@ag-ui/core@1.0.0/schemas";
import type { AnyJson } from "./any_json.ts";

/** An event, a message, or any part of them. */
export type AguiEvent = AnyJson;

/** A thread of a client. */
export class AguiClient {
  readonly agent: HttpAgent;
  /** Events of the last run, as they were on the wire. */
  events: AguiEvent[] = [];
  /** Called with each event, as the client takes it. */
  onEvent: (event: AguiEvent) => void = () => {};
  #read: Promise<void> = Promise.resolve();

  constructor(url: string, { fetch: ask = fetch, threadId = "t1", initialMessages = [], initialState = {} }: {
    readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
    readonly threadId?: string;
    readonly initialMessages?: AguiEvent[];
    readonly initialState?: unknown;
  } = {}) {
    this.agent = new HttpAgent({
      url,
      threadId,
      initialMessages,
      initialState,
      fetch: async (url: string, init: RequestInit) => {
        const response = await ask(url, init);
        const { body } = response;
        if (body === null || !response.ok) return response;
        const [mine, theirs] = body.tee();
        this.#read = this.#take(mine);
        return new Response(theirs, response);
      },
    });
  }

  /** What the client has as the history. */
  get messages(): AguiEvent[] {
    return this.agent.messages;
  }

  /** Says something, or goes on with what was added; gives the last event. */
  async run(text: string | null, options: Parameters<HttpAgent["runAgent"]>[0] = {}): Promise<AguiEvent> {
    if (text !== null) this.agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
    this.events = [];
    await this.agent.runAgent(options, { onEvent: ({ event }) => this.onEvent(event) });
    await this.#read;
    return this.events.at(-1);
  }

  /** Events of a type. */
  of(type: string): AguiEvent[] {
    return this.events.filter((event) => event.type === type);
  }

  /** Answers a call with what the frontend's tool gave. */
  answer(toolCallId: string, content: string): void {
    this.agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId, content });
  }

  async #take(body: ReadableStream<Uint8Array>): Promise<void> {
    let text = "";
    try {
      for await (const piece of body.pipeThrough(new TextDecoderStream())) text += piece;
    } catch {
      // The client has gone.
    }
    const frames = text.split("\n\n").filter((frame) => frame.startsWith("data: "));
    this.events = frames.map((frame) => JSON.parse(frame.slice("data: ".length)));
    for (const event of this.events) {
      const { success, error } = EventSchemas.safeParse(event);
      assert.ok(success, `${JSON.stringify(event)}: ${error?.message}`);
    }
    assert.equal(this.events[0]?.type, "RUN_STARTED");
    const ends = this.events.filter(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
    assert.ok(
      ends.length <= 1 && (ends.length === 0 || ends[0] === this.events.at(-1)),
      "the end comes last",
    );
  }
}
