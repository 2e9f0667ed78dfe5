/**
 * User messages in a row as one: behind a summary, or a turn that has failed, another one stands, and the templates of
 * many models take turns of user and assistant only. Private to the adapters.
 */
import type { FilePart, Message, TextPart, UserMessage } from "../core/message.ts";
import { isBlank } from "./_texts.ts";

/** A conversation as it was sent last. */
interface Sent {
  readonly messages: Message[];
  readonly joined: Message[];
}

/** Joins user messages; what was joined once stays the same message for as long as the conversation grows. */
export class UserRuns {
  // By the first message. Messages are values: one that was sent is never edited.
  readonly #sent = new WeakMap<Message, Sent>();

  /** The messages with every run of user messages as one; good until the next call. */
  join(messages: readonly Message[]): readonly Message[] {
    const [first] = messages;
    if (first === undefined) return messages;
    const sent = this.#sentOf(first, messages);
    const { joined } = sent;
    // A history is long and grows at its end: what was sent is not looked at, but for whether it is the same.
    for (let at = sent.messages.length; at < messages.length; at++) {
      const message = messages[at] as Message;
      const last = joined.at(-1);
      if (message.role === "user" && last?.role === "user") {
        joined[joined.length - 1] = joinTwo(last, message);
      } else joined.push(message);
      sent.messages.push(message);
    }
    return joined;
  }

  /** What was sent of a conversation, where these messages go on with it; nothing of it where they do not. */
  #sentOf(first: Message, messages: readonly Message[]): Sent {
    const found = this.#sent.get(first);
    if (found?.messages.every((message, at) => message === messages[at])) return found;
    const sent = { messages: [], joined: [] };
    this.#sent.set(first, sent);
    return sent;
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
