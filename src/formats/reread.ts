/**
 * Reading what was made of a transcript in the way in which it was read itself.
 *
 * @module
 */
import { type CallName, Calls } from "./calls.ts";
import type { JsonObject } from "./format.ts";
import { type Reading, readTranscript } from "./read.ts";

/**
 * Reads messages that were made of those of a reading: calls in flight and long-running ones are the same ones,
 * and messages that are the same cost the same.
 *
 * @param reading The reading.
 * @param options The messages, and how their calls are found again: by the index that each message had (null for
 *   a new one), or by the calls that are left, as a repair tells them; without either the calls are the same.
 */
export function rereadTranscript(
  reading: Reading,
  { messages, origins, calls }: {
    readonly messages: readonly JsonObject[];
    readonly origins?: readonly (number | null)[];
    readonly calls?: readonly number[];
  },
): Reading {
  const { inFlight, longRunning, tokens, ...rest } = reading.options;
  const known = new Map<JsonObject, number | undefined>();
  if (tokens !== undefined) {
    for (const [at, message] of reading.messages.entries()) known.set(message, tokens[at]);
  }
  const plain = {
    ...rest,
    ...(tokens === undefined ? {} : { tokens: messages.map((message) => known.get(message)) }),
  };
  if (inFlight === undefined && longRunning === undefined) return readTranscript(messages, plain);
  const rename = origins === undefined
    ? namesByOrder(reading, { after: readTranscript(messages, plain), calls })
    : namesByOrigin(origins);
  return readTranscript(messages, {
    ...plain,
    ...(inFlight === undefined ? {} : { inFlight: inFlight.flatMap(rename) }),
    ...(longRunning === undefined ? {} : { longRunning: longRunning.flatMap(rename) }),
  });
}

type Rename = (name: CallName) => readonly CallName[];

function namesByOrigin(origins: readonly (number | null)[]): Rename {
  const places = new Map(origins.map((origin, at) => [origin, at]));
  return (name) => {
    // A reading names calls by place; an id is left for what an earlier compaction took away.
    if (typeof name === "string") return [];
    const at = places.get(name.at);
    return at === undefined ? [] : [{ at, call: name.call }];
  };
}

/** A repair moves no call, and tells which ones it takes away; one that it has answered is in flight no longer. */
function namesByOrder(
  before: Reading,
  { after, calls }: { readonly after: Reading; readonly calls: readonly number[] | undefined },
): Rename {
  const [old, made] = [new Calls(before.pieces), new Calls(after.pieces)];
  const places = new Map((calls ?? [...old.records.keys()]).map((call, index) => [call, index]));
  const [was, is] = [before.transcript.pairs, after.transcript.pairs];
  return (name) =>
    old.named(name, "inFlight").flatMap((call) => {
      const index = places.get(call);
      if (index === undefined) return [];
      const isMended = was[call]?.state === "in_flight" && was[call].result === null &&
        is[index]?.state === "answered";
      return isMended ? [] : [made.placeOf(index)];
    });
}
