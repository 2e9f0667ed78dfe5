/**
 * What tools of MCP servers are called: by their own name where it fits providers and nobody else has it, else with
 * that of their server in front.
 *
 * @module
 */
import { shortHash } from "../compaction/digest.ts";
import { TOOL_NAME } from "../compaction/render.ts";

/** Characters of a name. */
const MAX_NAME = 64;

/**
 * Names the tools of several servers.
 *
 * @param servers The names of the tools of each server.
 * @param taken Names that others have.
 * @returns For each server the name of each of its tools, in order.
 */
export function mcpNames(
  servers: readonly { readonly server: string; readonly tools: readonly string[] }[],
  taken: readonly string[],
): readonly (readonly string[])[] {
  const all = [...taken, ...servers.flatMap(({ tools }) => tools)];
  const times = new Map<string, number>();
  for (const name of all) times.set(name, (times.get(name) ?? 0) + 1);
  const isPlain = (name: string): boolean => TOOL_NAME.test(name) && times.get(name) === 1;
  // Who has a name by itself keeps it, whatever others are called with their server in front.
  const used = new Set(all.filter(isPlain).concat(taken));
  return servers.map(({ server, tools }) =>
    tools.map((name, at) => {
      if (isPlain(name)) return name;
      const made = `${server}_${name}`.replaceAll(/[^A-Za-z0-9_-]/g, "_");
      let own = made.length <= MAX_NAME && !used.has(made) ? made : null;
      for (let n = 0; own === null || used.has(own); n++) {
        const hash = shortHash(`${server} ${name} ${at} ${n}`);
        own = `${made.slice(0, MAX_NAME - 1 - hash.length)}_${hash}`;
      }
      used.add(own);
      return own;
    })
  );
}
