/**
 * Imports go one way. A file may import from its own layer's folder or from a lower layer, never from a
 * higher one and never from a sibling folder of the same rank: adapters do not see each other. The client imports
 * types from anywhere below, and two files that import nothing themselves, the machine's clock and the rules of options,
 * but nothing else from outside its folder: it is bundled without the service.
 */
const RANK: Record<string, number> = {
  core: 0,
  version: 0,
  formats: 1,
  tokens: 1,
  ports: 1,
  telemetry: 1,
  compaction: 2,
  files: 2,
  loop: 3,
  models: 4,
  tools: 4,
  store: 4,
  client: 4,
  web: 5,
  ai_sdk: 5,
  http: 6,
  mod: 7,
  cli: 7,
  transcripts: 7,
};

/** What the client may import beside types. */
const OF_CLIENT = /^(?:\.\/[a-z_]+|\.\.\/loop\/clock|\.\.\/core\/options)\.ts$/;

function layerOf(path: string): string | undefined {
  // The helpers of the command are part of it.
  return path.match(/\/src\/([a-z_]+)(?:\/|\.ts$)/)?.[1]?.replace(/^_cli_.*/, "cli");
}

const plugin: Deno.lint.Plugin = {
  name: "layers",
  rules: {
    "one-way": {
      create(context) {
        const from = layerOf(context.filename.replaceAll("\\", "/"));
        function check(node: Deno.lint.Node, source: unknown, kind: "type" | "value" = "value"): void {
          if (from === undefined || typeof source !== "string") return;
          if (from === "client" && kind === "value" && !OF_CLIENT.test(source)) {
            context.report({
              node,
              message:
                `client imports nothing but types, the clock and the rules of options from outside, found "${source}"`,
            });
          }
          if (!source.startsWith(".")) {
            if (from === "core") {
              context.report({ node, message: `core imports nothing from outside, found "${source}"` });
            }
            return;
          }
          const base = `file://${context.filename.replaceAll("\\", "/")}`;
          const to = layerOf(new URL(source, base).pathname);
          if (to === undefined || to === from) return;
          const low = RANK[to] ?? 99;
          const high = RANK[from] ?? 99;
          // `ports` is shared vocabulary of the lowest tier: its rank-1 neighbours may not import it, all above may.
          if (low < high) return;
          context.report({ node, message: `"${from}" may not import "${to}": imports go one way` });
        }
        return {
          ImportDeclaration(node) {
            check(node, node.source.value, node.importKind);
          },
          ImportExpression(node) {
            if (node.source.type === "Literal") check(node, node.source.value);
          },
          ExportNamedDeclaration(node) {
            if (node.source) check(node, node.source.value, node.exportKind);
          },
          ExportAllDeclaration(node) {
            check(node, node.source.value, node.exportKind);
          },
        };
      },
    },
  },
};

export default plugin;
