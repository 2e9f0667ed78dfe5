/**
 * Values cut to the size that a key-value store takes: inline while they are small, else in chunks that a small
 * record names; and records packed into batches that one atomic operation can hold.
 *
 * @module
 */
import { type Key, keyBytes } from "./_key.ts";

/** Bytes of a value that are stored under one key. Deno KV takes 65,536. */
export const INLINE_BYTES = 60 * 1024;

/** Bytes of the values of one batch. Deno KV takes 819,200 in an atomic, keys and the head beside it included. */
const BATCH_BYTES = 600 * 1024;

/** Bytes of the keys of one batch. Deno KV takes 81,920. */
const BATCH_KEY_BYTES = 72 * 1024;

/** Records of one batch. Deno KV takes 1,000. */
const BATCH_RECORDS = 900;

/** Stands for a value that is kept in chunks. */
export interface ChunkedValue {
  /** Id of the group of chunks. */
  readonly chunks: string;
  /** Number of chunks. */
  readonly n: number;
  /** Length of the whole. */
  readonly bytes: number;
}

/** One key with its value. */
export interface StoredRecord {
  readonly key: Key;
  readonly value: Uint8Array | ChunkedValue;
  /** Milliseconds after which the store may forget it; for ever where there is none. */
  readonly expireIn?: number;
}

/** Says whether a stored value is a reference to chunks. */
export function isChunked(value: unknown): value is ChunkedValue {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array) && "chunks" in value;
}

/**
 * Makes the id of a group of chunks: ids sort by the time they were made, so that a sweep can leave young groups.
 *
 * @param now Milliseconds since the epoch.
 */
export function chunkGroupId(now: number): string {
  return `${chunkGroupTime(now)}-${crypto.randomUUID()}`;
}

/** The start of the ids of all groups made at `now`, in milliseconds since the epoch. */
export function chunkGroupTime(now: number): string {
  return String(Math.max(0, Math.floor(now))).padStart(15, "0");
}

/**
 * Makes the records of one value, chunks first.
 *
 * @param key Where the value, or the record that names its chunks, lives.
 * @param bytes The value.
 * @param options `now`: milliseconds since the epoch, for the id of a group; `chunkKey`: the key that all chunks start
 *   with; `expireIn`: as in the records.
 */
export function recordsOf(
  key: Key,
  bytes: Uint8Array,
  { now, chunkKey, ...rest }: {
    readonly now: number;
    readonly chunkKey: Key;
    readonly expireIn?: number;
  },
): StoredRecord[] {
  if (bytes.length <= INLINE_BYTES) return [{ key, value: bytes, ...rest }];
  const records: StoredRecord[] = [];
  const group = chunkGroupId(now);
  const n = Math.ceil(bytes.length / INLINE_BYTES);
  for (let i = 0; i < n; i++) {
    records.push({
      key: [...chunkKey, group, i],
      value: bytes.slice(i * INLINE_BYTES, (i + 1) * INLINE_BYTES),
      ...rest,
    });
  }
  records.push({ key, value: { chunks: group, n, bytes: bytes.length }, ...rest });
  return records;
}

/** Packs records, in their order, into batches of what one atomic operation takes; the last may be empty. */
export function packRecords(records: readonly StoredRecord[]): StoredRecord[][] {
  let batch: StoredRecord[] = [];
  const batches = [batch];
  let bytes = 0;
  let keys = 0;
  for (const record of records) {
    const size = record.value instanceof Uint8Array ? record.value.length : 128;
    const keySize = keyBytes(record.key);
    const isFull = bytes + size > BATCH_BYTES || keys + keySize > BATCH_KEY_BYTES ||
      batch.length === BATCH_RECORDS;
    if (isFull) {
      batches.push(batch = []);
      bytes = keys = 0;
    }
    batch.push(record);
    bytes += size;
    keys += keySize;
  }
  return batches;
}
