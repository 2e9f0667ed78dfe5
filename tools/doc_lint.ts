/**
 * `deno doc --lint` over all entry points together, so that a type that one of them exports counts as public
 * for the others. One reference is allowed to a type of another package: `createApp()` gives a Hono app, and
 * only Hono's own class can be mounted in another Hono app. And what can be called has an example, which
 * `deno test --doc` runs.
 */
import config from "../deno.json" with { type: "json" };

const entries = Object.values(config.exports);

/** Runs `deno doc`. */
async function doc(
  ...args: readonly string[]
): Promise<{ success: boolean; stdout: string; stderr: string }> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", ...args],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  return { success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

const [{ success, stdout, stderr }, json] = await Promise.all([
  doc("--lint", ...entries),
  doc("--json", ...entries),
]);
const text = stdout + stderr;
const errors = text.split(/^(?=error\[)/m).filter((part) => part.startsWith("error["));
const left = errors.filter((error) => !/public type 'App' references private type 'Hono'/.test(error));
// Without a single known error a failure means that the linter itself did not run.
if (left.length > 0 || (!success && errors.length === 0)) {
  console.error(left.length > 0 ? left.join("") : text);
  Deno.exit(1);
}

interface Declaration {
  readonly kind: string;
  readonly jsDoc?: { readonly tags?: readonly { readonly kind: string }[] };
}
interface Nodes {
  readonly nodes: Readonly<
    Record<
      string,
      {
        readonly symbols: readonly { readonly name: string; readonly declarations: readonly Declaration[] }[];
      }
    >
  >;
}
const { nodes }: Nodes = JSON.parse(json.stdout);
const bare = Object.values(nodes).flatMap(({ symbols }) => symbols).filter(({ declarations }) =>
  declarations.some(({ kind }) => kind === "function" || kind === "class") &&
  !declarations.some(({ jsDoc }) => jsDoc?.tags?.some(({ kind }) => kind === "example"))
);
if (bare.length > 0) {
  const names = [...new Set(bare.map(({ name }) => name))].join(", ");
  console.error(`Cannot take the docs: found exports without an @example: ${names}`);
  Deno.exit(1);
}
