/**
 * Sessions of the caller: what there is, what the model is shown of it, every original.
 *
 * @module
 */
import type { InspectedContext } from "../loop/inspect.ts";
import type {
  EntryPage,
  SessionCompaction,
  SessionDetails,
  SessionList,
  SessionPins,
  ShownEntry,
} from "./answers.ts";
import { readText } from "./body.ts";
import { ClientError } from "./error.ts";
import { newKey, type Transport } from "./transport.ts";

/** Which part of the text of an entry, or what is looked for in it. */
export interface EntryQuery {
  /** Text that is looked for. */
  readonly search?: string;
  /** First character, or hits to pass over. */
  readonly offset?: number;
  /** Characters, or hits. */
  readonly limit?: number;
}

/**
 * Sessions of the caller. Every method throws a `ClientError` for what the service refuses.
 *
 * @example
 * ```ts
 * import { createApp, memoryStore, scripted } from "@selvage/selvage";
 * import { createClient } from "@selvage/selvage/client";
 *
 * const model = scripted({ script: () => ({ text: "Hello." }) });
 * const app = createApp({ agents: { default: { model } }, store: memoryStore() });
 * const { sessions, turn } = createClient({
 *   url: "http://127.0.0.1",
 *   fetch: async (url, init) => await app.request(url, init),
 * });
 *
 * await turn({ session: "s1", input: "Hi" }).result();
 * console.log((await sessions.messages("s1")).entries.length); // 2
 * await sessions.delete("s1");
 * ```
 */
export class ClientSessions {
  readonly #transport: Transport;

  /** Makes it; `createClient()` does. */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A page of them, the newest first; `after` is what the page before gave as `next`. */
  list(
    { limit, after, signal }: {
      readonly limit?: number;
      readonly after?: string;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<SessionList> {
    return this.#transport.json(`/v1/sessions${queryOf({ limit, after })}`, { signal });
  }

  /** What there is of one: entries, view, branches, the turn that runs or waits. */
  get(session: string): Promise<SessionDetails> {
    return this.#transport.json(pathOf(session));
  }

  /** A page of its log: every original, from the entry `from` on. */
  messages(
    session: string,
    { from, branch }: { readonly from?: number; readonly branch?: number } = {},
  ): Promise<EntryPage> {
    return this.#transport.json(`${pathOf(session)}/messages${queryOf({ from, branch })}`);
  }

  /**
   * One original.
   *
   * @param session The session.
   * @param options Its ref, `e41` for an entry, `e41.0` for a call with its result, `e3..e17` for a range, which wants
   *   a part of its text or a search.
   */
  entry(session: string, { ref, ...query }: { readonly ref: string } & EntryQuery): Promise<ShownEntry> {
    return this.#transport.json(
      `${pathOf(session)}/entries/${encodeURIComponent(ref)}${queryOf({ ...query })}`,
    );
  }

  /** What the model is shown: every atom, the legal cuts, the summary, the meter. */
  context(session: string): Promise<InspectedContext & { readonly session: string }> {
    return this.#transport.json(`${pathOf(session)}/context`);
  }

  /** All of it, line by line: what there is, each entry, the views. */
  async *export(session: string, { signal }: { readonly signal?: AbortSignal } = {}): AsyncGenerator<
    Readonly<Record<string, unknown>>,
    void
  > {
    const response = await this.#transport.try(`${pathOf(session)}/export`, { signal });
    let rest = "";
    for await (const text of readText(response, this.#transport.reading(signal))) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line);
    }
    if (rest === "") return;
    throw new ClientError("network", "Cannot read the export: it broke off in the middle of a line");
  }

  /** Compacts it between two turns; with `dryRun` it only says what would come of that. */
  compact(
    session: string,
    { signal, ...asked }: {
      /** What the summarizer is to give most room to. */
      readonly focus?: string;
      /** Share of the usable window to aim at. Default: the agent's. */
      readonly compactTo?: number;
      readonly dryRun?: boolean;
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<SessionCompaction> {
    const headers = { "idempotency-key": newKey() };
    return this.#transport.json(`${pathOf(session)}/compact`, {
      method: "POST",
      body: asked,
      headers,
      signal,
    });
  }

  /** What stays verbatim in it through compactions. */
  pins(session: string): Promise<SessionPins> {
    return this.#transport.json(`${pathOf(session)}/pins`);
  }

  /** Pins a message of the user (`e3`) or a call with its result (`e41.0`), or lets it go. */
  pin(
    session: string,
    { ref, pinned = true }: { readonly ref: string; readonly pinned?: boolean },
  ): Promise<SessionPins> {
    return this.#transport.json(`${pathOf(session)}/pins`, { method: "POST", body: { ref, pinned } });
  }

  /** Ends what runs in it and deletes it. */
  async delete(session: string): Promise<void> {
    try {
      await this.#transport.json(pathOf(session), { method: "DELETE" });
    } catch (error) {
      // An earlier try has done it, whose answer was lost.
      if (error instanceof ClientError && error.code === "session_not_found" && error.tries > 1) return;
      throw error;
    }
  }
}

function pathOf(session: string): string {
  return `/v1/sessions/${encodeURIComponent(session)}`;
}

/** A query of what is set. */
export function queryOf(values: Readonly<Record<string, string | number | undefined>>): string {
  const set = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]]
  );
  return set.length === 0 ? "" : `?${new URLSearchParams(set)}`;
}
