/** The floor: passes requests on to the model, read by read, and lets go of it where the client has gone. */
import { serve } from "./serve.ts";

const [url = ""] = Deno.args;

serve(async (request) => {
  const body = await request.arrayBuffer();
  const response = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const reader = (response.body ?? new ReadableStream()).getReader();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await reader.cancel();
    },
  }, { highWaterMark: 0 });
  return new Response(stream, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
  });
});
