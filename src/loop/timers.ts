/**
 * One timer of the machine for all that waits for a time. A turn sleeps a dozen times, nearly always to be woken by
 * something better than the time; a timer for each, begun and taken back, costs as much as what it guards.
 *
 * @module
 */

/** Something to be done at a time. */
interface Due {
  readonly time: number;
  readonly call: () => void;
  /** Its place in the heap. */
  at: number;
}

/** The longest that a timer can run; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * What begins is waited for in falling order: a comment in 10 s, a look in 1 s, the end of an answer in 50 ms. The first
 * of them wakes the timer after this, in milliseconds, so that it need not be set anew for each that comes behind.
 */
const SOON_MS = 50;

/** A heap: what stands at `at` is due no later than what stands at `2 * at + 1` and behind that. */
const heap: Due[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
/** When the timer fires: never after the first is due, but before it where that one was taken back. */
let armed = Infinity;

/**
 * Has something done after a time.
 *
 * @param ms How long, in milliseconds.
 * @param call What is done; it must not throw.
 * @returns Takes it back.
 */
export function callAfter(ms: number, call: () => void): () => void {
  const due: Due = { time: performance.now() + ms, call, at: heap.length };
  heap.push(due);
  settle(due);
  arm(heap.length === 1 ? SOON_MS : LONGEST_MS);
  return () => {
    if (heap[due.at] === due) remove(due);
  };
}

function arm(mostMs = LONGEST_MS): void {
  const [first] = heap;
  if (first === undefined) {
    // A timer that is left would keep the process alive.
    clearTimeout(timer);
    timer = undefined;
    armed = Infinity;
  } else if (first.time < armed || timer === undefined) {
    clearTimeout(timer);
    const now = performance.now();
    const ms = Math.min(Math.max(0, first.time - now), mostMs);
    armed = Math.min(first.time, now + ms);
    timer = setTimeout(fire, Math.ceil(ms));
  }
}

function fire(): void {
  timer = undefined;
  armed = Infinity;
  const now = performance.now();
  for (let [first] = heap; first !== undefined && first.time <= now; [first] = heap) {
    remove(first);
    first.call();
  }
  arm();
}

function remove(due: Due): void {
  const last = heap.pop();
  if (last !== undefined && last !== due) {
    put(last, due.at);
    settle(last);
  }
  if (heap.length === 0) arm();
}

function put(due: Due, at: number): void {
  heap[at] = due;
  due.at = at;
}

/** Moves one to where it belongs. */
function settle(due: Due): void {
  for (;;) {
    const above = heap[(due.at - 1) >> 1];
    if (due.at === 0 || above === undefined || above.time <= due.time) break;
    const { at } = above;
    put(above, due.at);
    put(due, at);
  }
  for (;;) {
    const [left, right] = [heap[2 * due.at + 1], heap[2 * due.at + 2]];
    const below = right !== undefined && left !== undefined && right.time < left.time ? right : left;
    if (below === undefined || due.time <= below.time) break;
    const { at } = below;
    put(below, due.at);
    put(due, at);
  }
}
