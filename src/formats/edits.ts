/**
 * Edits of messages: those that are the same for all formats with a list of parts, and many of them in one message.
 *
 * @module
 */
import type { Format, JsonObject } from "./format.ts";

/** Copies whose lists may be edited in place, as nobody else has them yet. */
const drafts = new WeakSet<JsonObject>();

function draftOf(message: JsonObject): JsonObject {
  const draft = Object.fromEntries(
    Object.entries(message).map(([key, value]) => [key, Array.isArray(value) ? [...value] : value]),
  );
  drafts.add(draft);
  return draft;
}

/**
 * Messages of which some are edited, and the others stay the objects that they are. The first edit of one makes a
 * draft of it: k edits of one message cost k, not k².
 */
export class EditedMessages {
  readonly #messages: JsonObject[];
  readonly #drafts = new Map<number, JsonObject>();

  constructor(messages: readonly JsonObject[]) {
    this.#messages = [...messages];
  }

  /** A message as it is by now. */
  at(index: number): JsonObject | undefined {
    return this.#messages[index];
  }

  /** Changes a message by an edit of its {@link Format}. */
  edit(index: number, change: (message: JsonObject) => JsonObject): void {
    const found = this.#messages[index];
    if (found === undefined) return;
    if (this.#drafts.has(index)) {
      this.#messages[index] = change(found);
      return;
    }
    const draft = draftOf(found);
    this.#drafts.set(index, draft);
    this.#messages[index] = change(draft);
  }

  /** All messages; from now on an edit of one of them gives a new message again. */
  settle(): readonly JsonObject[] {
    for (const draft of this.#drafts.values()) drafts.delete(draft);
    return this.#messages;
  }
}

/** A message whose list of parts is `key`: the edits that are the same for all such formats. */
export function partEdits(key: string): Pick<Format, "take" | "without" | "reorder"> & {
  edit(message: JsonObject, part: number | null, change: (part: JsonObject) => JsonObject): JsonObject;
  insert(message: JsonObject, index: number, parts: readonly unknown[]): JsonObject;
} {
  const partsOf = (message: JsonObject): readonly unknown[] => {
    const parts = message[key];
    return Array.isArray(parts) ? parts : [];
  };
  return {
    take: (message, part) => part === null ? message : partsOf(message)[part],
    without(message, gone) {
      const all = new Set(gone);
      if (all.has(null)) return null;
      const left = partsOf(message).filter((_, index) => !all.has(index));
      return left.length === 0 ? null : { ...message, [key]: left };
    },
    reorder: (message, order) => ({ ...message, [key]: order.map((index) => partsOf(message)[index]) }),
    edit(message, part, change) {
      if (part === null) return change(message);
      const parts = message[key];
      if (!Array.isArray(parts) || part >= parts.length) return message;
      const isDraft = drafts.has(message);
      const edited = isDraft ? parts : [...parts];
      edited[part] = change(edited[part]);
      return isDraft ? message : { ...message, [key]: edited };
    },
    insert(message, index, added) {
      return {
        ...message,
        [key]: [...partsOf(message).slice(0, index), ...added, ...partsOf(message).slice(index)],
      };
    },
  };
}
