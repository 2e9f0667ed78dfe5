/** A file is one idea: one of over 300 lines says in its first comment why it is longer. */
const MOST = 300;
const REASON = /^(?:\/\/.*\n)*\/\*\*(?:(?!\*\/)[^])*Over 300 lines[:,]/;

const plugin: Deno.lint.Plugin = {
  name: "length",
  rules: {
    "says-why": {
      create(context) {
        return {
          Program(node) {
            const { text } = context.sourceCode;
            const lines = text.trimEnd().split("\n").length;
            if (lines <= MOST || REASON.test(text)) return;
            context.report({
              node,
              message: `${lines} lines, and no "Over ${MOST} lines: …" in the first comment that says why`,
            });
          },
        };
      },
    },
  },
};

export default plugin;
