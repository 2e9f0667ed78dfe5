/**
 * The doctor's worker: all work on a transcript is done here, so that the page stays at hand.
 *
 * @module
 */
import { Examination } from "./examination.ts";
import type { Answer, Ask } from "./protocol.ts";

/** What a worker is to its page. */
interface Port {
  postMessage(message: { readonly id: number; readonly answer: Answer }): void;
  onmessage: ((event: { readonly data: { readonly id: number; readonly ask: Ask } }) => void) | null;
}

let current: Examination | null = null;

function opened(): Examination {
  if (current === null) throw new Error("Cannot answer: no transcript is open");
  return current;
}

async function answer(ask: Ask): Promise<Answer> {
  switch (ask.kind) {
    case "open": {
      // The one before goes first: both together may be more than a phone has room for.
      current = null;
      current = await Examination.open(ask.name, ask.source);
      return current.describe();
    }
    case "preview":
      return opened().preview(ask.transcript, ask.budget);
    case "show":
      return opened().show(ask.transcript, ask);
    case "write": {
      const { transcript, budget } = ask;
      return opened().write(
        transcript === undefined || budget === undefined ? undefined : { transcript, budget },
      );
    }
    default:
      return ask satisfies never;
  }
}

const port = globalThis as unknown as Port;
port.onmessage = async ({ data: { id, ask } }) => {
  try {
    port.postMessage({ id, answer: await answer(ask) });
  } catch (error) {
    port.postMessage({
      id,
      answer: { kind: "failed", message: error instanceof Error ? error.message : String(error) },
    });
  }
};
