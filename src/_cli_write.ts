/**
 * Replacing a file: in one step, with a backup, and never what somebody else has written meanwhile.
 *
 * @module
 */
import { createWriteStream } from "node:fs";
import { chmod, constants, copyFile, open, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { explainFault } from "./_cli_source.ts";
import { SelvageError } from "./core/errors.ts";
import { inBlocks } from "./files/text.ts";

/** When and in which size a file was last written. */
export interface Seen {
  readonly size: number;
  readonly mtimeMs: number;
}

/**
 * Looks at a file before it is read, so that {@link replaceFile} can tell whether somebody else has written it; null
 * where it cannot be looked at, as a read will tell.
 */
export async function lookAt(file: string): Promise<Seen | null> {
  try {
    const { size, mtimeMs } = await stat(file);
    return { size, mtimeMs };
  } catch (error) {
    if (explainFault(error, file) === null) throw error;
    return null;
  }
}

/** Copies a file to the first of FILE.bak, FILE.bak.1, FILE.bak.2 … that is free. */
async function backUp(file: string): Promise<string> {
  for (let n = 0;; n++) {
    const backup = n === 0 ? `${file}.bak` : `${file}.bak.${n}`;
    try {
      await copyFile(file, backup, constants.COPYFILE_EXCL);
      return backup;
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "EEXIST") throw error;
    }
  }
}

/**
 * Replaces a file in one step: whoever reads it sees the old text or the new one. A backup is made first; where the
 * file stays as it was, none is left behind.
 *
 * @param file The path; where it is a link, the file behind it is replaced.
 * @param chunks The new text.
 * @param seen What {@link lookAt} found.
 * @returns The path of the backup.
 * @throws SelvageError `changed_meanwhile`, `hard_linked`, `unwritable`.
 */
export async function replaceFile(file: string, chunks: Iterable<string>, seen: Seen): Promise<string> {
  try {
    return await replace(file, chunks, seen);
  } catch (error) {
    const fault = explainFault(error, file);
    if (fault === null) throw error;
    throw new SelvageError("unwritable", `Cannot write ${file}: ${fault}`, { cause: error });
  }
}

async function replace(file: string, chunks: Iterable<string>, seen: Seen): Promise<string> {
  const target = await realpath(file);
  const { mode, nlink } = await stat(target);
  if (nlink > 1) {
    throw new SelvageError(
      "hard_linked",
      `Cannot write ${file}: found ${nlink} names for this file (hard links), of which only one would change; ` +
        "copy it first, or run without --write",
    );
  }
  const temporary = join(dirname(target), `.selvage-${process.pid}-${crypto.randomUUID().slice(0, 8)}.tmp`);
  const backup = await backUp(file);
  try {
    await pipeline(Readable.from(inBlocks(chunks)), createWriteStream(temporary, { flags: "wx" }));
    const handle = await open(temporary, "r+");
    await handle.sync().finally(() => handle.close());
    // The mask of the process has its say when a file is made.
    await chmod(temporary, mode & 0o777);
    const now = await stat(target);
    if (now.size !== seen.size || now.mtimeMs !== seen.mtimeMs) {
      throw new SelvageError(
        "changed_meanwhile",
        `Cannot write ${file}: somebody else has written it since it was read; run the command again`,
      );
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    await rm(backup, { force: true });
    throw error;
  }
  return backup;
}
