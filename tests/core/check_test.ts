import assert from "node:assert/strict";
import { checkTranscript, parseTranscript } from "../../src/core/mod.ts";
import { log } from "../support/logs.ts";

/** Violations as "code condition message id". */
const check = (notation: string) =>
  checkTranscript(parseTranscript(log(notation)))
    .map(({ code, condition, at, callId }) => `${code} ${condition} ${at} ${callId}`)
    .sort();

Deno.test.each([
  { what: "finds nothing in an empty log", notation: "", found: [] },
  { what: "finds nothing in parallel calls answered in any order", notation: "H A+Ua+Ub Rb Ra A", found: [] },
  { what: "finds nothing in reused ids", notation: "H Ua Ra Ua Ra H Ua Ra A", found: [] },
  { what: "finds nothing in calls in flight", notation: "H Ua! A H Ub", found: [] },
  { what: "finds nothing in results beside a user text", notation: "H Ua Ra+H A", found: [] },
  {
    what: "finds nothing in a long-running call whose results come late",
    notation: "Ua* Ra~ A Ra H",
    found: [],
  },
  { what: "finds nothing in a call that goes on after an interim result", notation: "Ua Ra~ A H", found: [] },
  { what: "finds nothing in calls of messages that join", notation: "H Ua Ub< Ra Rb A", found: [] },
  {
    what: "finds nothing in reasoning that stands before its call",
    notation: "H T> Ua Ra T> A H",
    found: [],
  },
  {
    what: "finds reasoning that nothing follows but a user",
    notation: "H T> H",
    found: ["reasoning_severed dialect 1 null"],
  },
  { what: "finds nothing in an approval and its answer", notation: "H Ua+Uq? Rq? Ra A", found: [] },
  { what: "finds nothing in an approval that nobody gave", notation: "H Uq? H", found: [] },
  { what: "finds a call that is passed over", notation: "H Ua A", found: ["missing_result C1 1 a"] },
  { what: "finds a result without a call", notation: "H Ra A", found: ["orphan_result C2 1 a"] },
  { what: "finds a result before its call", notation: "Ra Ua", found: ["orphan_result C2 0 a"] },
  { what: "finds a second result", notation: "H Ua Ra Ra A", found: ["duplicate_result C1 3 a"] },
  {
    what: "finds an id twice in messages that join",
    notation: "H Ua Ub< Ua< Ra Rb Ra A",
    found: ["duplicate_call_id dialect 3 a"],
  },
  {
    what: "finds a second result without an id in the round of the first one",
    notation: "H U?run R?run R?run A",
    found: ["duplicate_result C1 3 null"],
  },
  {
    what: "finds a second result without an id though an earlier call was answered last",
    notation: "H U?run H U?run R?run R?run R?run",
    found: ["duplicate_result C1 6 null", "misplaced_result C3 5 null", "missing_result C1 1 null"],
  },
  {
    what: "finds that a result without an id is none of another round",
    notation: "H U?run R?run A R?run",
    found: ["orphan_result C2 4 null"],
  },
  {
    what: "finds a second result in one message",
    notation: "H Ua Ra+Ra A",
    found: ["duplicate_result C1 2 a"],
  },
  {
    what: "finds a second result after an answer in the call's own message",
    notation: "A+Ua+Ra Ra",
    found: ["duplicate_result C1 1 a"],
  },
  {
    what: "finds a result behind a user message",
    notation: "Ua H Ra A",
    found: ["misplaced_result C3 2 a", "missing_result C1 0 a"],
  },
  {
    what: "finds a result behind another round",
    notation: "Ua Ub Rb Ra",
    found: ["misplaced_result C3 3 a", "missing_result C1 0 a"],
  },
  {
    what: "finds a promised result that comes late",
    notation: "Ua! H A Ra",
    found: ["misplaced_result C3 3 a", "missing_result C1 0 a"],
  },
  {
    what: "finds a system message between a call and its result",
    notation: "Ua S Ra",
    found: ["misplaced_result C3 2 a", "missing_result C1 0 a"],
  },
  {
    what: "finds an id twice in one message",
    notation: "Ua+Ua Ra Ra",
    found: ["duplicate_call_id dialect 0 a"],
  },
  {
    what: "finds a name twice in one message without ids",
    notation: "U?sum+U?sum+U?avg R?sum R?sum R?avg",
    found: ["duplicate_call_id dialect 0 null"],
  },
  {
    what: "finds an id twice in one message although the first call has its answer already",
    notation: "A+Ua+Ra+Ua Ra",
    found: ["duplicate_call_id dialect 0 a"],
  },
  {
    what: "finds an id twice in one message although the first call was answered twice",
    notation: "A+Ua+Ra+Ra+Ua Ra",
    found: ["duplicate_call_id dialect 0 a", "duplicate_result C1 0 a"],
  },
  {
    what: "finds both results that are late, not only the first one",
    notation: "Ua+Ub A Ra Rb",
    found: [
      "misplaced_result C3 2 a",
      "misplaced_result C3 3 b",
      "missing_result C1 0 a",
      "missing_result C1 0 b",
    ],
  },
  {
    what: "finds a result behind a user text that stands beside its sibling",
    notation: "H Ua+Ub Ra+H Rb A",
    found: ["misplaced_result C3 3 b", "missing_result C1 1 b"],
  },
  {
    what: "does not blame a result for the doubled one of its sibling",
    notation: "H Ua+Ub Ra Ra Rb A",
    found: ["duplicate_result C1 3 a"],
  },
  {
    what: "does not blame a result for an orphan in front of it",
    notation: "H Ua Rz Ra A",
    found: ["orphan_result C2 2 z"],
  },
])("checkTranscript() $what", ({ notation, found }) => {
  assert.deepEqual(check(notation), [...found].sort());
});

Deno.test("checkTranscript() gives violations in order of messages, with sentences that name the call", () => {
  const found = checkTranscript(parseTranscript(log("Rz U?sum A Ua H Ra")));
  assert.deepEqual(found.map(({ at }) => at), [0, 1, 3, 5]);
  assert.match(found[0]?.message ?? "", /result z /);
  assert.match(found[1]?.message ?? "", /call sum /);
  assert.match(found[2]?.message ?? "", /call a /);
});
