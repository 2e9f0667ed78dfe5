/**
 * The test files of a folder in one isolate: to load what they share takes longer than most of them, and an isolate
 * for each file loads it again.
 *
 * @module
 */

/** Where the entries stand while the tests run. */
export const ENTRIES = ".suite";

/**
 * What wants an isolate of its own: snapshots are looked for beside the file that is run, what is loaded once is loaded
 * for all, work is measured on a heap of its own, and hooks hold for all of an entry.
 */
const ALONE = /\bassertSnapshot\(|\bisLoaded\(|\bprocessorMs\(|\bDeno\.test\.(?:before|after)(?:All|Each)\(/;

/** How test files are to be run. */
export interface Entries {
  /** Entries by their path: each imports the test files of a folder. */
  readonly texts: ReadonlyMap<string, string>;
  /** Test files that are run by themselves. */
  readonly alone: readonly string[];
}

/**
 * Plans entries for test files.
 *
 * @param files Texts by path, `tests/FOLDER/NAME_test.ts`; what is in no folder runs alone.
 */
export function planEntries(files: ReadonlyMap<string, string>): Entries {
  const alone: string[] = [];
  const texts = new Map<string, string>();
  for (const [file, text] of [...files].toSorted(([a], [b]) => a < b ? -1 : 1)) {
    const folder = file.match(/^tests\/(.+)\/[^/]+$/)?.[1];
    if (folder === undefined || ALONE.test(text)) {
      alone.push(file);
      continue;
    }
    const entry = `${ENTRIES}/${folder.replaceAll("/", "_")}_test.ts`;
    texts.set(entry, `${texts.get(entry) ?? ""}import "../${file}";\n`);
  }
  return { texts, alone };
}

/** Writes entries for test files, calls what runs them with what to name to `deno test`, and takes them away. */
export async function withEntries<Result>(
  files: readonly string[],
  run: (paths: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const texts = await Promise.all(files.map(async (file) => [file, await Deno.readTextFile(file)] as const));
  const entries = planEntries(new Map(texts));
  await Deno.mkdir(ENTRIES, { recursive: true });
  try {
    for (const [path, text] of entries.texts) await Deno.writeTextFile(path, text);
    return await run([...entries.texts.keys(), ...entries.alone]);
  } finally {
    await Deno.remove(ENTRIES, { recursive: true });
  }
}
