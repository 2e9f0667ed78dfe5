/** Mends and compacts a transcript, and counts its tokens. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { checkMessages, compactTranscript, readTranscript, repairTranscript } from "@selvage/selvage/core";

const call = (id) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "read", arguments: '{"path":"a.ts"}' } }],
});
const result = (id) => ({ role: "tool", tool_call_id: id, content: "const line = 0;\n".repeat(200) });

// A result without a call is what a provider answers with 400.
const broken = readTranscript([{ role: "user", content: "Go." }, result("c0"), call("c1"), result("c1")]);
deepEqual(checkMessages(broken).map(({ code }) => code), ["orphan_result"]);
const mended = repairTranscript(broken);
deepEqual(checkMessages(readTranscript(mended.messages)), []);

const ids = Array.from({ length: 30 }, (_, n) => `c${n}`);
const long = [{ role: "user", content: "Go." }, ...ids.flatMap((id) => [call(id), result(id)])];
const { outcome, messages } = compactTranscript(readTranscript(long), { budget: 6_000 });
equal(outcome, "applied");
ok(messages.length < long.length);
deepEqual(checkMessages(readTranscript(messages)), []);
