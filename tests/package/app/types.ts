/** What the declarations of the package say; it is compiled, not run. */
import { defineTool, runTurn } from "@selvage/selvage";
import { compactSteps } from "@selvage/selvage/ai-sdk";
import { type ClientTurn, createClient } from "@selvage/selvage/client";
import { compactTranscript, readTranscript, repairTranscript } from "@selvage/selvage/core";
import { type Auth, createApp } from "@selvage/selvage/http";
import { openaiChat } from "@selvage/selvage/models";
import { storeContract } from "@selvage/selvage/store-contract";

const turn: ClientTurn = createClient({ url: "http://127.0.0.1" }).turn({ session: "s1", input: "Hi" });
for await (const event of turn) {
  if (event.type === "text.delta") console.log(event.text.length satisfies number);
  // @ts-expect-error Such an event there is not: the types are not `any`.
  if (event.type === "no.such.event") console.log(event);
}
const { repairs } = repairTranscript(readTranscript([]));
console.log(repairs.length satisfies number);
export type { Auth };
export { compactSteps, compactTranscript, createApp, defineTool, openaiChat, runTurn, storeContract };
