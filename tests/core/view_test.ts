import assert from "node:assert/strict";
import {
  cutView,
  IllegalCompactionCut,
  nearestLegalCuts,
  parseTranscript,
  viewMessages,
  WHOLE_LOG,
} from "../../src/core/mod.ts";
import { log } from "../support/logs.ts";
import { severs } from "../support/reference_selector.ts";

const parse = (notation: string) => parseTranscript(log(notation));

Deno.test("viewMessages() shows the whole log at first", () => {
  assert.deepEqual(viewMessages(WHOLE_LOG, 3), [0, 1, 2]);
  assert.deepEqual(viewMessages(WHOLE_LOG, 0), []);
});

Deno.test("viewMessages() shows pinned messages before the cut in log order, then the tail, each once", () => {
  assert.deepEqual(viewMessages({ version: 1, cut: 4, pinned: [2, 0] }, 6), [0, 2, 4, 5]);
  assert.deepEqual(viewMessages({ version: 1, cut: 4, pinned: [5, 4, 0] }, 6), [0, 4, 5]);
  assert.deepEqual(viewMessages({ version: 1, cut: 3, pinned: [1] }, 3), [1]);
  assert.deepEqual(viewMessages({ version: 1, cut: 4, pinned: [10, 2] }, 12), [2, 4, 5, 6, 7, 8, 9, 10, 11]);
});

Deno.test("viewMessages() shows a message that is pinned twice only once", () => {
  assert.deepEqual(viewMessages({ version: 1, cut: 4, pinned: [0, 0] }, 6), [0, 4, 5]);
});

Deno.test("viewMessages() does not change the list of pinned messages", () => {
  const pinned = Object.freeze([2, 0]);
  viewMessages({ version: 1, cut: 4, pinned }, 6);
  assert.deepEqual(pinned, [2, 0]);
});

Deno.test("cutView() makes the next view and leaves the old one", () => {
  const view = cutView(WHOLE_LOG, parse("H Ua Ra A"), { at: 3, from: 0, pinned: [0] });
  assert.deepEqual(view, { version: 1, cut: 3, pinned: [0] });
  assert.deepEqual(WHOLE_LOG, { version: 0, cut: 0, pinned: [] });
});

Deno.test("cutView() counts a cut of the shown transcript in messages of the log", () => {
  // Shown: summary, pinned message 0, then messages 3 to 7 of the log.
  const view = { version: 1, cut: 3, pinned: [0] };
  const next = cutView(view, parse("Z H A Ua Ra H A"), { at: 5, from: 2, pinned: [0, 6] });
  assert.deepEqual(next, { version: 2, cut: 6, pinned: [0, 6] });
  assert.deepEqual(viewMessages(next, 8), [0, 6, 7]);
});

Deno.test("cutView() takes the ends of the log where they are legal", () => {
  assert.equal(cutView(WHOLE_LOG, parse("H A"), { at: 0, from: 0, pinned: [] }).cut, 0);
  assert.equal(cutView(WHOLE_LOG, parse("H A"), { at: 2, from: 0, pinned: [] }).cut, 2);
  assert.throws(
    () => cutView(WHOLE_LOG, parse("H Ua"), { at: 2, from: 0, pinned: [] }),
    IllegalCompactionCut,
  );
});

Deno.test.each([
  { what: "between a call and its result", notation: "H Ua Ra A", at: 2, from: 0, before: 1, after: 3 },
  { what: "between sibling results", notation: "H Ua+Ub Ra Rb A", at: 3, from: 0, before: 1, after: 4 },
  { what: "behind a call in flight", notation: "H Ua! A H", at: 3, from: 0, before: 1, after: null },
  { what: "beyond the end", notation: "H A", at: 3, from: 0, before: 2, after: null },
  { what: "at no whole number", notation: "H A", at: 0.5, from: 0, before: 0, after: 1 },
])("cutView() refuses a cut $what and names the legal ones", ({ notation, at, from, before, after }) => {
  assert.throws(
    () => cutView(WHOLE_LOG, parse(notation), { at, from, pinned: [] }),
    (error) => {
      assert(error instanceof IllegalCompactionCut);
      assert.equal(error.code, "illegal_cut");
      assert.deepEqual(error.fields, { at, nearest: { before, after } });
      return true;
    },
  );
});

Deno.test("cutView() refuses a cut before the one in force, and names none that it would refuse too", () => {
  const view = { version: 1, cut: 5, pinned: [0, 2] };
  assert.throws(
    () => cutView(view, parse("Z H H A H"), { at: 2, from: 3, pinned: [] }),
    (error) => {
      assert(error instanceof IllegalCompactionCut);
      assert.deepEqual(error.fields["nearest"], { before: null, after: 3 });
      return true;
    },
  );
});

Deno.test.each([[1], [2]])("cutView() keeps the whole pair of which message %i is pinned", (pin) => {
  const view = cutView(WHOLE_LOG, parse("H Ua Ra A H"), { at: 3, from: 0, pinned: [pin] });
  assert.deepEqual(viewMessages(view, 5), [1, 2, 3, 4]);
});

Deno.test.each([[1], [2]])("cutView() still keeps the whole pair of message %i when it cuts again", (pin) => {
  const records = log("H Ua Ra A H Ub Rb A");
  const view = cutView(WHOLE_LOG, parseTranscript(records), { at: 3, from: 0, pinned: [pin] });
  // Shown now: summary, messages 1 and 2, then the tail from 3 on. The caller pins what it pinned before.
  const next = cutView(view, parse("Z Ua Ra A H Ub Rb A"), { at: 5, from: 3, pinned: [pin] });
  const shown = viewMessages(next, 8);
  assert(!severs(records, shown), `the view shows ${shown}`);
  assert.deepEqual(shown, [1, 2, 5, 6, 7]);
});

Deno.test("cutView() keeps pins of messages that are still to come", () => {
  assert.deepEqual(cutView(WHOLE_LOG, parse("H A"), { at: 1, from: 0, pinned: [5, 0] }).pinned, [0, 5]);
});

Deno.test("nearestLegalCuts() gives the legal cuts around a position, null where there is none", () => {
  const transcript = parse("H Ua Ra A Ub");
  assert.deepEqual(nearestLegalCuts(transcript, 2), { before: 1, after: 3 });
  assert.deepEqual(nearestLegalCuts(transcript, 3), { before: 1, after: 4 });
  assert.deepEqual(nearestLegalCuts(transcript, 0), { before: null, after: 1 });
  assert.deepEqual(nearestLegalCuts(transcript, 5), { before: 4, after: null });
});
