/** Reading SSE in tests: every frame, in order, with comments left out. */
import assert from "node:assert/strict";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { AnyJson } from "./any_json.ts";

export interface Frame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: AnyJson;
}

/** Parses the frames of a finished stream. */
export function parseFrames(text: string): readonly Frame[] {
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }: EventSourceMessage) => frames.push({ id, event, data: JSON.parse(data) }),
  });
  parser.feed(text);
  return frames;
}

/** The data of a finished stream whose frames have no names: a line each, the last one whole, comments left out. */
export function dataOf(text: string): readonly string[] {
  const frames = text.split("\n\n");
  assert.equal(frames.pop(), "", "the last frame is whole");
  return frames.filter((frame) => !frame.startsWith(":")).map((frame) => {
    assert.ok(frame.startsWith("data: ") && !frame.includes("\n"), `a frame is one line of data: ${frame}`);
    return frame.slice("data: ".length);
  });
}

/** Yields frames of a response as they arrive. */
export async function* readFrames(response: Response): AsyncGenerator<Frame, void> {
  if (response.body === null) throw new Error("The response has no body");
  const ready: Frame[] = [];
  const parser = createParser({
    onEvent: ({ id, event, data }: EventSourceMessage) => ready.push({ id, event, data: JSON.parse(data) }),
  });
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* ready.splice(0);
    }
  } finally {
    await reader.cancel();
  }
}
