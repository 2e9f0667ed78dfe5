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
  // vLLM, of texts and of images.
  [
    400,
    refusalBody(
      "The decoder prompt (length 5951) is longer than the maximum model length of 4096. Make sure that " +
        "`max_model_len` is no smaller than the number of text tokens.",
    ),
    4_096,
  ],
  [
    400,
    refusalBody(
      "The prompt (total length 25938) is too long to fit into the model (context length 8192). Make sure that " +
        "`max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
    ),
    8_192,
  ],
  // SGLang, and Together behind it.
  [
    400,
    refusalBody("The input (516368 tokens) is longer than the model's context length (262144 tokens)."),
    262_144,
  ],
  // Moonshot.
  [
    400,
    refusalBody("Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)"),
    262_144,
  ],
  // GitHub.
  [400, refusalBody("prompt token count of 200000 exceeds the limit of 128000"), 128_000],
  // DashScope.
  [
    400,
    refusalBody("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
    30_720,
  ],
  // LM Studio.
  [
    400,
    refusalBody(
      "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context " +
        "length of only 4096 tokens, which is not enough.",
    ),
    4_096,
  ],
  // TGI.
  [
    422,
    JSON.stringify({
      error:
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` " +
        "tokens and 100 `max_new_tokens`",
      error_type: "validation",
    }),
    4_096,
  ],
  [
    422,
    JSON.stringify({
      error: "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
      error_type: "validation",
    }),
    4_095,
  ],
  // Z.ai.
  [400, refusalBody("Prompt exceeds max length", "1261"), undefined],
  // Ollama.
  [400, refusalBody("input exceeds maximum context length"), undefined],
  [400, refusalBody("the input length exceeds the context length"), undefined],
  [400, refusalBody("prompt too long; exceeded max context length by 12 tokens"), undefined],
  // llama.cpp, before it had a code of its own for it.
  [
    500,
    refusalBody("the request exceeds the available context size. try increasing the context size", null),
    undefined,
  ],
  [413, refusalBody("Please reduce the length of the messages."), undefined],
  [422, JSON.stringify({ detail: "maximum context length is 10 tokens" }), 10],
];

/** Refusals that speak of lengths, but not of the request's. */
export const NOT_TOO_LONG: readonly (readonly [status: number, body: string])[] = [
  [400, refusalBody("Invalid 'x': string too long. Expected a string with maximum length 40")],
  [400, refusalBody("the context of this request is not allowed")],
  [400, refusalBody("max_tokens is too large: 100000. This model supports at most 16384 completion tokens")],
  [400, refusalBody("Range of max_tokens should be [1, 8192]")],
  [400, refusalBody("completion token count of 9000 exceeds the limit of 8192")],
  [400, refusalBody("`max_new_tokens` must be <= 512. Given: 1000")],
  [400, refusalBody("Input validation error: `stop` must have less than 5 tokens. Given: 6")],
  [400, refusalBody("Your request exceeded model token limit per minute: 10000")],
  [400, refusalBody("The name of the tool is longer than the maximum length of 64")],
  [
    429,
    refusalBody(
      "Request too large for m on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens " +
        "must be reduced in order to run successfully.",
      "rate_limit_exceeded",
      "tokens",
    ),
  ],
  [400, refusalBody("prompt token count of 200000 exceeds the limit of 128000 per minute")],
  [500, refusalBody("maximum context length is 10 tokens")],
];
