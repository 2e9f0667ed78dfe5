/** Requests sent until their answer is complete, whatever their protocol. Private to the adapters. */
import { SelvageError } from "../core/errors.ts";
import type { ModelEvent } from "../ports.ts";
import type { Assembler } from "./_assembler.ts";
import { connect, type Connection } from "./_http.ts";
import { readStream, requireStream } from "./_read_stream.ts";
import { isRetried, retryDelay } from "./_retry.ts";
import type { Hosted } from "./hosted.ts";

/** One request of an {@link exchange}. */
export interface Sent {
  /** Good until it was sent. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** In place of those of the model. */
  readonly headers?: Hosted["headers"];
}

/** What {@link exchange} needs beside the place to send to. */
export interface ExchangeOptions<Answer extends Assembler> {
  /** What is sent next; called for each attempt. */
  readonly request: () => Sent;
  readonly signal: AbortSignal;
  /** Starts an answer; called for each attempt. */
  readonly assemble: () => Answer;
  /** Takes a complete answer: its last event, or null where another request goes on with it. */
  readonly take: (answer: Answer) => ModelEvent | null;
  /** Whether another request is to be sent in place of one that was refused, of whose answer nothing was seen. */
  readonly isOtherwise?: (error: SelvageError) => boolean;
}

/**
 * Sends a request and yields what comes; the connection is closed before the last event. It is sent again only after a
 * rate limit, a server error or a failed connection, and only while no part of the answer was seen.
 *
 * This is the one generator between a read of the network and the loop: each further one costs its share of every delta.
 *
 * @throws The signal's reason, or what went wrong in the last attempt.
 */
export async function* exchange<Answer extends Assembler>(
  hosted: Hosted,
  { assemble, isOtherwise = () => false, request, signal, take }: ExchangeOptions<Answer>,
): AsyncGenerator<ModelEvent, void> {
  signal.throwIfAborted();
  const { clock, context, maxRetries, stallMs, url } = hosted;
  const fetch = hosted.fetch();
  for (let attempt = 0;; attempt++) {
    const { body, headers = hosted.headers } = request();
    let connection: Connection | undefined;
    let begun = false;
    let last: ModelEvent | null = null;
    let failure: SelvageError | null = null;
    try {
      connection = await connect(url.href, { fetch, headers, body, clock, stallMs, signal, context });
      await requireStream(connection, { context, now: clock.now() });
      const answer = assemble();
      const reader = readStream(connection, answer, context);
      for (let events = await reader.next(); events !== null; events = await reader.next()) {
        for (const event of events) {
          begun = true;
          yield event;
        }
      }
      signal.throwIfAborted();
      last = take(answer);
    } catch (error) {
      if (begun || !(error instanceof SelvageError)) throw error;
      if (!isOtherwise(error)) {
        if (attempt >= maxRetries || !isRetried(error)) throw error;
        failure = error;
      }
    } finally {
      // Also where the consumer leaves early: the provider then stops writing, and billing.
      connection?.close();
    }
    if (last !== null) {
      yield last;
      return;
    }
    if (failure !== null) await clock.sleep(retryDelay(failure, attempt), signal);
    else attempt = -1;
  }
}
