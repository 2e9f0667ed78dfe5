/**
 * Repair of ids: those that are missing, refused or there twice.
 *
 * @module
 */
import { groupBy } from "../core/group_by.ts";
import { idFaults } from "./ids.ts";
import type { Mending } from "./mending.ts";

/** Ids that are missing, refused or there twice are rewritten on both sides, always in the same way. */
export function mendIds(mending: Mending): void {
  const { format } = mending.reading;
  const faults = groupBy(idFaults(mending.reading), ({ record }) => record);
  const crowds = namesakes(mending);
  const taken = new Set(mending.places.map(({ piece }) => piece.callId ?? ""));
  const inTurn = new Map<string, number>();
  // Below this number every id of a base is taken.
  const next = new Map<string, number>();
  const freeId = (base: string, times: number): string => {
    let id = `${base}_${times}`;
    if (taken.has(id)) {
      let n = Math.max(times + 1, next.get(base) ?? 0);
      while (taken.has(`${base}_${n}`)) n++;
      id = `${base}_${n}`;
      next.set(base, n);
    }
    return id;
  };
  for (const pair of mending.pairs) {
    const call = mending.places[pair.call];
    if (call === undefined || call.piece.approval === true) continue;
    const results = (mending.results.get(pair.call) ?? []).flatMap((record) => {
      const place = mending.places[record];
      return place === undefined ? [] : [{ record, ...place }];
    });
    const old = call.piece.callId ?? "";
    const start = mending.starts[call.message];
    const key = `${start}:${old}`;
    const times = (inTurn.get(key) ?? 0) + 1;
    inTurn.set(key, times);
    const codes = faults.get(pair.call)?.map(({ code }) => code) ?? [];
    const crowd = old === "" && call.piece.idUse === "optional" ? crowds.get(start ?? 0) : undefined;
    const isAgain = old === "" ? crowd?.has(pair.call) === true : times > 1;
    const isRefused = codes.includes("invalid_call_id");
    if (old === "" ? codes.length === 0 && crowd === undefined : !isAgain && !isRefused) {
      for (const result of results) {
        if (!faults.has(result.record)) continue;
        mending.report("empty_call_id", result, `Gave the result the id of its call, ${old}`);
        mending.edit(result.message, (message) => format.withCallId(message, result.piece.part, old));
      }
      continue;
    }
    const plain = old.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
    const own = results.find(({ piece }) => piece.callId)?.piece.callId ?? "";
    const id = old === ""
      ? own || freeId(`call_${call.message}`, times)
      : isRefused && !isAgain && !taken.has(plain)
      ? plain
      : freeId(isRefused ? plain : old, times);
    taken.add(id);
    mending.ids.set(call, id);
    const others = results.filter(({ piece }) => piece.callId !== id);
    const both = others.length === 0 ? "the call" : "the call and its result";
    if (codes.includes("empty_call_id")) mending.report("empty_call_id", call, `Gave ${both} the id ${id}`);
    if (isRefused) mending.report("invalid_call_id", call, `Gave ${both} the id ${id} in place of ${old}`);
    if (isAgain) {
      const what = old === ""
        ? `Gave all calls of the message ids, as it has two without one of the name ${call.piece.name}`
        : `Gave ${both} the id ${id}, as ${old} is the id of another call too`;
      mending.report("duplicate_call_id", call, what);
    }
    mending.edit(call.message, (message) => format.withCallId(message, call.piece.part, id));
    for (const { message: at, piece } of others) {
      mending.edit(at, (message) => format.withCallId(message, piece.part, id));
    }
  }
}

/**
 * Assistant messages with two calls of one name and no id: those behind the first one of each name. A call whose result
 * has an id has that.
 */
function namesakes(mending: Mending): ReadonlyMap<number, ReadonlySet<number>> {
  const names = new Set<string>();
  const crowds = new Map<number, Set<number>>();
  for (const { call } of mending.pairs) {
    const { piece, message } = mending.places[call] ?? {};
    if (piece === undefined || message === undefined || piece.callId || piece.approval === true) continue;
    if (mending.results.get(call)?.some((record) => mending.places[record]?.piece.callId)) continue;
    const start = mending.starts[message] ?? message;
    const key = `${start}:${piece.name}`;
    if (names.has(key)) crowds.set(start, (crowds.get(start) ?? new Set()).add(call));
    names.add(key);
  }
  return crowds;
}
