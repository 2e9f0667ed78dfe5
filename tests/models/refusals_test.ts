/** What the log says to the operator of a provider that has refused: the model's name, the key, or the address. */
import assert from "node:assert/strict";
import { anthropic } from "../../src/models/anthropic.ts";
import { openaiChat } from "../../src/models/openai_chat.ts";
import { openaiResponses } from "../../src/models/openai_responses.ts";
import { fakeFetch } from "../support/fake_fetch.ts";
import { failureOf, outcomeOf } from "./_answers.ts";
import { named, run } from "./_language.ts";

const MODEL = "the provider knows no such model, or not for this key";

/** What is said to the operator of an answer. */
async function reasonOf(
  make: typeof openaiChat,
  status: number,
  body: unknown,
): Promise<unknown> {
  const { fetch } = fakeFetch({ status, reads: [typeof body === "string" ? body : JSON.stringify(body)] });
  return failureOf(await outcomeOf(make({ model: "m", baseURL: "http://models.example/v1", fetch }))).fields
    .reason;
}

Deno.test.each([
  ["OpenAI", 404, {
    error: {
      message: "The model `gpt-4.1-x` does not exist or you do not have access to it.",
      type: "invalid_request_error",
      param: null,
      code: "model_not_found",
    },
  }],
  ["OpenAI, of a newer route", 400, {
    error: { message: "No.", type: "invalid_request_error", param: "model", code: "model_not_found" },
  }],
  ["OpenAI, of a project", 403, {
    error: {
      message: "Project `proj_1` does not have access to model `o9`",
      type: "invalid_request_error",
      code: "model_not_found",
    },
  }],
  ["Anthropic", 404, {
    type: "error",
    error: { type: "not_found_error", message: "model: claude-sonnet-9" },
  }],
  ["Ollama", 404, {
    error: { message: "model 'llama9.1' not found", type: "not_found_error", param: null, code: null },
  }],
  ["Ollama, older", 404, {
    error: { message: 'model "x" not found, try pulling it first', type: "api_error" },
  }],
  ["vLLM", 404, {
    object: "error",
    message: "The model `x/y.1` does not exist.",
    type: "NotFoundError",
    param: null,
    code: 404,
  }],
  ["vLLM, newer", 404, {
    error: { message: "The model `x/y` does not exist.", type: "NotFoundError", param: "model", code: 404 },
  }],
  ["Gemini", 404, {
    error: { code: 404, message: "models/gemini-9 is not found for API version v1main", status: "NOT_FOUND" },
  }],
  ["Azure", 404, {
    error: { code: "DeploymentNotFound", message: "The API deployment for this resource does not exist." },
  }],
  ["OpenRouter", 400, { error: { message: "a/b is not a valid model ID", code: 400 } }],
  ["Mistral", 400, { object: "error", message: "Invalid model: x", type: "invalid_model", code: "1500" }],
  ["DeepSeek", 400, { error: { message: "Model Not Exist", type: "invalid_request_error" } }],
])("a model that %s does not know is told as that", async (_, status, body) => {
  for (const make of [openaiChat, openaiResponses, anthropic]) {
    assert.equal(await reasonOf(make, status, body), MODEL);
  }
});

Deno.test.each([
  [404, "404 page not found", "nothing found at /v1/chat/completions"],
  [404, { detail: "Not Found" }, "nothing found at /v1/chat/completions"],
  [404, "Cannot POST /models/chat/completions: not found", "nothing found at /v1/chat/completions"],
  [
    404,
    { error: { type: "not_found_error", message: "Not Found" } },
    "nothing found at /v1/chat/completions",
  ],
  [401, {
    error: { message: "Incorrect API key provided: sk-1", code: "invalid_api_key" },
  }, "the provider refused the key, or found none"],
  [401, "no", "the provider refused the key, or found none"],
  [
    403,
    { error: { type: "permission_error", message: "no" } },
    "the provider refused the key, or what was asked with it",
  ],
  [
    400,
    { error: { code: 400, message: "API key not valid. Please pass a valid API key." } },
    "the provider refused the key",
  ],
  [
    400,
    { error: { message: "Unsupported parameter: 'temperature' is not supported with this model." } },
    undefined,
  ],
  [500, { error: { message: "model x not found" } }, undefined],
])("for %i %j the operator is told: %s", async (status, body, reason) => {
  assert.equal(await reasonOf(openaiChat, status, body), reason);
});

Deno.test("a package of the AI SDK that has no key, or knows no such model, is told as that", async () => {
  for (
    const [thrown, reason] of [
      [named("AI_LoadAPIKeyError"), "the model's package found no key"],
      [named("AI_NoSuchModelError"), "the model's package knows no such model"],
      [named("AI_InvalidPromptError"), undefined],
      [
        named("AI_APICallError", "x", {
          statusCode: 404,
          responseBody: '{"error":{"message":"models/gemini-9 is not found"}}',
        }),
        MODEL,
      ],
      [named("AI_APICallError", "x", { statusCode: 401 }), "the provider refused the key, or found none"],
    ] as const
  ) {
    const { error } = await run(thrown);
    assert.equal(failureOf({ events: [], error }).fields.reason, reason, thrown.name);
  }
});
