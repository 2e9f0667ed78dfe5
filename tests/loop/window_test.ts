import { deepEqual, equal, ok } from "node:assert/strict";
import * as z from "zod";
import { SelvageError } from "../../src/core/errors.ts";
import { defineTool } from "../../src/loop/tools.ts";
import { runTurn } from "../../src/loop/turn.ts";
import { scripted, scriptedTokens } from "../../src/models/scripted.ts";
import type { Model } from "../../src/ports.ts";
import { memoryStore } from "../../src/store/memory.ts";

const REAL = 8_000;

/** A model that claims 64,000 tokens, served with 8,000; its provider says so when a request is too long. */
function liar(): Model {
  let reads = 0;
  const honest = scripted({
    script: ({ messages }) =>
      messages.at(-1)?.role === "tool" && ++reads > 30
        ? { text: "Read enough." }
        : { calls: [{ name: "read", input: { path: `file-${reads}.txt` } }] },
    window: 64_000,
    maxOutput: 1_000,
  });
  return {
    ...honest,
    async *stream(request, signal) {
      const tokens = scriptedTokens([request.system, request.tools, request.messages]);
      if (tokens + request.maxOutput > REAL) {
        throw new SelvageError("context_length_exceeded", `Cannot answer: found ${tokens} tokens`, {
          fields: { window: REAL },
        });
      }
      yield* honest.stream(request, signal);
    },
  };
}

const read = defineTool({
  name: "read",
  description: "Reads a file",
  input: z.object({ path: z.string() }),
  execute: ({ path }) => `${path}: ${"some words of it ".repeat(60)}`,
});

Deno.test("a window that a provider names is learned: for the turn that hit it, and for the session's later ones", async () => {
  const store = memoryStore();
  const windows = async (): Promise<readonly number[]> => {
    const seen: number[] = [];
    for await (
      const event of runTurn({
        agent: { model: liar(), tools: [read], maxSteps: 60 },
        session: "s",
        input: "go",
      }, { store })
    ) {
      if (event.type === "context" && seen.at(-1) !== event.window) seen.push(event.window);
      if (event.type === "error") throw new Error(`${event.code}: ${event.message}`);
      if (event.type === "turn.finished") equal(event.reason, "stop");
    }
    return seen;
  };
  deepEqual(await windows(), [64_000, REAL]);
  deepEqual(await windows(), [REAL]);
  const head = (await store.read({ tenant: "local", session: "s" }))?.head;
  equal((head?.meter as { window?: number }).window, REAL);
});

Deno.test("a window that a provider has named is known again after turns of other models", async () => {
  const store = memoryStore();
  const other = (id: string): Model => scripted({ id, script: () => ({ text: "Hi." }), window: 128_000 });
  const windowsOf = async (model: Model): Promise<readonly number[]> => {
    const events = await Array.fromAsync(
      runTurn({ agent: { model, tools: [read], maxSteps: 60 }, session: "s", input: "go" }, { store }),
    );
    const last = events.at(-1);
    equal(last?.type === "turn.finished" && last.reason, "stop");
    return [...new Set(events.flatMap((event) => event.type === "context" ? [event.window] : []))];
  };
  const stored = async () => {
    const head = (await store.read({ tenant: "local", session: "s" }))?.head;
    return head?.meter as { readonly windows?: Readonly<Record<string, number>> };
  };
  deepEqual(await windowsOf(liar()), [64_000, REAL]);
  deepEqual(await windowsOf(other("constructor")), [128_000]);
  deepEqual(await windowsOf(liar()), [REAL]);
  equal((await stored()).windows, undefined, "its own stands beside its bill");
  // The head is written with every commit: it knows the models of late.
  for (let n = 0; n < 20; n++) {
    deepEqual(await windowsOf({ ...liar(), id: `liar ${n}` }), [64_000, REAL]);
  }
  equal(Object.keys((await stored()).windows ?? {}).length, 8);
  deepEqual(await windowsOf({ ...liar(), id: "liar 12" }), [REAL]);
  deepEqual(await windowsOf({ ...liar(), id: "liar 3" }), [64_000, REAL]);
});

Deno.test("a learned window in which a later agent has no room is left to the provider, not to an error", async () => {
  const store = memoryStore();
  const run = async (system: string) =>
    await Array.fromAsync(
      runTurn({ agent: { model: liar(), tools: [read], maxSteps: 60, system }, session: "s", input: "go" }, {
        store,
      }),
    );
  await run("");
  const events = await run("A long system text. ".repeat(1_500));
  // It says so itself: a session is not to end in an error about a budget that nobody has set.
  const errors = events.flatMap((event) => event.type === "error" ? [event.code] : []);
  deepEqual(errors, ["context_length_exceeded"]);
  const last = (await run("")).at(-1);
  equal(last?.type === "turn.finished" && last.reason, "stop");
});

Deno.test("a window that is not smaller, or too small to work in, changes nothing", async () => {
  for (const window of [64_000, 1_000_000, 500, -1, Number.NaN, "8000"]) {
    let calls = 0;
    const model: Model = {
      ...scripted({ script: () => ({ text: "Hi." }), window: 64_000 }),
      // deno-lint-ignore require-yield -- a provider that refuses says nothing
      async *stream() {
        calls++;
        throw new SelvageError("context_length_exceeded", "Cannot answer: too long", { fields: { window } });
      },
    };
    const events = await Array.fromAsync(
      runTurn({ agent: { model }, session: "s", input: "go" }, { store: memoryStore() }),
    );
    ok(events.every((event) => event.type !== "context" || event.window === 64_000));
    const error = events.find((event) => event.type === "error");
    equal(error?.type === "error" && error.code, "context_length_exceeded");
    ok(calls <= 2);
  }
});

Deno.test("an image is priced by its provider's formula, never by its base64", async () => {
  const data = btoa(
    String.fromCharCode(
      0x89,
      0x50,
      0x4e,
      0x47,
      13,
      10,
      26,
      10,
      0,
      0,
      0,
      13,
      0x49,
      0x48,
      0x44,
      0x52,
      0,
      0,
      4,
      0,
      0,
      0,
      4,
      0,
    ),
  ) + "A".repeat(900_000);
  const tokensWith = async (media: Model["media"]): Promise<number> => {
    const model: Model = {
      ...scripted({ script: () => ({ text: "An image." }), window: 64_000 }),
      ...(media ? { media } : {}),
    };
    const silent: Model = {
      ...model,
      async *stream(request, signal) {
        // Without a bill the meter has nothing but its own price.
        for await (const event of model.stream({ ...request, messages: [] }, signal)) {
          if (event.type !== "finish") yield event;
          else {
            const { usage: _, ...rest } = event;
            yield rest;
          }
        }
      },
    };
    let tokens = 0;
    const input = [{ type: "file" as const, mediaType: "image/png", data }];
    for await (
      const event of runTurn({ agent: { model: silent }, session: "s", input }, { store: memoryStore() })
    ) {
      if (event.type === "context") tokens = event.tokens;
    }
    return tokens;
  };
  const claude = await tokensWith("anthropic");
  ok(claude > 1_369 && claude < 1_600, `${claude}`);
  equal((await tokensWith("openai-tiles")) - claude, 765 - 1_369);
});
