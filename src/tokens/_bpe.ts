/** Byte-level BPE over typed arrays: exact, and O(n log n) for any bytes. Private to this folder. */

const SLOTS = 2 ** 19; // more than twice the largest vocabulary, so that probes stay short
const POSITION = 2 ** 26; // a key is rank * POSITION + position: exact in a double, equal ranks go leftmost first
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Operations so far: tests hold the merge to being linear by these, as times would be flaky. */
export const work = { lookups: 0, updates: 0 };

/** The tokens of an encoding. */
export type Vocabulary = ReturnType<typeof readVocabulary>;

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x9e3779b1);
  return hash ^ hash >>> 15;
}

/** Reads rank data: `! 0`, then all tokens in rank order, each in padded base64 after a space. */
export function readVocabulary(data: string) {
  if (!data.startsWith("! 0 ") || data.includes("!", 1)) {
    throw new TypeError(`Read rank data: found "${data.slice(0, 8)}", wanted one row that starts "! 0 "`);
  }
  const sextets = new Uint8Array(128);
  for (let i = 0; i < 64; i++) sextets[BASE64.charCodeAt(i)] = i;
  const text = new TextEncoder().encode(data);
  const blob = new Uint8Array(text.length * 3 / 4); // the bytes of all tokens
  const ends = new Int32Array(SLOTS / 2); // token r is blob[ends[r]] up to blob[ends[r + 1]]
  const slots = new Int32Array(SLOTS); // open addressing: the low 18 bits are rank + 1, the others the hash's
  const pairs = new Int32Array(65536); // rank + 1 of the two-byte tokens, by their bytes: most first look-ups
  let size = 0, tokens = 0;
  for (let i = 4; i < text.length; i++) {
    const start = size;
    for (; i < text.length && text[i] !== 32; i += 4) {
      const high = sextets[text[i]!]! << 18 | sextets[text[i + 1]!]! << 12;
      const word = high | sextets[text[i + 2]!]! << 6 | sextets[text[i + 3]!]!;
      blob[size++] = word >> 16;
      blob[size++] = word >> 8;
      blob[size++] = word;
    }
    if (text[i - 1] === 61) size -= text[i - 2] === 61 ? 2 : 1; // "=" pads
    const hash = hashOf(blob, start, size);
    let slot = hash & SLOTS - 1;
    while (slots[slot] !== 0) slot = slot + 1 & SLOTS - 1;
    slots[slot] = hash & ~0x3ffff | ++tokens;
    if (size - start === 2) pairs[blob[start]! << 8 | blob[start + 1]!] = tokens;
    ends[tokens] = size;
  }
  return { blob, ends, slots, pairs };
}

/** The rank of a token of two or more bytes, or Infinity. */
function find({ blob, ends, slots, pairs }: Vocabulary, bytes: Uint8Array, start: number, end: number) {
  work.lookups++;
  if (end - start === 2) return (pairs[bytes[start]! << 8 | bytes[start + 1]!]! || Infinity) - 1;
  const hash = hashOf(bytes, start, end);
  for (let slot = hash & SLOTS - 1; slots[slot] !== 0; slot = slot + 1 & SLOTS - 1) {
    if ((slots[slot]! ^ hash) >>> 18 !== 0) continue;
    const rank = (slots[slot]! & 0x3ffff) - 1;
    const shift = ends[rank]! - start; // where the token lies in the blob, against the bytes
    let i = start;
    while (i < end && blob[shift + i] === bytes[i]) i++;
    if (i === end && shift + i === ends[rank + 1]) return rank;
  }
  return Infinity;
}

function allocate(nodes: number) {
  return { next: new Int32Array(nodes), previous: new Int32Array(nodes), tree: new Float64Array(2 * nodes) };
}

const scratch = allocate(2 ** 14); // what a longer piece needs is its own: none of it stays

/**
 * The exact number of tokens of one piece, `bytes` from `start` to `end`: merges the pair of lowest rank, leftmost
 * first, until no pair is a token. Nodes are the tokens so far, named by their first byte and linked both ways.
 * `tree` finds the pair: node i has its key in leaf `length + i`, each inner node the least of its two children.
 */
export function countPiece(vocabulary: Vocabulary, bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length === 1 || find(vocabulary, bytes, start, end) < Infinity) return 1; // any single byte is a token
  const { next, previous, tree } = length > scratch.next.length ? allocate(length) : scratch;
  const key = (node: number, right: number): number =>
    right < length ? find(vocabulary, bytes, start + node, start + next[right]!) * POSITION + node : Infinity;
  for (let i = 0; i < length; i++) {
    next[i] = i + 1;
    previous[i] = i - 1;
  }
  for (let i = 0; i < length; i++) tree[length + i] = key(i, i + 1);
  for (let i = length - 1; i > 0; i--) tree[i] = Math.min(tree[2 * i]!, tree[2 * i + 1]!);
  let tokens = length;
  for (; tree[1]! < Infinity; tokens--) {
    const node = tree[1]! & POSITION - 1;
    const gone = next[node]!;
    const right = next[gone]!;
    const left = previous[node]!;
    next[node] = right;
    if (right < length) previous[right] = node;
    update(tree, length + gone, Infinity);
    update(tree, length + node, key(node, right));
    if (left >= 0) update(tree, length + left, key(left, node));
  }
  return tokens;
}

/** Sets a leaf. Above it nothing changes from the first node on whose least key stays the same. */
function update(tree: Float64Array, at: number, key: number): void {
  work.updates++;
  for (; at > 0 && tree[at] !== key; at >>= 1) {
    tree[at] = key;
    key = Math.min(key, tree[at ^ 1]!);
  }
}
