/** The typed client, at the service whose address is the argument. */
import { equal } from "node:assert/strict";
import { createClient } from "@selvage/selvage/client";

const client = createClient({ url: process.argv[2] });
const turn = client.turn({ session: "s1", input: "Hi" });
let text = "";
for await (const event of turn) if (event.type === "text.delta") text += event.text;
equal(text, "Hello.");
equal((await turn.result()).reason, "stop");
