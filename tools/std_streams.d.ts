// Types for the few names used of the npm build of @std/streams, which ships none.
declare module "@std/streams" {
  export class TextLineStream extends TransformStream<string, string> {
    constructor(options?: { allowCR?: boolean });
  }
  export function toText(stream: ReadableStream<string> | ReadableStream<Uint8Array>): Promise<string>;
}
