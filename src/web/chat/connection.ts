/**
 * The way to the service: its client, the key that somebody typed, and whether anybody answers.
 *
 * @module
 */
/// <reference lib="dom" />
import { type Client, ClientError, createClient } from "../../client/mod.ts";

/** What the page has to do with the service. */
export interface Connection {
  readonly client: Client;
  /** Sends a key with everything from here on. It is held by this tab alone, and gone with it. */
  use(key: string): void;
  /** Names of the agents; throws a `ClientError` where the service wants a key. */
  agents(): Promise<readonly string[]>;
}

/** Where the service is, wherever it is mounted: this script is one of its `assets/`. */
export const SERVICE = new URL("..", import.meta.url).href.replace(/\/$/, "");

/**
 * Makes it.
 *
 * @param onAway Told whether the service is away, each time that changes.
 */
export function connect(onAway: (isAway: boolean) => void): Connection {
  let key: string | null = null;
  let isAway = false;
  const tell = (now: boolean): void => {
    if (now === isAway) return;
    isAway = now;
    onAway(now);
  };
  const headers = (): Record<string, string> => key === null ? {} : { authorization: `Bearer ${key}` };
  const ask = async (url: string, init: RequestInit): Promise<Response> => {
    let response: Response;
    try {
      response = await fetch(url, init);
    } catch (error) {
      if (init.signal?.aborted !== true) tell(true);
      throw error;
    }
    // What stands before the service answers for it with these.
    tell(response.status === 502 || response.status === 504);
    return response;
  };
  const client = createClient({ url: SERVICE, headers, fetch: ask });
  return {
    client,
    use: (given) => key = given,
    async agents() {
      const response = await ask(`${SERVICE}/v1/models`, { headers: headers() });
      if (response.status === 401) {
        throw new ClientError("unauthorized", "The service wants a key", { status: 401 });
      }
      if (!response.ok) return [];
      const { data } = await response.json() as { readonly data: readonly { readonly id: string }[] };
      return data.map(({ id }) => id);
    },
  };
}
