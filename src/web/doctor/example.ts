/**
 * A transcript to try the doctor with: what agents leave behind when somebody cuts their history by counting
 * messages.
 *
 * @module
 */

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

const call = ({ id, name, input }: Call): unknown => ({ type: "tool_use", id, name, input });
const result = (id: string, content: string): unknown => ({ type: "tool_result", tool_use_id: id, content });
const asks = (text: string, ...calls: readonly Call[]): unknown => ({
  role: "assistant",
  content: [{ type: "text", text }, ...calls.map(call)],
});
const answers = (...content: readonly unknown[]): unknown => ({ role: "user", content });

const LOG = Array.from(
  { length: 60 },
  (_, line) =>
    `12:${String(line).padStart(2, "0")} worker ${line % 4}: batch ${line} done, ${line * 37} rows`,
).join("\n");

/** The example, as the text of a file. */
export const BROKEN_EXAMPLE: string = JSON.stringify(
  {
    messages: [
      { role: "user", content: "Why did last night's import stop? Look at the log, then fix it." },
      asks("I will look at the log.", { id: "c1", name: "read_log", input: { file: "import.log" } }),
      answers(result("c1", LOG)),
      asks(
        "Two files may be to blame.",
        { id: "c2", name: "read_file", input: { path: "src/import.ts" } },
        { id: "c3", name: "read_file", input: { path: "src/rows.ts" } },
      ),
      answers(result("c2", `export function importRows() {\n${"  // reads a batch\n".repeat(80)}}`)),
      asks("The second file was never read. I try the tests.", {
        id: "c4",
        name: "run_tests",
        input: { only: "import" },
      }),
      answers(
        result("c4", "1 failed: import stops at row 2183\n" + LOG),
        result("c9", "a result of a call that is gone"),
      ),
      asks("Row 2183 has no date. I skip such rows.", {
        id: "c5",
        name: "write_file",
        input: { path: "src/rows.ts", text: "export const hasDate = (row) => row.date !== null;\n" },
      }),
      answers({ type: "text", text: "Please be quick." }, result("c5", "written")),
      asks("Once more, the tests.", { id: "c6", name: "run_tests", input: { only: "import" } }),
      answers(result("c6", "12 passed"), result("c6", "12 passed")),
      { role: "assistant", content: "It is fixed: rows without a date are skipped." },
    ],
  },
  null,
  2,
);
