/**
 * Databases for tests of the store in Deno KV: on a file that goes away, looked at from beside the store, counted,
 * and cut off.
 *
 * @module
 */
import type { Store } from "../../src/ports.ts";
import { kvStore } from "../../src/store/kv.ts";
import { ManualClock } from "../support/clock.ts";

/** The start of the keys of the tests' session. */
export const PREFIX: Deno.KvKey = ["selvage", "acme", "ada", "s1"];

/** A database file that is gone at the end of the block. */
export function tempFile(): Disposable & { readonly path: string } {
  const dir = Deno.makeTempDirSync();
  return { path: `${dir}/kv.sqlite`, [Symbol.dispose]: () => Deno.removeSync(dir, { recursive: true }) };
}

/** All records of the tests' session, or below a prefix, as the database has them. */
export async function dump(kv: Deno.Kv, prefix: Deno.KvKey = PREFIX): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for await (const { key, value } of kv.list({ prefix })) found.set(JSON.stringify(key.slice(4)), value);
  return found;
}

/** A file, two stores on it, a bare view of the database. */
export interface SharedFile {
  readonly path: string;
  readonly one: Store;
  readonly two: Store;
  readonly kv: Deno.Kv;
  readonly clock: ManualClock;
}

/** Runs a test on a file with two stores and a bare view of the database. */
export async function withFile(run: (at: SharedFile) => Promise<void>): Promise<void> {
  using file = tempFile();
  const { path } = file;
  const clock = new ManualClock();
  const [one, two] = [await kvStore({ path, clock }), await kvStore({ path, clock })];
  const kv = await Deno.openKv(path);
  try {
    await run({ path, one, two, kv, clock });
  } finally {
    one.close();
    two.close();
    kv.close();
  }
}

/** What one atomic operation was asked to do. */
export interface AtomicSizes {
  /** Records that it sets or deletes. */
  readonly records: number;
  /** Bytes of its values. */
  readonly bytes: number;
  /** Bytes of its keys, about. */
  readonly keyBytes: number;
  /** Bytes of the largest value. */
  readonly largest: number;
}

/** Operations that can be stepped in on. */
export type Interruptible = "atomic" | "list" | "getMany";

/** A watch on the databases that are opened meanwhile. */
export interface KvSpy {
  /** Every atomic operation that was made. */
  readonly atomics: readonly AtomicSizes[];
  /** Lets `count` more atomic operations through; after that the process is as good as dead. */
  dieAfter(count: number): void;
  /** Does something once just before the next operation of a kind: what was read before is old by then. */
  interrupt(at: Interruptible, run: () => Promise<unknown>): void;
}

function sizeOf(value: unknown): number {
  return value instanceof Uint8Array ? value.length : 16 + 2 * JSON.stringify(value).length;
}

/** Runs a test while all databases that it opens are watched. */
export async function withKvSpy(run: (spy: KvSpy) => Promise<void>): Promise<void> {
  const atomics: AtomicSizes[] = [];
  let left = Infinity;
  const interruptions = new Map<Interruptible, () => Promise<unknown>>();
  async function interrupted(at: Interruptible): Promise<void> {
    const run = interruptions.get(at);
    interruptions.delete(at);
    await run?.();
  }
  function watch(operation: Deno.AtomicOperation): Deno.AtomicOperation {
    const { set, delete: remove, commit } = operation;
    const sizes: number[] = [];
    let keyBytes = 0;
    operation.set = (key, value, options) => {
      sizes.push(sizeOf(value));
      keyBytes += sizeOf(key) / 2;
      return set.call(operation, key, value, options);
    };
    operation.delete = (key) => {
      sizes.push(0);
      keyBytes += sizeOf(key) / 2;
      return remove.call(operation, key);
    };
    operation.commit = async () => {
      if (left <= 0) throw new Error("The process was killed");
      left--;
      await interrupted("atomic");
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      atomics.push({ records: sizes.length, bytes, keyBytes, largest: Math.max(0, ...sizes) });
      return await commit.call(operation);
    };
    return operation;
  }
  const { openKv } = Deno;
  const watched: typeof openKv = async (path) => {
    const kv = await openKv.call(Deno, path);
    const atomic = kv.atomic.bind(kv);
    kv.atomic = () => watch(atomic());
    const getMany = kv.getMany.bind(kv);
    kv.getMany = async (keys, options) => {
      await interrupted("getMany");
      return await getMany(keys, options);
    };
    const list = kv.list.bind(kv);
    // Of an iterator only `next` is used to loop over it.
    kv.list = <T>(selector: Deno.KvListSelector, options?: Deno.KvListOptions) => {
      const found = list<T>(selector, options);
      const next = found.next.bind(found);
      let isFirst = true;
      found.next = async () => {
        if (isFirst) await interrupted("list");
        isFirst = false;
        return await next();
      };
      return found;
    };
    return kv;
  };
  const original = Object.getOwnPropertyDescriptor(Deno, "openKv") ?? {};
  Object.defineProperty(Deno, "openKv", { value: watched, configurable: true });
  try {
    await run({
      atomics,
      dieAfter: (count) => void (left = count),
      interrupt: (at, interrupting) => void interruptions.set(at, interrupting),
    });
  } finally {
    Object.defineProperty(Deno, "openKv", original);
  }
}
