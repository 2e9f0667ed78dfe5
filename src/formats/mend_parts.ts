/**
 * Repair of what single parts hold: arguments, reasoning, texts.
 *
 * @module
 */
import { isObject, type Piece } from "./format.ts";
import type { Mending } from "./mending.ts";
import { isRound, isSystem } from "./pieces.ts";

const CUT_OFF = "Not executed: the answer was cut off at the output limit, so the arguments are incomplete";
const BEGINNING = "[selvage: the conversation begins here]";
const NO_OUTPUT = "(no output)";
const EMPTY = "(empty)";

/** Arguments that were cut off are kept as text in valid JSON; nobody can run such a call any more. */
export function mendArguments(mending: Mending): void {
  const { format } = mending.reading;
  for (const pair of mending.pairs) {
    const call = mending.places[pair.call];
    if (call?.piece.isMisshapen === true) {
      const { input } = call.piece;
      const written = isObject(input)
        ? input
        : input === undefined || input === null
        ? {}
        : { arguments: input };
      mending.report(
        "invalid_arguments",
        call,
        "Wrote the arguments as the JSON object that the format wants",
      );
      mending.edit(call.message, (message) => format.withArguments(message, call.piece.part, written));
    }
    if (call?.piece.isTruncated !== true) continue;
    const isOpen = pair.state !== "answered";
    mending.report(
      "truncated_arguments",
      call,
      `Kept the arguments that end too early as text${isOpen ? ", and answered the call with an error" : ""}`,
    );
    const input = { unparsed_arguments: call.piece.text };
    mending.edit(call.message, (message) => format.withArguments(message, call.piece.part, input));
    if (isOpen) mending.answer(call, CUT_OFF);
  }
}

/** Results with an empty text in them, and messages with nothing in them: before any of them moves. */
export function mendBlanks(mending: Mending): void {
  const { format } = mending.reading;
  for (const place of mending.places) {
    const { message, piece } = place;
    if (piece.isBlank !== true) continue;
    const isEmpty = piece.text.trim() === "" && !piece.files;
    const text = piece.kind === "tool_result" ? NO_OUTPUT : EMPTY;
    const isWritten = isEmpty || format.withoutBlanks === undefined;
    mending.report(
      "empty_text",
      place,
      isWritten ? `Wrote "${text}" in place of nothing` : "Took out an empty text",
    );
    mending.edit(
      message,
      (found) =>
        isWritten || format.withoutBlanks === undefined
          ? format.withText(found, piece.part, text)
          : format.withoutBlanks(found, piece.part),
    );
  }
}

/** Reasoning that is a message of its own goes where nothing of its own follows it. */
export function mendReasoning(mending: Mending): void {
  const { pieces } = mending.reading;
  // What waits at the end for its answer will not get it where the calls beside it are answered already.
  const answered = new Set([...mending.added.keys()].map((at) => mending.starts[at]));
  // From the end, so that reasoning before reasoning that goes is seen to be severed as well.
  let next: readonly Piece[] | undefined;
  for (let message = pieces.length - 1; message >= 0; message--) {
    const piece = pieces[message]?.at(-1);
    const isSevered = next === undefined ? answered.has(mending.starts[message]) : !next.some(isRound);
    if (piece?.sticks === true && isSevered) {
      mending.report(
        "reasoning_severed",
        { message, piece },
        "Took out reasoning that nothing of its own follows",
      );
      mending.remove({ message, piece });
    } else next = pieces[message];
  }
}

/** Empty texts, and a first message that is not from the user. */
export function mendTexts(mending: Mending): void {
  const { format, pieces } = mending.reading;
  // White space alone is refused as no text is.
  const isNothing = (piece: Piece): boolean => piece.isText === true && piece.text.trim() === "";
  // Empty texts go, unless nothing else is left of their message.
  const filled = new Set(
    mending.places.filter(({ piece }) => !isNothing(piece)).map(({ message }) => message),
  );
  for (const place of mending.places) {
    const { message, piece } = place;
    if (!isNothing(piece) || !format.rules.noEmptyText) continue;
    const isLeft = filled.has(message);
    mending.report(
      "empty_text",
      place,
      isLeft ? "Took out an empty text" : `Wrote "${EMPTY}" in place of nothing`,
    );
    if (isLeft) mending.remove(place);
    else mending.edit(message, (found) => format.withText(found, piece.part, EMPTY));
  }
  if (!format.rules.firstFromUser) return;
  const first = pieces.findIndex((message) => !isSystem(message));
  const message = pieces[first];
  const [piece] = message ?? [];
  if (message === undefined || piece === undefined) return;
  const isOurs = mending.reading.messages[first]?.["role"] === "assistant";
  if (!isOurs && isKept(mending, first)) return;
  // Where the first message was taken out, that was reported already.
  if (isOurs) {
    mending.report(
      "first_not_user",
      { message: first, piece },
      "Put a user message in front of the first message",
    );
  }
  mending.notes.set(first, [{ text: BEGINNING, source: first }, ...(mending.notes.get(first) ?? [])]);
}

/** Whether anything is left of a message. */
function isKept(mending: Mending, message: number): boolean {
  const gone = mending.removed.get(message);
  return mending.reading.pieces[message]?.some((piece) => gone?.has(piece.part) !== true) === true;
}
