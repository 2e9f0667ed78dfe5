/** `deno bench`: parse and select, next to the theory's reference on the same log. */
import { selectOurs, selectTheirs, worstCase } from "./core.ts";

const small = worstCase(20_000);
Deno.bench({
  name: "the core",
  group: "one open call, 20,000 records",
  baseline: true,
  fn: () => selectOurs(small.ours),
});
Deno.bench({
  name: "the theory's reference",
  group: "one open call, 20,000 records",
  n: 1,
  warmup: 0,
  fn: () => selectTheirs(small.theirs),
});

const sizes = { "100,000 records": worstCase(100_000).ours, "1,000,000 records": worstCase(1_000_000).ours };
for (const [name, records] of Object.entries(sizes)) {
  Deno.bench({ name, group: "size", baseline: name === "100,000 records", fn: () => selectOurs(records) });
}
