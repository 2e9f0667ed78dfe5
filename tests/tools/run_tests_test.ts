/** How the runner of the tests counts. */
import { equal, match, throws } from "node:assert/strict";
import { joinReports } from "../../tools/run_tests.ts";

const report = (counts: string, suites: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="deno test" ${counts}>\n${suites}\n</testsuites>\n`;

Deno.test("joinReports() adds up what the reports count, and keeps every suite", () => {
  const joined = joinReports([
    report('tests="12" failures="1" errors="0" time="1.250"', '<testsuite name="a"/>'),
    report('tests="3" failures="0" errors="2" time="0.500"', '<testsuite name="b"/>\n<testsuite name="c"/>'),
  ]);
  match(joined, /<testsuites name="deno test" tests="15" failures="1" errors="2" time="1\.750">/);
  equal([...joined.matchAll(/<testsuite name="(.)"\/>/g)].map(([, name]) => name).join(), "a,b,c");
  equal(joined.match(/<\/testsuites>/g)?.length, 1);
  equal(joinReports([joined]), joined);
});

Deno.test("joinReports() takes no report that was cut off", () => {
  throws(() => joinReports([report('tests="1"', "").slice(0, 60)]), TypeError);
});
