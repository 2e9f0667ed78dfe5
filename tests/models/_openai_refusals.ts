/** What OpenAI, and the servers that speak its two protocols, say of a request that they refuse. */

/** The body of a refusal. */
export function refusalBody(
  message: string,
  code: string | null = null,
  type = "invalid_request_error",
): string {
  return JSON.stringify({ error: { message, code, type, param: null } });
}

/** Refusals of a request that is too long: status, body, and the window where it is named. */
export const TOO_LONG: readonly (readonly [status: number, body: string, window: number | undefined])[] = [
  [400, refusalBody("too much", "context_length_exceeded"), undefined],
  [
    400,
    refusalBody(
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the " +
        "messages, 1000 in the completion).",
    ),
    8_192,
  ],
  [400, refusalBody("Input tokens exceed the configured limit of 272,000 tokens."), 272_000],
  [
    400,
    JSON.stringify({ error: { message: "too long", type: "exceed_context_size_error", n_ctx: 4096 } }),
    4_096,
  ],
  [
    400,
    refusalBody("request (9 tokens) exceeds the available context size (8 tokens), try increasing it"),
    8,
  ],
  [
    400,
    refusalBody("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    131_072,
  ],
  [
    400,
    refusalBody("The input token count (9) exceeds the maximum number of tokens allowed (1048576)."),
    1_048_576,
  ],
  [
    400,
    refusalBody("Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
    32_768,
  ],
  [400, refusalBody("Requested tokens (2285) exceed context window of 2048"), 2_048],
  [400, refusalBody("prompt is too long: 9 tokens > 8 maximum"), 8],
  [413, refusalBody("Please reduce the length of the messages."), undefined],
  [422, JSON.stringify({ detail: "maximum context length is 10 tokens" }), 10],
];

/** Refusals that speak of lengths, but not of the request's. */
export const NOT_TOO_LONG: readonly (readonly [status: number, body: string])[] = [
  [400, refusalBody("Invalid 'x': string too long. Expected a string with maximum length 40")],
  [400, refusalBody("the context of this request is not allowed")],
  [500, refusalBody("maximum context length is 10 tokens")],
];
