/**
 * Each property says by `runs()` (`tests/support/runs.ts`) how often it is tried, and from which seed: what draws a seed
 * of its own refuses, once in a while, a change that has nothing to do with it.
 */
const DRAWS = ["assert", "check", "sample", "statistics"];

function isRuns(node: Deno.lint.Node | undefined): boolean {
  return node?.type === "CallExpression" && node.callee.type === "Identifier" && node.callee.name === "runs";
}

const plugin: Deno.lint.Plugin = {
  name: "runs",
  rules: {
    "of-runs": {
      create(context) {
        return {
          ImportDeclaration(node) {
            if (node.source.value !== "fast-check") return;
            const names = node.specifiers.map(({ type, local }) => `${type} ${local.name}`);
            if (names.join() === "ImportDefaultSpecifier fc") return;
            context.report({ node, message: 'fast-check is imported as `import fc from "fast-check"`' });
          },
          MemberExpression(node) {
            const { object, property, parent } = node;
            if (object.type !== "Identifier" || object.name !== "fc" || property.type !== "Identifier") {
              return;
            }
            if (property.name === "configureGlobal") {
              context.report({
                node,
                message: "what fast-check is asked for is said by `runs()`, for no file alone",
              });
            }
            if (!DRAWS.includes(property.name)) return;
            if (parent.type === "CallExpression" && parent.callee === node && isRuns(parent.arguments[1])) {
              return;
            }
            context.report({
              node,
              message: `fc.${property.name}() takes \`runs(…)\` as its second argument`,
            });
          },
        };
      },
    },
  },
};

export default plugin;
