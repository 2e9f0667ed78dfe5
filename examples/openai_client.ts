/**
 * The service by OpenAI's own client: `npm install openai`, a base URL, and nothing else changes. The service's tools
 * run there, those of this script run here.
 *
 *     deno task start
 *     deno run --allow-net=127.0.0.1 --allow-env examples/openai_client.ts
 */
import OpenAI from "npm:openai@7.59.0";

const client = new OpenAI({
  baseURL: Deno.env.get("SELVAGE_URL") ?? "http://127.0.0.1:8000/v1",
  apiKey: Deno.env.get("SELVAGE_API_KEY") ?? "none",
  // With it the session is kept by the service, and what its tools gave in one question is there in the next.
  defaultHeaders: { "x-selvage-session": `example-${crypto.randomUUID()}` },
});

for (const content of ["check 07", "read units/07/README.md"]) {
  console.log(`> ${content}`);
  const stream = await client.chat.completions.create({
    model: "default",
    messages: [{ role: "user", content }],
    stream: true,
  });
  for await (const chunk of stream) {
    const note = (chunk as { readonly selvage?: { readonly type: string; readonly name?: string } }).selvage;
    if (note?.type === "tool.call") console.log(`  (${note.name})`);
    await Deno.stdout.write(new TextEncoder().encode(chunk.choices[0]?.delta.content ?? ""));
  }
  console.log();
}
