/** Ids of calls as a service takes them: there, short and unique. Private to the adapters. */

/** The most characters of an id. */
const MAX_ID_CHARS = 64;

/** A call that waits for its result. */
interface OpenCall {
  readonly message: number;
  readonly wire: string;
}

/**
 * Names the calls of one request, oldest first. An id that will do stays as it is; any other is rewritten in a way
 * that depends on nothing but what stands before it, so that a longer request begins with the same bytes.
 */
export class CallIds {
  readonly #taken = new Set<string>();
  readonly #repeats = new Map<string, number>();
  readonly #open = new Map<string, OpenCall[]>();
  #message = 0;

  /** Begins the next message. */
  next(): void {
    this.#message++;
  }

  /** The id of a call on the wire. */
  call(id: string): string {
    const wire = this.#free(fit(id));
    this.#taken.add(wire);
    const open = this.#open.get(id) ?? [];
    open.push({ message: this.#message, wire });
    this.#open.set(id, open);
    return wire;
  }

  /** The id of a result: that of the open call of its id in the nearest message that has one, first come first. */
  result(id: string): string {
    const open = this.#open.get(id) ?? [];
    const nearest = open.at(-1)?.message;
    const [call] = open.splice(open.findIndex(({ message }) => message === nearest), 1);
    return call?.wire ?? fit(id);
  }

  #free(id: string): string {
    let wire = id;
    let n = this.#repeats.get(id) ?? 1;
    while (this.#taken.has(wire)) wire = `${id.slice(0, MAX_ID_CHARS - 8)}_${++n}`;
    this.#repeats.set(id, n);
    return wire;
  }
}

function fit(id: string): string {
  if (id === "") return "call";
  return id.length <= MAX_ID_CHARS ? id : `${id.slice(0, MAX_ID_CHARS - 24)}_${hash(id)}`;
}

/** FNV-1a: enough to tell the long ids of one request apart. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return value.toString(36);
}
