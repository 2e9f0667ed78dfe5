/** Byte-level BPE over typed arrays: exact, and O(n log n) for any bytes. Private to this folder. */

const SLOTS = 2 ** 19; // more than twice the largest vocabulary, so that probes stay short
const POSITION = 2 ** 26; // a heap entry is rank * POSITION + position: exact in a double, ties go leftmost
const KEPT = 2 ** 14; // scratch for a piece longer than this many bytes is its own: none of it stays
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Operations so far: tests hold the merge to being linear by these, as time would be flaky. */
export const work = { lookups: 0, pushes: 0 };

/** The tokens of an encoding. */
export type Vocabulary = ReturnType<typeof readVocabulary>;

function mix(hash: number, byte: number): number {
  const mixed = Math.imul(hash ^ byte, 0x9e3779b1);
  return mixed ^ mixed >>> 15;
}

/** Reads rank data, `! <rank of the first token> <its bytes in base64> <the next token's> …`, in one pass. */
export function readVocabulary(data: string) {
  if (!data.startsWith("! 0 ") || data.includes("!", 1)) {
    throw new TypeError(`Read rank data: found "${data.slice(0, 8)}", wanted one row that starts "! 0 "`);
  }
  const sextets = new Uint8Array(128);
  for (let i = 0; i < 64; i++) sextets[BASE64.charCodeAt(i)] = i;
  const blob = new Uint8Array(data.length); // the bytes of all tokens in rank order
  const ends = new Int32Array(SLOTS / 2); // token r is blob[ends[r]] up to blob[ends[r + 1]]
  const slots = new Int32Array(SLOTS); // open addressing: low 18 bits rank + 1, the others as in the hash
  const pairs = new Int32Array(65536); // rank + 1 of two-byte tokens by their bytes: most first look-ups
  let size = 0, tokens = 0, longest = 0, hash = 0, bits = 0, held = 0;
  for (let i = 4; i <= data.length; i++) {
    const code = i < data.length ? data.charCodeAt(i) : 32;
    if (code !== 32) {
      bits = (bits << 6 | sextets[code]!) & 0xffff;
      if (code === 61 || (held += 6) < 8) continue; // "=" only pads
      blob[size] = bits >> (held -= 8);
      hash = mix(hash, blob[size++]!);
    } else {
      const start = ends[tokens++]!;
      let slot = hash & SLOTS - 1;
      while (slots[slot] !== 0) slot = slot + 1 & SLOTS - 1;
      slots[slot] = hash & ~0x3ffff | tokens;
      if (size - start === 2) pairs[blob[start]! << 8 | blob[start + 1]!] = tokens;
      longest = Math.max(longest, size - start);
      ends[tokens] = size;
      hash = held = 0;
    }
  }
  return { blob: blob.slice(0, size), ends: ends.slice(0, tokens + 1), slots, pairs, longest };
}

/** The rank of a token of two or more bytes, or -1. */
function find(
  { blob, ends, slots, pairs, longest }: Vocabulary,
  bytes: Uint8Array,
  start: number,
  end: number,
) {
  work.lookups++;
  const length = end - start;
  if (length === 2) return pairs[bytes[start]! << 8 | bytes[start + 1]!]! - 1;
  if (length > longest) return -1;
  let hash = 0;
  for (let i = start; i < end; i++) hash = mix(hash, bytes[i]!);
  for (let slot = hash & SLOTS - 1; slots[slot] !== 0; slot = slot + 1 & SLOTS - 1) {
    if ((slots[slot]! ^ hash) >>> 18 !== 0) continue;
    const rank = (slots[slot]! & 0x3ffff) - 1;
    const from = ends[rank]!;
    if (ends[rank + 1]! - from !== length) continue;
    let same = 0;
    while (same < length && blob[from + same] === bytes[start + same]) same++;
    if (same === length) return rank;
  }
  return -1;
}

function allocate(nodes: number) {
  const [next, previous, ranks] = [new Int32Array(nodes), new Int32Array(nodes), new Int32Array(nodes)];
  return { next, previous, ranks, heap: new Float64Array(2 * nodes) }; // a merge takes one entry, adds at most two
}

const scratch = allocate(KEPT);

/**
 * The exact number of tokens of one piece, `bytes` from `start` to `end`. Merges the pair of lowest rank, leftmost
 * first, until no pair is a token. Nodes are tokens, named by their first byte. A merge makes only two pairs new;
 * what the heap still holds of the old ones is known by a rank that is no longer the pair's, and skipped.
 */
export function countPiece(vocabulary: Vocabulary, bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length === 1 || find(vocabulary, bytes, start, end) >= 0) return 1; // any single byte is a token
  const { next, previous, ranks, heap } = length > KEPT ? allocate(length) : scratch;
  let size = 0, tokens = length;
  function refresh(node: number, right: number): void {
    const rank = right < length ? find(vocabulary, bytes, start + node, start + next[right]!) : -1;
    ranks[node] = rank;
    if (rank >= 0) push(heap, size++, rank * POSITION + node);
  }
  for (let i = 0; i < length; i++) {
    next[i] = i + 1;
    previous[i] = i - 1;
  }
  for (let i = 0; i < length; i++) refresh(i, i + 1);
  while (size > 0) {
    const entry = heap[0]!;
    pop(heap, --size);
    const rank = Math.floor(entry / POSITION);
    const node = entry - rank * POSITION;
    if (ranks[node] !== rank) continue;
    const gone = next[node]!;
    const right = next[gone]!;
    next[node] = right;
    if (right < length) previous[right] = node;
    ranks[gone] = -1;
    tokens--;
    refresh(node, right);
    if (node > 0) refresh(previous[node]!, node);
  }
  return tokens;
}

function push(heap: Float64Array, size: number, entry: number): void {
  work.pushes++;
  let hole = size;
  for (let parent; hole > 0 && heap[parent = hole - 1 >> 1]! > entry; hole = parent) {
    heap[hole] = heap[parent]!;
  }
  heap[hole] = entry;
}

/** Removes the least entry, of which `size` others remain. */
function pop(heap: Float64Array, size: number): void {
  let hole = 0;
  for (let child = 1; child < size; child = 2 * hole + 1) {
    if (child + 1 < size && heap[child + 1]! < heap[child]!) child++;
    if (heap[child]! >= heap[size]!) break;
    heap[hole] = heap[child]!;
    hole = child;
  }
  heap[hole] = heap[size]!;
}
