/**
 * The servers of the benchmark of slow streams, each a process of its own: a model that sends a word now and then, the
 * pass-through, and the service. Run as a program with a role, and the model's URL; prints its own.
 */
import { ending, frame, own, raw } from "./_loop_servers.ts";
import { serveSide } from "./_sides.ts";

/** Where the model tells how many streams it sends now. */
export const OPEN_PATH = "/open";

/** Milliseconds between two words. */
const EVERY_MS = 1_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A model that says as many words as the first message asks for: `words 60`. */
function drip(): (request: Request) => Promise<Response> {
  let open = 0;
  return async (request) => {
    if (request.url.endsWith(OPEN_PATH)) return new Response(String(open));
    const body = new Uint8Array(await request.arrayBuffer());
    let left = Number(/words (\d+)/.exec(decoder.decode(body.subarray(0, 8_192)))?.[1] ?? 1);
    open++;
    let timer: ReturnType<typeof setInterval> | undefined;
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        timer = setInterval(() => {
          if (left-- > 0) return controller.enqueue(encoder.encode(frame({ content: ` word${left}` })));
          clearInterval(timer);
          open--;
          controller.enqueue(encoder.encode(ending("stop", 10)));
          controller.close();
        }, EVERY_MS);
      },
      cancel() {
        clearInterval(timer);
        open--;
      },
    });
    return new Response(stream, { headers: { "content-type": "text/event-stream" } });
  };
}

if (import.meta.main) {
  const [role, url = ""] = Deno.args;
  serveSide(role === "model" ? drip() : role === "raw" ? raw(url) : own(url));
}
