/** `deno task bench NAME`: runs one benchmark by name; without one, what the service costs (`http`). */
const BENCHES: Readonly<Record<string, () => Promise<{ run(): Promise<void> }>>> = {
  core: () => import("./core.ts"),
  facts: () => import("./facts.ts"),
  http: () => import("./http.ts"),
  live: () => import("./live.ts"),
  loop: () => import("./http.ts"),
  selection: () => import("./selection.ts"),
  smoke: () => import("./http.ts"),
  stall: () => import("./stall.ts"),
  store: () => import("./store.ts"),
  streams: () => import("./streams.ts"),
  tokens: () => import("./tokens.ts"),
  validity: () => import("./validity.ts"),
};

const [name = "http"] = Deno.args;
const load = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
if (load === undefined) {
  console.error(
    `Cannot run the benchmark ${JSON.stringify(name)}: wanted one of ${Object.keys(BENCHES).join(", ")}`,
  );
  Deno.exit(2);
}
await (await load()).run();
