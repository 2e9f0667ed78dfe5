import { deepEqual, ok } from "node:assert/strict";
import { runDeno } from "../tools/_run.ts";

/** One module, as `deno info` tells of it. */
interface Module {
  readonly specifier: string;
  readonly dependencies?: readonly {
    readonly code?: { readonly specifier: string };
    readonly isDynamic?: boolean;
  }[];
}

/** What is loaded before a program does anything. */
async function loadedBy(program: URL): Promise<readonly string[]> {
  const { modules, redirects } = JSON.parse(await runDeno(["info", "--json", program.pathname])) as {
    readonly modules: readonly Module[];
    readonly redirects: Readonly<Record<string, string>>;
  };
  const known = new Map(modules.map((module) => [module.specifier, module]));
  const found = new Set([program.href]);
  for (const specifier of found) {
    for (const { code, isDynamic } of known.get(specifier)?.dependencies ?? []) {
      if (code !== undefined && isDynamic !== true) found.add(redirects[code.specifier] ?? code.specifier);
    }
  }
  return [...found];
}

// What few starts come to need at once, if at all.
const LATER =
  /^node:|opentelemetry|modelcontextprotocol|js-tiktoken|jose|\/web\/|\/openapi\/document|\/telemetry\/turn|\/(?:agui|chat|completions|transcripts)\.ts$/;

for (const program of ["main.ts", "src/mod.ts"]) {
  Deno.test(`a start of ${program} loads nothing that its first turn does not need`, async () => {
    const loaded = await loadedBy(new URL(`../${program}`, import.meta.url));
    ok(loaded.some((specifier) => specifier.endsWith("/src/http/app.ts")), `${loaded.length} modules`);
    deepEqual(loaded.filter((specifier) => LATER.test(specifier)), []);
  });
}
