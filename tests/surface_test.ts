import { equal } from "node:assert/strict";
import { readSurface, SURFACE } from "../tools/surface.ts";

Deno.test("what the package exports is what its report says", async () => {
  const found = await readSurface();
  const known = await Deno.readTextFile(SURFACE);
  // Said first: a whole report as the difference of two strings helps nobody.
  const lines = new Set(known.split("\n"));
  const news = found.split("\n").filter((line) => !lines.has(line));
  equal(news.join("\n"), "", "found names or signatures that the report does not have: `deno task surface`");
  equal(found, known, "found a report of another surface: `deno task surface`");
});
