/**
 * Idempotency keys: the same request, sent twice, is done once.
 *
 * @module
 */
import { SelvageError } from "../core/errors.ts";
import { cancelled } from "../loop/turn_name.ts";
import type { Owner, Store } from "../ports.ts";

/** Milliseconds for which an idempotency key is known. */
export const KEY_KNOWN_MS = 24 * 3_600_000;

/** What an idempotency key may be made of. */
const KEY = /^[\x21-\x7e]{1,255}$/;

/** A client's key of a request, and the fingerprint of what it asked for. */
export interface IdempotencyKey {
  readonly key: string;
  readonly fingerprint: string;
}

/** What a key stands for. */
export interface KeyedTurn {
  readonly turn: string;
  readonly session: string;
  /** Number of the first event that the request led to; 0 for the whole turn. */
  readonly from?: number;
}

/** The client's key of a request; null where it has none. Throws `bad_request` for what is no key. */
export function keyOf({ headers }: Request): string | null {
  const key = headers.get("idempotency-key");
  if (key === null || KEY.test(key)) return key;
  throw new SelvageError(
    "bad_request",
    "Cannot use the header Idempotency-Key: wanted 1 to 255 visible ASCII characters",
    { fields: { field: "idempotency-key" } },
  );
}

/** The client's key of a request, with a fingerprint of what is asked for. */
export async function idempotencyOf(
  request: Request,
  text: string,
): Promise<{ readonly idempotency?: IdempotencyKey }> {
  const key = keyOf(request);
  if (key === null) return {};
  // Not parsed: a broken Host makes a URL that cannot be.
  const path = /^[a-z]+:\/\/[^/?#]*([^?#]*)/i.exec(request.url)?.[1] ?? "";
  const asked = new TextEncoder().encode(`${path}\n${text}`);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", asked));
  return { idempotency: { key, fingerprint: digest.toHex() } };
}

/** Headers that say whether a response tells again what an earlier request has led to. */
export function replayHeaders(isReplay: boolean): Readonly<Record<string, string>> {
  return isReplay ? { "idempotency-replayed": "true" } : {};
}

/** What a key is claimed for under which nothing is to begin. */
const NOTHING = { fingerprint: "", turn: "", session: "" } as const;

function claimName(key: string, attempt: number): string {
  return `key/${key}${attempt === 0 ? "" : ` ${attempt}`}`;
}

/** A key of an owner; `attempt` counts the times that it has come to nothing. */
export interface OwnedKey {
  readonly owner: Owner;
  readonly key: string;
  readonly attempt: number;
}

/** What a key is claimed for; null where that is nothing, undefined where nobody has claimed it. */
export async function keyedTurn(
  store: Pick<Store, "claim">,
  { owner, key, attempt }: OwnedKey,
): Promise<KeyedTurn | null | undefined> {
  const claimed = await store.claim(owner, claimName(key, attempt)) as KeyedTurn | undefined;
  return claimed?.turn === NOTHING.turn ? null : claimed;
}

/**
 * Claims a key for nothing, so that no request begins anything under it any more.
 *
 * @returns What somebody else has claimed it for before, null where that is nothing; `isNew` where nobody had.
 */
export async function voidKey(
  store: Pick<Store, "claim">,
  { owner, key, attempt }: OwnedKey,
): Promise<{ readonly named: KeyedTurn | null; readonly isNew: boolean }> {
  const by = crypto.randomUUID();
  const value = { ...NOTHING, by };
  const claimed = await store.claim(owner, claimName(key, attempt), { value, ttlMs: KEY_KNOWN_MS }) as
    & KeyedTurn
    & { readonly by?: string };
  return { named: claimed.turn === NOTHING.turn ? null : claimed, isNew: claimed.by === by };
}

/**
 * What a key stands for: what whoever came first has claimed it for. Without a value it is only looked up.
 *
 * @param store Where keys are claimed.
 * @param claim The owner and the key; `attempt` counts the times that it has come to nothing.
 * @returns Undefined where nobody has claimed it, and nothing was to be claimed.
 * @throws SelvageError `idempotency_key_reused` where it was used for another request, `turn_aborted` where that was
 *   cancelled before it came.
 */
export async function claimKey<Value extends KeyedTurn | undefined>(
  store: Store,
  { owner, idempotency: { key, fingerprint }, attempt = 0, value }: {
    readonly owner: Owner;
    readonly idempotency: IdempotencyKey;
    readonly attempt?: number;
    readonly value: Value;
  },
): Promise<KeyedTurn | Extract<Value, undefined>> {
  const name = claimName(key, attempt);
  const claim = value === undefined ? undefined : { value: { fingerprint, ...value }, ttlMs: KEY_KNOWN_MS };
  const claimed = await store.claim(owner, name, claim) as
    | KeyedTurn & { readonly fingerprint: string }
    | Extract<Value, undefined>;
  if (claimed === undefined || claimed.fingerprint === fingerprint) return claimed;
  if (claimed.turn === NOTHING.turn) throw cancelled();
  throw new SelvageError(
    "idempotency_key_reused",
    `Cannot use the idempotency key ${
      JSON.stringify(key.slice(0, 80))
    }: found it used for another request, ` +
      "wanted a new key, or the same request",
  );
}
