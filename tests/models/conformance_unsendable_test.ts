/** What every dialect makes of texts and files that no request can hold. */
import assert from "node:assert/strict";
import type { Message } from "../../src/core/message.ts";
import type { ModelRequest } from "../../src/ports.ts";
import { request } from "./_answers.ts";
import { PNG } from "./_messages.ts";
import { callsOf, conform, finishOf, run, schemas } from "./_conformance.ts";

conform((dialect, test) => {
  test("sends text that was cut in the middle of a character, wherever it stands", async () => {
    await using double = dialect.start({
      script: ({ messages }) =>
        messages.length > 2 ? { text: "done" } : { calls: [{ name: "tool_0", input: { q: 1 } }] },
    });
    const settings = { baseURL: double.url };
    const half = "good \ud83d";
    const [first, ...others] = schemas;
    assert.ok(first !== undefined);
    const properties = { [half]: { type: "string", description: half } };
    const tools = [
      { ...first, description: half, inputSchema: { type: "object", properties } },
      ...others,
    ];
    const asked: ModelRequest = {
      ...request,
      system: half,
      tools,
      messages: [{ role: "user", content: half }],
    };
    const finish = finishOf(await run(dialect, settings, { asked }));
    const [call] = callsOf(finish);
    assert.ok(call !== undefined);
    const { toolCallId, toolName } = call;
    // What is signed stays what it is.
    const input = call.providerOptions === undefined ? { [half]: half } : call.input;
    const outputs = [
      { type: "text", value: half },
      { type: "json", value: { [half]: [half, String.raw`no half: \ud83d`] } },
      { type: "error-json", value: { half } },
      { type: "content", value: [{ type: "text", text: half }] },
    ] as const;
    for (const output of outputs) {
      const messages: Message[] = [
        ...asked.messages,
        { role: "assistant", content: [{ type: "text", text: half }, { ...call, input }] },
        { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] },
      ];
      finishOf(await run(dialect, settings, { asked: { ...asked, messages } }));
    }
    assert.deepEqual(double.violations, []);
    const [sent] = double.requests;
    assert.ok(JSON.stringify(sent).includes("good \ufffd"));
    // What only looks like one is text.
    const quoted = JSON.stringify(double.requests[2]);
    assert.ok(quoted.includes(String.raw`no half: `) && quoted.includes("ud83d"));
  });

  test("tells of files that are none, and sends what is base64 in another form", async () => {
    await using double = dialect.start({
      script: ({ messages }) =>
        messages.length > 2 ? { text: "done" } : { calls: [{ name: "tool_0", input: {} }] },
    });
    const settings = { baseURL: double.url };
    const image = { type: "file", mediaType: "image/png" } as const;
    const none = ["", "!!!", "data:image/png,no%20base64", "https://", "A"].map((data) => ({
      ...image,
      data,
    }));
    const broken = PNG.replace(/.{20}/g, "$&\n");
    const other = PNG.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    const fine = [broken, other, `data:image/png;base64,${other}`].map((data) => ({ ...image, data }));
    const pdf = { type: "file", mediaType: "application/pdf", filename: "a.pdf" } as const;
    const content = [...none, ...fine, { ...pdf, data: "" }, { ...pdf, data: "JVBERi0xLjQ" }] as const;
    const asked: ModelRequest = { ...request, tools: schemas, messages: [{ role: "user", content }] };
    const finish = finishOf(await run(dialect, settings, { asked }));
    assert.equal(JSON.stringify(double.requests[0]).split(PNG).length - 1, fine.length);
    const [call] = callsOf(finish);
    assert.ok(call !== undefined);
    const { toolCallId, toolName } = call;
    for (const value of [content, none, [{ ...image, data: broken }]]) {
      const result = {
        type: "tool-result",
        toolCallId,
        toolName,
        output: { type: "content", value },
      } as const;
      const messages: Message[] = [...asked.messages, finish.message, { role: "tool", content: [result] }];
      finishOf(await run(dialect, settings, { asked: { ...asked, messages } }));
    }
    assert.deepEqual(double.violations, []);
  });
});
