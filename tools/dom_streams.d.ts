/**
 * The page's modules bring the types of the DOM along, for which a decoder takes any bytes and therefore does not fit
 * a stream of one kind of them. At run time it does.
 */
// deno-lint-ignore no-explicit-any -- the declaration that this one is merged with has it
interface ReadableStream<R = any> {
  pipeThrough(decoder: TextDecoderStream): ReadableStream<string>;
}
