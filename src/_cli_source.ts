/**
 * The text of files on a disk, and what errors of the file system mean.
 *
 * @module
 */
import { createReadStream } from "node:fs";
import { isAbsolute } from "node:path";
import process from "node:process";
import { cannotRead, decodeText } from "./files/text.ts";

/** What errors of the file system mean; null where an error is no such one. */
export function explainFault(error: unknown, file: string): string | null {
  const { code } = error as { readonly code?: unknown };
  switch (code) {
    case "ENOENT":
      return isAbsolute(file) ? "there is no such file" : `there is no such file in ${process.cwd()}`;
    case "EISDIR":
      return "it is a folder, wanted a file";
    case "EACCES":
    case "EPERM":
      return "the system does not allow it";
    case "ENOTDIR":
      return "a part of its path is no folder";
    case "ENOSPC":
      return "there is no room left";
    case "EROFS":
      return "its file system takes no writes";
    default:
      return null;
  }
}

/** The text of a file, or of the standard input for `-`, part by part. */
export async function* readText(file: string, stdin: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const chunks: AsyncIterable<Uint8Array> = file === "-" ? stdin : createReadStream(file);
  try {
    yield* decodeText(file, chunks);
  } catch (error) {
    const fault = explainFault(error, file);
    if (fault !== null) throw cannotRead(file, fault);
    throw error;
  }
}
