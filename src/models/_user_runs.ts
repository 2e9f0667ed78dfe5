/**
 * User messages in a row as one: behind a summary, or a turn that has failed, another one stands, and the templates of
 * many models take turns of user and assistant only. Private to the adapters.
 */
import type { FilePart, Message, TextPart, UserMessage } from "../core/message.ts";
import { isBlank } from "./_texts.ts";

/** Joins user messages; what was joined once stays the same message for as long as its last one lives. */
export class UserRuns {
  // By the message that was joined to those before it. Messages are values: one that was sent is never edited.
  readonly #joined = new WeakMap<UserMessage, { readonly before: UserMessage; readonly both: UserMessage }>();

  /** The messages with every run of user messages as one. */
  join(messages: readonly Message[]): readonly Message[] {
    const joined: Message[] = [];
    for (const message of messages) {
      const last = joined.at(-1);
      if (message.role === "user" && last?.role === "user") {
        joined[joined.length - 1] = this.#both(last, message);
      } else joined.push(message);
    }
    return joined;
  }

  #both(before: UserMessage, message: UserMessage): UserMessage {
    const known = this.#joined.get(message);
    if (known?.before === before) return known.both;
    const both = joinTwo(before, message);
    this.#joined.set(message, { before, both });
    return both;
  }
}

function joinTwo(one: UserMessage, other: UserMessage): UserMessage {
  const parts = [...partsOf(one), ...partsOf(other)];
  // Settings of a message are its provider's word on where it ends: that is now where both do.
  const providerOptions = { ...one.providerOptions, ...other.providerOptions };
  return {
    role: "user",
    // A plain string where it will do: not every server takes a list.
    content: parts.every(isPlain) ? parts.map(({ text }) => text).join("\n\n") : parts,
    ...(Object.keys(providerOptions).length === 0 ? {} : { providerOptions }),
  };
}

/** The parts of a message that say something. */
function partsOf({ content }: UserMessage): readonly (TextPart | FilePart)[] {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return parts.filter((part) => part.type !== "text" || !isBlank(part.text));
}

function isPlain(part: TextPart | FilePart): part is TextPart {
  return part.type === "text" && part.providerOptions === undefined;
}
