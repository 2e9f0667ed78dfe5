/** What README tells of us in its table: the others want their packages, and `deno task bench validity` runs them. */
import { equal, ok } from "node:assert/strict";
import { loadCounter } from "../../src/tokens/counter.ts";
import { remember } from "./_corpus.ts";
import { ownWay } from "./_ways.ts";
import { generated, judgeAll } from "./validity.ts";

const cellsOf = (line: string): readonly string[] => line.split("|").map((cell) => cell.trim());

Deno.test("README shows of Selvage what bench validity prints", async () => {
  const counter = await loadCounter("o200k_base");
  const { measure } = remember((text) => counter.count(text));
  const { table } = await judgeAll([ownWay(measure)], generated(), { measure });
  const [head = "", , own = ""] = table.split("\n").map((line) => cellsOf(line).join("|"));
  const readme = (await Deno.readTextFile("README.md")).split("\n").map((line) => cellsOf(line).join("|"));
  ok(readme.includes(head), head);
  equal(readme.find((line) => line.startsWith("|Selvage|")), own);
});
