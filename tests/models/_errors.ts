/** What all adapters do alike where a service refuses, breaks off or sends what is no answer: each has its own tables. */
import assert from "node:assert/strict";
import { SelvageError } from "../../src/core/errors.ts";
import type { HostedModelOptions } from "../../src/models/hosted.ts";
import type { Model } from "../../src/ports.ts";
import { type FakeAnswer, fakeFetch } from "../support/fake_fetch.ts";
import { codeOf, failureOf, type Outcome, outcomeOf } from "./_answers.ts";

/** The key that models ask with. */
export const KEY = "sk-very-secret";

/** Asking one adapter's model. */
export interface Asking {
  /** Asks once, whatever comes of it. */
  readonly run: (options: Partial<HostedModelOptions>, controller?: AbortController) => Promise<Outcome>;
  /** The error of an answer that has failed. */
  readonly failure: (answer: FakeAnswer) => Promise<SelvageError>;
}

/** Ways to ask the models of an adapter. */
export function asking(make: (options: HostedModelOptions) => Model): Asking {
  const run: Asking["run"] = (options, controller = new AbortController()) =>
    outcomeOf(make({ model: "m", apiKey: KEY, maxRetries: 0, ...options }), { controller });
  const failure: Asking["failure"] = async (answer) =>
    failureOf(await run({ fetch: fakeFetch(answer).fetch }));
  return { run, failure };
}

/** What a service answers, by what it comes to. */
export interface ErrorTables {
  /** A request that is too long, with the window where it is named. */
  readonly tooLong: readonly (readonly [status: number, body: string, window: number | undefined])[];
  /** Words about lengths that speak of something else. */
  readonly notTooLong: readonly (readonly [status: number, body: string])[];
  /** Answers that repeat a text. */
  readonly echoes: (text: string) => readonly FakeAnswer[];
  readonly badResponse: readonly (readonly [string, FakeAnswer])[];
  readonly cut: readonly (readonly [string, readonly string[]])[];
  /** Answers after which the same request is not sent again. */
  readonly final: readonly (readonly [string, FakeAnswer])[];
}

/** Tests an adapter by its tables. */
export function testErrors(name: string, { failure, run }: Asking, tables: ErrorTables): void {
  Deno.test.each(tables.tooLong)(
    `${name} throws context_length_exceeded for %i %s`,
    async (status, body, window) => {
      const error = await failure({ status, reads: [body] });
      assert.equal(error.code, "context_length_exceeded");
      assert.equal(error.fields.window, window);
      assert.equal("window" in error.fields, window !== undefined);
      assert.equal(error.fields.retryable, false);
    },
  );

  Deno.test.each(tables.notTooLong)(
    `${name} throws no context_length_exceeded for %i %s`,
    async (status, body) => {
      assert.notEqual((await failure({ status, reads: [body] })).code, "context_length_exceeded");
    },
  );

  Deno.test(`${name} keeps the key out of every error, whatever repeats it`, async () => {
    for (const answer of tables.echoes(`Incorrect key ${KEY}`)) {
      const error = await failure(answer);
      assert.ok(!Deno.inspect(error).includes(KEY), error.code);
      assert.ok(String(error.fields.upstream).includes("Incorrect key [key]"), error.code);
    }
  });

  Deno.test.each(
    [
      ["a page", { reads: ["<html>"], headers: { "content-type": "text/html; charset=utf-8" } }],
      ["plain text", { reads: ["hello"], headers: { "content-type": "text/plain" } }],
      ["a frame that is no JSON", { reads: ["data: {oops\n\n"] }],
      ["a frame that is no object", { reads: ["data: 1\n\n"] }],
      ["a frame without end", { reads: ["data: ", ...Array(17).fill("x".repeat(1_048_576))] }],
      ...tables.badResponse,
    ] as const,
  )(`${name} throws model_bad_response for %s`, async (_, answer) => {
    const error = await failure(answer);
    assert.equal(error.code, "model_bad_response");
    assert.equal(error.fields.retryable, false);
  });

  Deno.test.each([["nothing", []], ["comments alone", [": ping\n\n"]], ...tables.cut] as const)(
    `${name} throws model_stream_cut for %s`,
    async (_, reads) => {
      const { error, events } = await run({ fetch: fakeFetch({ reads }).fetch });
      assert.equal(codeOf(error), "model_stream_cut");
      assert.ok(error instanceof SelvageError && error.fields.retryable === true);
      assert.ok(events.every((event) => event.type !== "finish"));
    },
  );

  Deno.test.each(
    [
      ["a refusal", { status: 400, reads: ["no"] }],
      ["a cut stream", { reads: [": ping\n\n"] }],
      ...tables.final,
    ] as const,
  )(`${name} does not try again after %s`, async (_, answer) => {
    const fake = fakeFetch(answer);
    const { error } = await run({ fetch: fake.fetch, maxRetries: 2 });
    assert.ok(error instanceof SelvageError);
    assert.equal(fake.requests.length, 1);
  });
}
