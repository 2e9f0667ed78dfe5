/** The model of the benchmark: it follows the plan in the first user message, and answers at once. */
import { BURST, hasSteps, type Plan, planOf } from "./plan.ts";
import { OPEN_PATH, serve } from "./serve.ts";

const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache" };
const encoder = new TextEncoder();

function frame(delta: unknown, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
  return `data: ${
    JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 0, model: "m", choices })
  }\n\n`;
}

function ending(reason: string, tokens: number): string {
  const usage = { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 };
  return `${frame({}, reason)}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
}

/** One call of `read_file`, its arguments in three pieces. */
function callFrames(step: number, size: number): string {
  const args = JSON.stringify({ path: `src/${step}.ts`, size });
  const third = Math.ceil(args.length / 3);
  const start = {
    index: 0,
    id: `call_${step}`,
    type: "function",
    function: { name: "read_file", arguments: "" },
  };
  const pieces = [0, 1, 2].map((n) => args.slice(n * third, (n + 1) * third));
  return frame({ role: "assistant", content: null }) + frame({ tool_calls: [start] }) +
    pieces.map((piece) => frame({ tool_calls: [{ index: 0, function: { arguments: piece } }] })).join("");
}

/** Milliseconds before each read of a text: apart, so that each is read by itself. */
const EVERY_MS: Readonly<Record<Plan["kind"], number>> = {
  steps: 0,
  streamed: 0,
  deltas: 0,
  burst: 0,
  paced: 2,
  slow: 1_000,
};

let open = 0;

/** Sends texts, each to be read by itself. */
function apart(texts: Iterable<string>, everyMs: number): ReadableStream<Uint8Array> {
  const all = texts[Symbol.iterator]();
  let isOpen = true;
  const close = (): void => {
    if (isOpen) open--;
    isOpen = false;
  };
  open++;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, everyMs));
      // A reader may have left meanwhile.
      if (!isOpen) return;
      const { done, value } = all.next();
      if (done !== true) return controller.enqueue(encoder.encode(value));
      close();
      controller.close();
    },
    cancel: close,
  }, { highWaterMark: 0 });
}

/** A text of words, each of which a reader can count. */
function* words({ kind, count }: Plan, tokens: number): Generator<string> {
  const many = kind === "burst" ? BURST : 1;
  for (let at = 0; at < count;) {
    const until = Math.min(count, at + many);
    let text = "";
    while (at < until) text += frame({ content: ` word${at++}` });
    yield text;
  }
  yield ending("stop", tokens);
}

const steps = new Map<string, number>();

serve(async (request) => {
  if (request.url.endsWith(OPEN_PATH)) return new Response(String(open));
  const body = new Uint8Array(await request.arrayBuffer());
  const tokens = Math.ceil(body.length / 4);
  const plan = planOf(body);
  const everyMs = EVERY_MS[plan.kind];
  if (!hasSteps(plan)) return new Response(apart(words(plan, tokens), everyMs), { headers: HEADERS });
  const step = (steps.get(plan.id) ?? 0) + 1;
  steps.set(plan.id, step);
  const text = step <= plan.count
    ? callFrames(step, plan.size) + ending("tool_calls", tokens)
    : frame({ role: "assistant", content: "Done." }) + ending("stop", tokens);
  if (plan.kind === "steps") return new Response(text, { headers: HEADERS });
  return new Response(apart(text.split(/(?<=\n\n)/), everyMs), { headers: HEADERS });
});
