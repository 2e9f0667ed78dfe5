/** One request sent until its answer is complete, whatever its protocol. Private to the adapters. */
import type { SelvageError } from "../core/errors.ts";
import type { ModelEvent } from "../ports.ts";
import type { Assembler } from "./_assembler.ts";
import { connect, type Connection } from "./_http.ts";
import { readStream, requireStream } from "./_read_stream.ts";
import { isRetried, retryDelay } from "./_retry.ts";
import type { Hosted } from "./hosted.ts";

/** What {@link exchange} needs beside the place to send to. */
export interface ExchangeOptions<Answer extends Assembler> {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly signal: AbortSignal;
  /** In place of those of the model. */
  readonly headers?: Hosted["headers"];
  /** Starts an answer; called for each attempt. */
  readonly assemble: () => Answer;
}

/**
 * Sends a request and yields what comes. It is sent again only after a rate limit, a server error or a failed
 * connection, and only while no part of the answer was seen.
 *
 * @returns The complete answer, once the connection is closed.
 * @throws The signal's reason, or what went wrong in the last attempt.
 */
export async function* exchange<Answer extends Assembler>(
  hosted: Hosted,
  options: ExchangeOptions<Answer>,
): AsyncGenerator<ModelEvent, Answer> {
  const { clock, context, maxRetries, stallMs, url } = hosted;
  const { assemble, body, headers = hosted.headers, signal } = options;
  const fetch = hosted.fetch();
  for (let attempt = 0;; attempt++) {
    let connection: Connection | undefined;
    let begun = false;
    let failure: SelvageError;
    try {
      connection = await connect(url.href, {
        fetch,
        headers,
        body,
        clock,
        stallMs,
        signal,
        context,
      });
      await requireStream(connection, { context, now: clock.now() });
      const answer = assemble();
      for await (const events of readStream(connection, answer, context)) {
        for (const event of events) {
          begun = true;
          yield event;
        }
      }
      signal.throwIfAborted();
      return answer;
    } catch (error) {
      if (begun || attempt >= maxRetries || !isRetried(error)) throw error;
      failure = error;
    } finally {
      // Also where the consumer leaves early: the provider then stops writing, and billing.
      connection?.close();
    }
    await clock.sleep(retryDelay(failure, attempt), signal);
  }
}
